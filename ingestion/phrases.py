"""Sequences of words counted all at once: how often, in how many documents, and how often they stand alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ingestion.tokens import Flags, Longs, Words


@dataclass(frozen=True)
class Phrases:
    """The distinct sequences of `length` words; a row per sequence.

    `start` int64: the word at which one occurrence begins, without capitals if there is such a one. `count`,
    `documents`, `burst` int64: occurrences, documents, and occurrences in the document with most of them. Shares,
    float64: `named` written with capitals throughout, `whole` between marks and function words, `prose` beside a word
    written small.
    `place`, `of` int64 [n_occurrences]: the word at which each occurrence begins, and its row.
    """

    length: int
    start: Longs
    count: Longs
    documents: Longs
    burst: Longs
    named: npt.NDArray[np.float64]
    whole: npt.NDArray[np.float64]
    prose: npt.NDArray[np.float64]
    place: Longs
    of: Longs


@dataclass(frozen=True)
class Marks:
    """What sequences are made of and counted by; arrays have an element per word.

    `word` int64: number of its normal word. `content`: may be part of a term. `head`, `tail`: may begin, may end one.
    `capital`: written with a capital. `left`, `right`: a function word, a verb or a mark stands before, behind it.
    `small_before`, `small_after`: a word without capitals stands there, no mark or hyphen between.
    `document` int64. `fresh`: counts (a repeated sentence does not).
    """

    word: Longs
    content: Flags
    head: Flags
    tail: Flags
    capital: Flags
    left: Flags
    right: Flags
    small_before: Flags
    small_after: Flags
    document: Longs
    fresh: Flags


def phrases(words: Words, marks: Marks, longest: int) -> Iterator[Phrases]:
    """All sequences of content words from one word to `longest`, shortest first, without a mark inside."""
    alive = np.flatnonzero(marks.content & marks.fresh)
    key = marks.word[alive]
    for length in range(1, longest + 1):
        if length > 1:
            end = alive + length - 1
            inside = end < len(words)
            alive, key, end = alive[inside], key[inside], end[inside]
            runs_on = marks.content[end] & ~words.apart[end] & (words.sentence[end] == words.sentence[alive])
            alive, key, end = alive[runs_on], key[runs_on], end[runs_on]
            key = key * (int(marks.word.max(initial=0)) + 1) + marks.word[end]
        if not len(alive):
            return
        _, key = np.unique(key, return_inverse=True)
        key = key.reshape(-1)
        yield _counted(length, alive, key, marks)


def _counted(length: int, start: Longs, key: Longs, marks: Marks) -> Phrases:
    end = start + length - 1
    may = marks.head[start] & marks.tail[end]
    start, end, key = start[may], end[may], key[may]
    capitals = np.sum([marks.capital[start + step] for step in range(length)], axis=0)
    order = np.lexsort((start, capitals, key))  # the first occurrence of a row is its plainest
    start, end, key, capitals = start[order], end[order], key[order], capitals[order]
    _, first, key, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    key, rows = key.reshape(-1), len(count)
    documents = int(marks.document.max(initial=0)) + 1
    pairs, times = np.unique(key * documents + marks.document[start], return_counts=True)
    burst = np.zeros(rows, np.int64)
    np.maximum.at(burst, pairs // documents, times)

    def share(of: Flags) -> npt.NDArray[np.float64]:
        return np.bincount(key, weights=of, minlength=rows) / count

    return Phrases(
        length=length,
        start=start[first],
        count=count.astype(np.int64),
        documents=np.bincount(pairs // documents, minlength=rows).astype(np.int64),
        burst=burst,
        named=share(capitals == length),
        whole=share(marks.left[start] & marks.right[end]),
        prose=share(marks.small_before[start] | marks.small_after[end]),
        place=start,
        of=key,
    )
