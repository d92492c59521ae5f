"""The objects of an answer: what may be cited, what is claimed, where it stands, how sure one can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

HIGH, MEDIUM, LOW = "HIGH", "MEDIUM", "LOW"
LEVELS = (HIGH, MEDIUM, LOW)


@dataclass(frozen=True)
class Passage:
    """A retrieved chunk as evidence.

    `rank` from 1; `score` its score normalised to 0..1 within its ranking; `agreement` the mean over the strategy's
    first stages of 1 / rank there, 0 where one did not rank it. `page` is the first page, from 1; `char_start` the
    offset of `text` in the document's repaired text, in characters; `turns` where a later page begins: (offset in
    `text`, page); `title` of the document as the extractor found it.
    """

    chunk_id: str
    doc_name: str
    page: int
    section: str
    char_start: int
    text: str
    rank: int
    score: float
    agreement: float = 0.0
    turns: tuple[tuple[int, int], ...] = ()
    title: str = ""

    def page_at(self, offset: int) -> int:
        """The page on which a character of `text` stands."""
        return max((page for start, page in self.turns if start <= offset), default=self.page)

    @property
    def place(self) -> str:
        """Document, page and section in words."""
        return f"{self.doc_name}, page {self.page}" + (f", § {self.section}" if self.section else "")


@dataclass(frozen=True)
class Source:
    """A passage that may be cited under an id of ours, `S1`, `S2` and so on by rank.

    `text` is the passage's text as a generator sees it: of equal length and with equal offsets, but with characters
    that nobody sees and imitations of our own marks replaced by spaces.
    """

    id: str
    passage: Passage
    text: str

    def cite(self, start: int, end: int) -> Citation:
        """A citation of the characters `start` to `end` of the passage, word by word, with its place."""
        passage = self.passage
        return Citation(
            source=self.id,
            chunk_id=passage.chunk_id,
            doc_name=passage.doc_name,
            page=passage.page_at(start),
            section=passage.section,
            char_start=passage.char_start + start,
            char_end=passage.char_start + end,
            quote=passage.text[start:end],
        )


@dataclass(frozen=True)
class LeftOut:
    """A passage that was retrieved and not used, or only in part, and why, in words."""

    chunk_id: str
    place: str
    rank: int
    reason: str


@dataclass(frozen=True)
class Evidence:
    """What one answer may be made from.

    `sources` by rank; `order` their ids as a prompt shows them, best at both ends; `relations` lines about entities
    of the question from the knowledge graph; `tokens` of all source texts; `left_out` by rank.
    """

    question: str
    sources: tuple[Source, ...]
    order: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    tokens: int = 0
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True)
class Citation:
    """A quote at its place: `char_start` and `char_end` count characters of the document's repaired text."""

    source: str
    chunk_id: str
    doc_name: str
    page: int
    section: str
    char_start: int
    char_end: int
    quote: str


@dataclass(frozen=True)
class Claim:
    """One statement of an answer with its citations; without a valid one it is unsupported.

    `probability` that a cited span answers the question (calibrated; None where no calibration fits), `level` HIGH,
    MEDIUM or LOW after it; `rule` the level by the fixed rule.
    """

    text: str
    citations: tuple[Citation, ...]
    probability: float | None = None
    level: str = LOW
    rule: str = LOW

    @property
    def supported(self) -> bool:
        """Whether it cites anything."""
        return bool(self.citations)


@dataclass(frozen=True)
class Usage:
    """What an answer cost: tokens as the server counted them (`counted`) or as we estimate; money in US dollars.

    `cost` is None where no price is known; `seconds` is the time of the generator alone.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    counted: bool = True
    cached: bool = False


@dataclass(frozen=True)
class Answer:
    """An answer, or a refusal with its reason and without claims.

    `sources`: all that could be cited; `removed`: how many things were taken out of a model's reply, by name
    (`unknown sources`, `quotes not found`, `links`, `claims empty or too long`, `unreadable lines`, `unreadable
    replies`); `route`: `provider/route`, empty offline; `answerable`: the probability that the evidence holds an
    answer, None where nothing was fitted; `fallback`: why not the first choice answered (no model is configured, a
    route before it failed), empty where it did.
    """

    question: str
    claims: tuple[Claim, ...]
    sources: tuple[Source, ...]
    left_out: tuple[LeftOut, ...] = ()
    refused: bool = False
    reason: str = ""
    generator: str = ""
    model: str = ""
    route: str = ""
    removed: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    answerable: float | None = None
    fallback: str = ""

    @property
    def text(self) -> str:
        """All claims as running text, without marks."""
        return " ".join(claim.text for claim in self.claims)

    @property
    def cited(self) -> tuple[str, ...]:
        """Ids of the sources that are cited, each once, in the order of mention."""
        return tuple(dict.fromkeys(place.source for claim in self.claims for place in claim.citations))

    @property
    def mentions(self) -> int:
        """How many citations there are, a source counted every time."""
        return sum(len(claim.citations) for claim in self.claims)

    def as_json(self) -> dict[str, Any]:
        """Plain dicts and lists, for `json.dumps`."""
        return {**asdict(self), "cited": list(self.cited), "mentions": self.mentions}
