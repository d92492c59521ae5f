"""How well a page was read, in [0, 1]: the share of good characters, of plausible words, of lines in order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ingestion.lines import Line

_WORD = re.compile(r"[^\W\d_]{3,}")
_PLAUSIBLE = re.compile(r"^(?:[A-Z]?[a-z]*[aeiouy][a-z]*|[A-Z]{3,}s?|[^\x00-\x7f]+.*|.*[^\x00-\x7f].*)$")


def page_quality(text: str, unknown: int, lines: Sequence[Line], words: Mapping[str, int]) -> float:
    """Product of three shares, rounded to 4 places; 0 without text.

    Args:
        text: the repaired text.
        unknown: characters without a usable code: controls, private use, U+FFFD.
        lines: in reading order, to count jumps back up that are no change of column.
        words: the document's vocabulary; a word that stands twice in the document is plausible.
    """
    if not text:
        return 0.0
    glyphs = len(text) / (len(text) + unknown)
    found = _WORD.findall(text)
    good = sum(words.get(word.lower(), 0) > 1 or bool(_PLAUSIBLE.match(word)) for word in found)
    solid = [char.isalnum() for char in text if not char.isspace()]
    plausible = good / len(found) if found else sum(solid) / len(solid)
    return round(glyphs * plausible * _in_order(lines), 4)


def _in_order(lines: Sequence[Line]) -> float:
    if len(lines) < 2:
        return 1.0
    jumps = sum(below.y0 > above.y0 + 2 * above.size and below.x0 < above.x1 for above, below in pairwise(lines))
    return 1 - jumps / (len(lines) - 1)
