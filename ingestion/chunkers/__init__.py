"""Chunkers: frozen dataclasses of parameters with one verb, `chunk(document)`. Pure and light."""

from __future__ import annotations

import re

_WORD = re.compile(r"\S+")


def word_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """(start, end) of each word of `text[start:end]`; a word is what stands between white space."""
    return [match.span() for match in _WORD.finditer(text, start, end)]
