"""What may be quoted: runs of whole sentences that can be read by themselves.

A sentence that points back ("We call this a stub", "They lengthen the norm") says nothing alone, so an extract takes
the sentence before it in, and at most one more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from generation.instructions import is_instruction
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
_NAMED = re.compile(r"\b(?:this|these|such|that|those|the same|the latter|the former)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_FIGURE = re.compile(r"(?<![\w-])\d+(?:[.,]\d+)*")
_NUMBER = r"\d+(?:\.\d+)*\.?|[A-Z]\.|[IVX]+\."
_LABEL = re.compile(r"(?:Table|Figure|Fig\.|Keywords|Abstract|Algorithm|Listing)\b")


@dataclass(frozen=True)
class Extract:
    """A quotable run of sentences: `start` to `end` of its source's text, as (first) whole sentences.

    `words` of the whole extract, `core` those of its last sentence; `figures` counts numbers. `label`: it opens like
    a caption, a list of keywords or an abstract.
    """

    start: int
    end: int
    text: str
    words: frozenset[str]
    core: frozenset[str]
    length: int
    figures: int
    label: bool


def points_back(sentence: str) -> bool:
    """Whether a sentence needs the one before it to be understood: it is short, or opens with a pointer."""
    words = _WORD.findall(sentence)
    if len(words) < SHORT or POINTERS.match(words[0]):
        return True
    return bool(_NAMED.search(" ".join(words[:OPENING])))


def is_prose(sentence: str) -> bool:
    """Whether a sentence ends like one and is made of words: a row of a table or a heading is not."""
    words = _WORD.findall(sentence)
    ends = sentence.rstrip(")]\"'”’ ").endswith((".", "!", "?", ":"))
    return ends and len(words) >= 4 and len(_FIGURE.findall(sentence)) <= len(words)


def without_heading(sentence: str, section: str) -> int:
    """How many characters at a sentence's start are headings that the extractor put before it.

    `section` is the heading that the passage stands under; one of a level above may come before it.
    """
    title = section.strip()
    at = sentence.find(title) if title else -1
    if at < 0 or (at > 0 and not re.match(rf"(?:{_NUMBER})\s", sentence)):
        return 0
    rest = sentence[at + len(title) :]
    return len(sentence) - len(rest.lstrip()) if rest.strip() else 0


@lru_cache(maxsize=100_000)
def extracts(text: str, section: str = "") -> tuple[Extract, ...]:
    """Every extract of a passage that may be quoted, by its last sentence.

    Sentences that instruct a reader or a model are never part of one, and its last sentence is always prose.
    """
    cut = [_bare(text, span, section) for span in spans(text)]
    sentences = [text[start:end] for start, end in cut]
    barred = [is_instruction(sentence) for sentence in sentences]
    found = []
    for core, sentence in enumerate(sentences):
        if barred[core] or not is_prose(sentence):
            continue
        first = _first(sentences, barred, core)
        found.append(extract_at(text, cut[first][0], cut[core][1], sentence))
    return tuple(found)


def _bare(text: str, span: tuple[int, int], section: str) -> tuple[int, int]:
    start, end = span
    return start + without_heading(text[start:end], section), end


def _first(sentences: list[str], barred: list[bool], core: int) -> int:
    first = core
    while first > 0 and points_back(sentences[first]) and core - first < BACK:
        if barred[first - 1] or not is_prose(sentences[first - 1]):
            break
        first -= 1
    return first


def extract_at(text: str, start: int, end: int, core: str) -> Extract:
    """The characters `start` to `end` of a text as an extract; `core` is its last sentence."""
    whole = text[start:end]
    return Extract(
        start=start,
        end=end,
        text=whole,
        words=frozenset(content_words(whole)),
        core=frozenset(content_words(core)),
        length=len(whole.split()),
        figures=len(_FIGURE.findall(whole)),
        label=bool(_LABEL.match(whole)),
    )
