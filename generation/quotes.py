"""A quote in its source: found although letter case, white space, dashes, quotation marks and ligatures differ.

Nothing that carries meaning may differ: `p < .05` is not `p > .05`, and `5 %` is not a part of `15 %`. This is
stricter than the search for judged spans, which asks where a passage stands and not whether it says so.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

LEAST = 8  # letters and digits of a quote; fewer stand in nearly every source
WIDE = re.compile("[\u2e80-\ufaff\U00020000-\U0003ffff]")  # no blanks between words; a character says more
OVERLAY = 1  # combining class of the stroke that turns `=` into `≠`: no accent
DASHES, MARKS = "\u2212\ufffe", "'\"‘’‚‛′`“”„‟«»″"
_EDGES = re.compile(r"^(?:\.\.\.|['\s])+|(?:[.,;:!?'\s]|\.\.\.)+$")
_BLANKS = re.compile(r" +")
# Blanks beside a mark, and hyphens within a word, are written now so, now so.
_LOOSE = re.compile(r"(?<=[^\w ]) | (?=[^\w ])")
_HYPHEN = re.compile(r"(?<=[^\W\d_]{2})-(?=[^\W\d_]{2})")
# What a number cannot be parted from: a point or sign before it, a comparison before it, the digits behind its point.
_SIGN = re.compile(r"(?:(?<!\w)[-+\u2212.]|[<>≤≥≠≈~±]\s*|\d[.,/:])$")
_MORE_DIGITS = re.compile(r"[.,/:]\d")


@dataclass(frozen=True)
class Folded:
    """A text, its normal form, and the place that each character of the normal form came from."""

    raw: str
    text: str
    origin: tuple[int, ...]

    @staticmethod
    def of(raw: str) -> Folded:
        """Fold case, compatibility forms, accents, dashes and quotation marks; join broken words; close up marks."""
        pairs = [(part, at) for at, char in enumerate(raw) for part in _fold(char)]
        folded, origin = "".join(part for part, _ in pairs), [at for _, at in pairs]
        for pattern, kept in ((_BLANKS, 1), (_LOOSE, 0), (_HYPHEN, 0)):
            folded, origin = _shortened(folded, origin, pattern, kept)
        return Folded(raw, folded, tuple(origin))

    def find(self, quote: str) -> tuple[int, int] | None:
        """Start and end of the first place in the text that a quote stands at, whole words and numbers only.

        None where it does not, or where it is too short to say anything.
        """
        needle = _EDGES.sub("", Folded.of(quote.strip()).text)
        if _weight(needle) < LEAST:
            return None
        at = self.text.find(needle)
        while at >= 0:
            start, end = self.origin[at], self._end(self.origin[at + len(needle) - 1])
            if not self._cuts(start, end):
                return start, end
            at = self.text.find(needle, at + 1)
        return None

    def _end(self, last: int) -> int:
        """Behind a character and the accents that stand on it."""
        behind = range(last + 1, len(self.raw))
        return next((at for at in behind if not unicodedata.combining(self.raw[at])), len(self.raw))

    def _cuts(self, start: int, end: int) -> bool:
        """Whether a stretch begins or ends within a word or number, or leaves out what binds its first number."""
        first, last = self.raw[start], self.raw[end - 1]
        before, after = self.raw[max(start - 3, 0) : start], self.raw[end : end + 2]
        if _one_word(before[-1:], first) or _one_word(last, after[:1]):
            return True
        bound = first.isdigit() and _SIGN.search(before) is not None
        return bound or (last.isdigit() and _MORE_DIGITS.match(after) is not None)


def _one_word(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word; scripts without blanks have no words here."""
    return left.isalnum() and right.isalnum() and not (WIDE.match(left) or WIDE.match(right))


def _shortened(text: str, origin: list[int], pattern: re.Pattern[str], kept: int) -> tuple[str, list[int]]:
    """Of every match only the first `kept` characters."""
    parts: list[str] = []
    places: list[int] = []
    done = 0
    for match in pattern.finditer(text):
        parts.append(text[done : match.start() + kept])
        places += origin[done : match.start() + kept]
        done = match.end()
    return "".join([*parts, text[done:]]), places + origin[done:]


@lru_cache(maxsize=4096)
def _fold(char: str) -> str:
    parts = unicodedata.normalize("NFKD", char)
    if parts[0].isalpha() or unicodedata.combining(char) not in (0, OVERLAY):
        parts = "".join(part for part in parts if not unicodedata.combining(part))
    return "".join(_plain(part) for part in parts.casefold())


def _plain(char: str) -> str:
    if char in DASHES or unicodedata.category(char) == "Pd":
        return "-"
    if char in MARKS:  # models write one kind for the other, so as not to escape it
        return "'"
    if char.isspace():
        return " "
    return "" if unicodedata.category(char) in ("Cf", "Cc", "Cs") else char


def _weight(text: str) -> int:
    return sum(3 if WIDE.match(char) else 1 for char in text if char.isalnum())
