"""What may be quoted: runs of whole sentences that can be read by themselves.

A sentence that points back ("We call this a stub", "They lengthen the norm") says nothing alone, so an extract takes
the sentence before it in, and at most one more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from generation.instructions import quotable
from generation.schema import Passage
from generation.words import content_words
from ingestion.sentences import spans

BACK = 2  # sentences that an extract may take in before its core
SHORT = 6  # words; a shorter sentence seldom says what it is about
OPENING = 5  # words in which a pointer makes a sentence depend on the one before
POINTERS = re.compile(
    r"(?:this|that|these|those|it|its|they|their|them|he|she|such|both|neither|either|here|there|thus|hence|so|therefore"
    r"|however|instead|otherwise|conversely|similarly|likewise|then|also|nor|but|and|or|yet|still)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:this|these|such|that|those|the same|the latter|the former|(?:call|name|term|denote) (?:it|them))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_FIGURE = re.compile(r"(?<![\w-])\d+(?:[.,]\d+)*")
_NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*\.?|[A-Z]\.|[IVX]+\.)\s")
_OPENING_MARKS = tuple("0123456789\"'“‘«„")
_STOP = re.compile(r"(?<=[.!?]) +(?=[A-Z])")
_CLOSING = re.compile(  # where an imitated passage or an address ends
    r"(?:\[/\w+\]|</[^<>]{1,40}>|<end[^<>]{1,40}>|<\|[^|]{0,20}end[^|]{0,20}\|>|-{3,} ?END [A-Z ]+-{3,}|://\S+)"
    r"(?= +[A-Z])"
)
_CAPTION = re.compile(
    r"(?:\b(?P<mention>in|of|from|to|by|with|and|or|see|than|as|on|at|is|are) )?"
    r"\b(?:Table|Figure|Fig\.|Algorithm|Listing) \d+[.:](?P<last>$)?"
)
_KEYWORDS = re.compile(r"(?:Keywords|Key words|Index terms)\b", re.IGNORECASE)
VARIED = 0.6  # share of different words; a sentence that repeats itself more was not written to be read


@dataclass(frozen=True)
class Extract:
    """What may be quoted of a passage: whole sentences, in one stretch unless others between them are left out.

    `stretches`: (start, end) in the passage's text, ascending; `text` joins them. `words` of the whole extract,
    `core` those of its last sentence; `length` in words; `figures` counts numbers.
    """

    stretches: tuple[tuple[int, int], ...]
    text: str
    words: frozenset[str]
    core: frozenset[str]
    length: int
    figures: int

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.stretches[0][0]

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.stretches[-1][1]


def points_back(sentence: str) -> bool:
    """Whether a sentence needs the one before it to be understood: it is short, or opens with a pointer."""
    words = _WORD.findall(sentence)
    if len(words) < SHORT or POINTERS.match(words[0]):
        return True
    return bool(_NAMED.search(" ".join(words[:OPENING])))


def is_prose(sentence: str) -> bool:
    """Whether a sentence states something in words: rows of tables, captions, headings and questions do not."""
    words = [word.lower() for word in _WORD.findall(sentence)]
    ends = sentence.rstrip(")]\"'”’ ").endswith((".", "!", ":"))
    if not ends or len(words) < 4 or len(_FIGURE.findall(sentence)) > len(words):
        return False
    return len(set(words)) >= VARIED * len(words) and not _captions(sentence)


def _captions(sentence: str) -> bool:
    """Whether the label of a caption stands in a sentence; `as in Table 3.` at its end only names one."""
    return any(not (label["mention"] and label["last"] is not None) for label in _CAPTION.finditer(sentence))


def _announces_caption(sentence: str) -> bool:
    """Whether a sentence ends with the label of a caption, which the splitter took for the end of it."""
    return any(label["last"] is not None and not label["mention"] for label in _CAPTION.finditer(sentence))


def without_heading(sentence: str, section: str) -> int:
    """How many characters at a sentence's start are headings that the extractor put before it.

    `section` is the heading that the passage stands under; one of a level above may come before it, both numbered. A
    sentence may itself begin with the words of an unnumbered heading, and then it goes on in lower case.
    """
    title = section.strip()
    at = sentence.find(title) if title else -1
    numbered = _NUMBERED.match(title) is not None
    if at < 0 or (at > 0 and not (numbered and _NUMBERED.match(sentence))):
        return 0
    rest = sentence[at + len(title) :]
    begins = rest.lstrip()
    if begins == rest or not (numbered or begins[:1].isupper() or begins[:1] in _OPENING_MARKS):
        return 0
    return len(sentence) - len(begins)


@dataclass(frozen=True)
class Quotable:
    """What of a passage may be quoted: its extracts by their last sentence, and all words of its sentences."""

    extracts: tuple[Extract, ...]
    words: frozenset[str]


def quotes_of(passage: Passage) -> Quotable:
    """What of a retrieved passage may be quoted."""
    return quotes(passage.text, passage.section, passage.title)


@lru_cache(maxsize=100_000)
def quotes(text: str, section: str = "", title: str = "") -> Quotable:
    """What of a passage may be quoted; `section` and `title` are headings that may stand before a sentence.

    Sentences that instruct a reader or a model (`instructions.quotable`) are passed over as if they were not there:
    they are part of no extract, and their words do not count. Nor do those of a list of keywords, which claims to
    speak of something and says nothing. The last sentence of an extract is always prose. `text` is the passage as it
    stands in the document, since marks that imitate ours give an attack away.
    """
    bare = [_bare(text, span, (title, section)) for span in spans(text)]
    cut = [(start, end) for start, end in _allowed(text, bare) if not _KEYWORDS.match(text, start, end)]
    sentences = [text[start:end] for start, end in cut]
    caption = [False, *map(_announces_caption, sentences)]
    prose = [is_prose(sentence) and not named for sentence, named in zip(sentences, caption, strict=False)]
    found = []
    for core, sentence in enumerate(sentences):
        if prose[core]:
            first = _first(sentences, prose, core)
            found.append(extract_of(text, _joined(text, cut[first : core + 1]), sentence))
    words = frozenset(word for sentence in sentences for word in content_words(sentence))
    return Quotable(tuple(found), words)


def _allowed(text: str, whole: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The sentences that may be quoted; of one that may not, what stands before and behind the order in it.

    A splitter takes `60 W. You must` for one sentence, and an order would take what was measured away with it.
    """
    found: list[tuple[int, int]] = []
    for (start, end), may in zip(whole, quotable([text[start:end] for start, end in whole]), strict=True):
        if may:
            found.append((start, end))
            continue
        parts = _parts(text, start, end)
        if len(parts) > 1:
            single = quotable([text[low:high] for low, high in parts])
            found += [part for part, alone in zip(parts, single, strict=True) if alone]
    return found


def _parts(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """A stretch cut behind every full stop and every closing mark before a capital."""
    sentence = text[start:end]
    stops = {match.start() for match in _STOP.finditer(sentence)} | {
        match.end() for match in _CLOSING.finditer(sentence)
    }
    cuts = [0, *sorted(stops), len(sentence)]
    pieces = [sentence[low:high] for low, high in pairwise(cuts)]
    leads = [len(piece) - len(piece.lstrip()) for piece in pieces]
    return [(start + low + lead, start + high) for (low, high), lead in zip(pairwise(cuts), leads, strict=True)]


def _bare(text: str, span: tuple[int, int], headings: Sequence[str]) -> tuple[int, int]:
    start, end = span
    for heading in headings:
        start += without_heading(text[start:end], heading)
    return start, end


def _first(sentences: list[str], prose: list[bool], core: int) -> int:
    first = core
    while first > 0 and core - first < BACK and points_back(sentences[first]) and prose[first - 1]:
        first -= 1
    return first


def _joined(text: str, cut: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sentences with nothing but white space between them as one stretch."""
    stretches = [cut[0]]
    for start, end in cut[1:]:
        before = stretches[-1]
        if text[before[1] : start].strip():
            stretches.append((start, end))
        else:
            stretches[-1] = (before[0], end)
    return tuple(stretches)


def extract_of(text: str, stretches: tuple[tuple[int, int], ...], core: str) -> Extract:
    """Stretches of a text as an extract; `core` is its last sentence."""
    whole = " ".join(text[start:end] for start, end in stretches)
    return Extract(
        stretches=stretches,
        text=whole,
        words=frozenset(content_words(whole)),
        core=frozenset(content_words(core)),
        length=len(whole.split()),
        figures=len(_FIGURE.findall(whole)),
    )
