"""A corpus as arrays of words: where each stands, what is between them, and which sentences were seen before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ingestion.names import HYPHENS
from ingestion.sentences import spans

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

# A word, or one mark between words. A possessive ending belongs to neither; C++ and C# are words.
PIECE = re.compile(rf"(?P<word>[^\W_]+(?:\+\+|#(?!\w))?)(?:['’]s?(?!\w))?|(?P<hyphen>(?<=\w)[{HYPHENS}](?=\w))|\S")
PART = 200_000  # words held as Python objects at once


@dataclass(frozen=True)
class Words:
    """All words of a list of texts, in order.

    `surface` distinct spellings. Per word: `spelling` int32 (row of `surface`), `text` int32 (row of the texts),
    `start` and `end` int64 (offsets in its text), `sentence` int32 (numbered through), `apart` bool (a mark or a
    sentence end is before it), `joined` bool (a hyphen stands before it). `sentences` int64 [n_sentences, 3]: text,
    start and end of each.
    """

    surface: tuple[str, ...]
    spelling: Ints
    text: Ints
    start: Longs
    end: Longs
    sentence: Ints
    apart: Flags
    joined: Flags
    sentences: Longs

    def __len__(self) -> int:
        return len(self.spelling)

    @staticmethod
    def of(texts: Sequence[str]) -> Words:
        """The words of these texts."""
        known: dict[str, int] = {}
        parts: list[Longs] = []
        rows: list[tuple[int, int, int, int, int, bool, bool]] = []
        sentences: list[tuple[int, int, int]] = []
        for number, text in enumerate(texts):
            for low, high in spans(text):
                sentences.append((number, low, high))
                number_of, is_apart, is_joined = len(sentences) - 1, True, False
                for match in PIECE.finditer(text, low, high):
                    kind = match.lastgroup
                    if kind == "word":
                        word = known.setdefault(match["word"], len(known))
                        place = match.span("word")
                        rows.append((word, number, place[0], place[1], number_of, is_apart, is_joined))
                        is_apart = is_joined = False
                    elif kind == "hyphen":
                        is_joined = True
                    else:
                        is_apart = True
            if len(rows) > PART or number == len(texts) - 1:
                parts.append(np.asarray(rows, dtype=np.int64).reshape(len(rows), 7))
                rows = []
        table = np.concatenate([np.zeros((0, 7), np.int64), *parts])
        spelling, owner, sentence = (table[:, at].astype(np.int32) for at in (0, 1, 4))
        apart, joined = (table[:, at].astype(np.bool_) for at in (5, 6))
        bounds = np.asarray(sentences, dtype=np.int64).reshape(len(sentences), 3)
        return Words(tuple(known), spelling, owner, table[:, 2], table[:, 3], sentence, apart, joined, bounds)

    def first_of_each(self, group: Sequence[str]) -> Flags:
        """Bool [n_words]: whether the word's sentence is the first of its wording in its group of texts.

        Overlapping chunks of one document hold the same sentence; it must count once.
        """
        starts = np.flatnonzero(np.diff(self.sentence, prepend=-1))
        bounds = np.append(starts, len(self))
        spelled = self.spelling.tobytes()
        seen: set[tuple[str, bytes]] = set()
        fresh = np.zeros(len(starts), dtype=np.bool_)
        for row, (low, high) in enumerate(pairwise(bounds.tolist())):
            key = (group[self.text[low]], spelled[4 * low : 4 * high])
            fresh[row] = key not in seen
            seen.add(key)
        return np.repeat(fresh, np.diff(bounds))
