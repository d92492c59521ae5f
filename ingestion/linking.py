"""Entities found in texts, longest form first: one pass over all words at once through a tree of forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ingestion.names import singular
from ingestion.tokens import Ints, Longs, Words
from ingestion.vocabulary import ACRONYM


@dataclass(frozen=True)
class Mentions:
    """Entities in texts, in order and without overlap: `node` int32, `first` and `last` int64 (words)."""

    node: Ints
    first: Longs
    last: Longs


@dataclass(frozen=True)
class Linker:
    """Finds entities in words; `forms` of each node, as sequences of normal words."""

    forms: tuple[tuple[tuple[str, ...], ...], ...]

    @cached_property
    def acronyms(self) -> frozenset[str]:
        """Words in capitals that occur in forms; any other word in capitals is read as if written small."""
        return frozenset(word for forms in self.forms for form in forms for word in form if word != word.lower())

    @cached_property
    def _words(self) -> dict[str, int]:
        spelled = sorted({word for forms in self.forms for form in forms for word in form})
        return {word: number for number, word in enumerate(spelled)}

    @cached_property
    def _tree(self) -> tuple[Longs, Longs, Ints]:
        """Sorted keys (state * n_words + word), the state each leads to, and the node that ends at a state or -1."""
        steps: dict[tuple[int, int], int] = {}
        ends = {}
        for node, forms in enumerate(self.forms):
            for form in forms:
                state = 0
                for word in form:
                    state = steps.setdefault((state, self._words[word]), len(steps) + 1)
                ends[state] = node
        keys = np.asarray([state * len(self._words) + word for state, word in steps], dtype=np.int64)
        order = np.argsort(keys)
        node_at = np.full(len(steps) + 1, -1, dtype=np.int32)
        node_at[list(ends)] = list(ends.values())
        return keys[order], np.asarray(list(steps.values()), dtype=np.int64)[order], node_at

    def normal(self, word: str) -> str:
        """A word as forms have it, for chunks and queries alike."""
        if ACRONYM.fullmatch(word) and (base := word.removesuffix("s")) in self.acronyms:
            return base
        return word if word in self.acronyms else singular(word.casefold())

    def link(self, words: Words) -> Mentions:
        """The longest form at every word, from left to right; forms do not overlap and hold no mark inside."""
        if not self.forms or not len(words):
            return Mentions(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))
        number = np.asarray([self._words.get(self.normal(word), -1) for word in words.surface], dtype=np.int64)
        own = number[words.spelling]
        alive = np.flatnonzero(own >= 0)
        state = np.zeros(len(alive), dtype=np.int64)
        node, size = np.full(len(words), -1, np.int32), np.zeros(len(words), np.int64)
        node_at, length = self._tree[2], 0
        while len(alive):
            state = self._step(state, own[alive + length])
            alive, state = alive[state >= 0], state[state >= 0]
            length += 1
            found = node_at[state] >= 0
            node[alive[found]], size[alive[found]] = node_at[state[found]], length
            after = alive + length
            on = after < len(words)
            alive, state, after = alive[on], state[on], after[on]
            on = ~words.apart[after] & (own[after] >= 0)
            alive, state = alive[on], state[on]
        return _apart(node, size)

    def _step(self, state: Longs, word: Longs) -> Longs:
        """The state behind a word, -1 where no form goes on."""
        keys, target, _ = self._tree
        wanted = state * len(self._words) + word
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, target[at], -1)


def _apart(node: Ints, size: Longs) -> Mentions:
    """Matches taken from left to right, each behind the one before."""
    starts = np.flatnonzero(size)
    kept, free = [], 0
    for start, length in zip(starts.tolist(), size[starts].tolist(), strict=True):
        if start >= free:
            kept.append(start)
            free = start + length
    first = np.asarray(kept, dtype=np.int64)
    return Mentions(node[first], first, first + size[first] - 1)


def linked(linker: Linker, texts: Sequence[str]) -> tuple[Ints, Ints]:
    """Text row and node of every mention in these texts, int32 [n_mentions] each."""
    words = Words.of(texts)
    found = linker.link(words)
    return words.text[found.first], found.node
