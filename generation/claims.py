"""A model's reply as claims: read line by line as it arrives, checked against the sources, and never half.

What is not as agreed is removed and counted; what would change the meaning of a reply (no end, a wrong number of
claims, a refusal beside claims) makes it no reply.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from generation.errors import ProviderError
from generation.json_lines import Item, JsonLines
from generation.quotes import Folded
from generation.schema import Citation, Claim, Evidence, Source
from generation.visible import SOFT_HYPHEN, without_hidden

UNKNOWN, NOT_FOUND, UNREADABLE = "unknown sources", "quotes not found", "unreadable lines"
EMPTY, LINKS = "claims empty or too long", "links"
LONGEST_REPLY, LONGEST_CLAIM, LONGEST_QUOTE = 400_000, 1_000, 2_000  # characters
KEYS = ("claim", "refusal", "end")
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]]*)\]\s?\([^()]*\)?")
_URL = re.compile(
    r"\b(?:https?://|www\.)[^\s<>\"]+|</?(?:a|img|iframe|script|form|object|embed|meta|svg|link|style|video|audio|base)"
    r"\b[^<>]*>",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reading:
    """What a whole reply says: claims, or a refusal in words (None for an answer), and what was removed, by name."""

    claims: tuple[Claim, ...]
    refusal: str | None = None
    removed: Mapping[str, int] = field(default_factory=dict)


class ClaimReader:
    """Reads a reply piece by piece."""

    def __init__(self, evidence: Evidence) -> None:
        self._sources = {source.id: source for source in evidence.sources}
        self._folded: dict[str, Folded] = {}
        self._lines = JsonLines(KEYS)
        self._length = self._made = 0
        self._claims: dict[str, Claim] = {}
        self._refusal: str | None = None
        self._ends: list[Any] = []
        self._behind_end = False
        self._removed: Counter[str] = Counter()

    def feed(self, text: str) -> list[Claim]:
        """Take a piece of the reply; the claims that are complete now and were not made before.

        Raises:
            ProviderError: the reply is longer than any answer.
        """
        self._length += len(text)
        if self._length > LONGEST_REPLY:
            raise ProviderError(f"the reply is longer than {LONGEST_REPLY} characters")
        return self._take(self._lines.feed(text))

    def finish(self) -> Reading:
        """The whole reply.

        Raises:
            ProviderError: it has no end line, goes on behind it, counts its claims wrongly, or refuses and answers.
        """
        self._take(self._lines.finish())
        problem = self._problem()
        if problem:
            raise ProviderError(f"the reply is not as agreed: {problem}")
        self._removed[UNREADABLE] += self._lines.unreadable
        removed = {name: count for name, count in sorted(self._removed.items()) if count}
        refusal = "the model made no claim" if not self._made and self._refusal is None else self._refusal
        return Reading(tuple(self._claims.values()), refusal, removed)

    def _problem(self) -> str:
        if not self._ends:
            return "it has no end line, so it may be cut off"
        if len(self._ends) > 1 or self._behind_end:
            return "it goes on behind its end line"
        if type(self._ends[0]) is not int or self._ends[0] != self._made:
            return f"its end line counts {ascii(self._ends[0])[:20]} claims, and it has {self._made}"
        return "it refuses and answers" if self._refusal is not None and self._made else ""

    def _take(self, items: Iterable[Item]) -> list[Claim]:
        """Book objects; the claims that are new."""
        fresh = []
        for item in items:
            self._behind_end = self._behind_end or bool(self._ends)
            claim, refusal = item.get("claim"), item.get("refusal")
            if isinstance(claim, str):
                fresh += self._claim(claim, item.get("citations"))
            if isinstance(refusal, str):
                self._refusal = self._statement(refusal, ())[:LONGEST_CLAIM] or "the model gave no reason"
            if item.get("end") is True:
                self._ends.append(item.get("claims"))
            elif not isinstance(claim, str) and not isinstance(refusal, str):
                self._removed[UNREADABLE] += 1
        return fresh

    def _claim(self, text: str, citations: object) -> list[Claim]:
        """Book a claim; nothing where it was made before (its citations are added) or says nothing."""
        self._made += 1
        listed = citations if isinstance(citations, list) else [] if citations is None else [citations]
        found = [place for entry in listed if (place := self._citation(entry))]
        statement = self._statement(text, found)
        if len(statement) > LONGEST_CLAIM or not any(char.isalnum() for char in statement):
            self._removed[EMPTY] += 1
            return []
        key = statement.casefold().rstrip(".")
        known = self._claims.get(key)
        earlier = known.citations if known else ()
        self._claims[key] = replace(known or Claim(statement, ()), citations=tuple(dict.fromkeys([*earlier, *found])))
        return [] if known else [self._claims[key]]

    def _citation(self, entry: object) -> Citation | None:
        """A citation whose source is ours and whose quote stands in it."""
        name, quote = (entry.get("source"), entry.get("quote")) if isinstance(entry, dict) else (entry, None)
        source = self._sources.get(name.strip().strip("[]").upper()) if isinstance(name, str) else None
        if source is None:
            self._removed[UNKNOWN] += 1
            return None
        place = self._find(source, quote) if isinstance(quote, str) and len(quote) <= LONGEST_QUOTE else None
        if place is None:
            self._removed[NOT_FOUND] += 1
            return None
        return source.cite(*place)

    def _find(self, source: Source, quote: str) -> tuple[int, int] | None:
        """Where a quote stands; nowhere where the document has something there that a generator does not see."""
        if source.id not in self._folded:
            self._folded[source.id] = Folded.of(source.text)
        place = self._folded[source.id].find(quote)
        hides = place is not None and source.text[slice(*place)] != source.passage.text[slice(*place)]
        return None if hides else place

    def _statement(self, text: str, cited: Sequence[Citation]) -> str:
        """A text on one line without links: they could carry something out. Those that a cited quote holds stay."""

        def kept(match: re.Match[str]) -> str:
            url = match[0].rstrip(".,;:!?)]'")
            if any(url in place.quote for place in cited):
                return match[0]
            self._removed[LINKS] += 1
            return ""

        plain, links = _MARKDOWN_LINK.subn(r"\1", without_hidden(text).replace(SOFT_HYPHEN, ""))
        self._removed[LINKS] += links
        return " ".join(_URL.sub(kept, plain).split())


def read(reply: str, evidence: Evidence) -> Reading:
    """A whole reply at once.

    Raises:
        ProviderError: as `ClaimReader.finish`.
    """
    reader = ClaimReader(evidence)
    reader.feed(reply)
    return reader.finish()
