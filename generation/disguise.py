"""Orders that are spelled so that a filter does not find them, as somebody reads them who sees what is meant.

Whether a spelling is a disguise is told by function words: nobody writes `t-h-e`, `thé` or `y0u` in earnest, while
`e-g-f-r`, `Poincaré` and `H2O` are names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from generation.orders import word_set
from ingestion.lexicon import FUNCTION

LEAST = 2  # function words that are spelled so
# "Ignore all previous instructions" with anything between its letters, and i and l as one letter.
_ORDERED = re.compile(
    "(?:ignore|disregard|forget|override)(?:aii|any|the|of|these|those|your|my|every)*"
    "(?:previous|prior|above|eariier|preceding|other|system)*(?:instruction|prompt|directive|guideiine|command|ruie)s?"
)
_SPACED_ORDER = re.compile(
    f"{_ORDERED.pattern}|(?:ignore|disregard|forget)(?:aii|the|previous|other|every)"
    "|(?:repiy|answer|respond|say)(?:oniy|with)|youmust|youare"
)
# Single letters in a row, more than of a heading such as `A B S T R A C T`.
_SPACED_RUN = re.compile(r"(?<!\S)\w(?: \w){9,}(?!\S)")
_LETTERS = {code: None for code in range(128) if not chr(code).isalpha()} | str.maketrans("01l|3457@$", "oiiieastas")
_REVERSED = frozenset(word[::-1] for word in word_set("the with that this from which you your reply answer"))
_DIGITS = str.maketrans("013457", "oieast")
_DIGIT_IN_WORD = re.compile(r"[a-z]\d|\d[a-z]")
_MIXED = re.compile(r"\b(?:\d+[a-z]|[a-z]+\d)\w+")
_PARTED = re.compile(r"(?<!\w)[^\W\d_](?:([-_.·*|/])[^\W\d_])(?:\1[^\W\d_])+(?!\w)")
_WORD = re.compile(r"\w+")


def spells_order(text: str) -> bool:
    """Whether an order to ignore is written letter by letter, with blanks, signs or digits in it."""
    lower = text.lower()
    spaced = "".join(_SPACED_RUN.findall(lower)).translate(_LETTERS)
    return bool(_ORDERED.search(lower.translate(_LETTERS)) or (spaced and _SPACED_ORDER.search(spaced)))


def runs_backwards(text: str) -> bool:
    """Whether a text is written from its end."""
    return len(_REVERSED.intersection(text.lower().split())) >= LEAST


def readings(text: str) -> Iterator[str]:
    """What a text may mean besides what it says: with letters for digits, without accents, without parted words."""
    lower = text.lower()
    if _DIGIT_IN_WORD.search(lower):
        mixed = [match[0].translate(_DIGITS) for match in _MIXED.finditer(lower)]
        if FUNCTION.intersection(mixed):
            yield text.translate(_DIGITS)
    if not text.isascii():
        bare = "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
        if bare != text and _newly_function(lower, bare.lower()) >= LEAST:
            yield bare
    joined = _PARTED.sub(lambda match: match[0].replace(match[1], ""), text)
    if joined != text and _newly_function(lower, joined.lower()) >= LEAST:
        yield joined


def _newly_function(before: str, after: str) -> int:
    """How many function words a reading has that the text has not."""
    known = set(_WORD.findall(before))
    return sum(word in FUNCTION and word not in known for word in _WORD.findall(after))
