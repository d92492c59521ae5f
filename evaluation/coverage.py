"""Measures that read texts and spans instead of ranks: gold entities, relations, and evidence in a word budget.

A character, here, is one that is not white space: what a chunker drops between two chunks is no lost evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np

from evaluation.mentions import mentions, normal_text
from evaluation.qrels import chunk_documents
from evaluation.schema import Benchmark, Longs, Spans
from ingestion.schema import PAGE_BREAK, Corpus
from retrieval.schema import Floats, Ints, Run

Item = TypeVar("Item")


@dataclass(frozen=True)
class Axis:
    """All documents with evidence laid end to end, white space left out; each query has a copy of its own.

    `base` int64 [n_documents]: where a document begins, -1 without evidence. `spaces` int64: where white space is.
    `stride`: distance between two queries' copies, so that stretches of different queries never touch.
    """

    base: Longs
    spaces: Longs
    stride: int

    @staticmethod
    def of(corpus: Corpus, docs: Ints) -> Axis:
        """The axis over these documents (rows of `corpus.documents`, unique)."""
        names = corpus.documents["doc_id"].to_pylist()
        pages: dict[str, list[str]] = {names[doc]: [] for doc in docs}
        for doc_id, text in zip(corpus.pages["doc_id"].to_pylist(), corpus.pages["text"].to_pylist(), strict=True):
            if doc_id in pages:
                pages[doc_id].append(text)
        texts = [PAGE_BREAK.join(parts) + PAGE_BREAK for parts in pages.values()]
        base = np.full(len(names), -1, dtype=np.int64)
        base[docs] = np.cumsum([0, *map(len, texts)])[:-1]
        joined = "".join(texts)
        spaces = np.fromiter((match.start() for match in re.finditer(r"\s", joined)), np.int64)
        return Axis(base, spaces, len(joined) + 1)

    def place(self, query: Ints, doc: Ints | Longs, offset: Longs) -> Longs:
        """Positions of document offsets on the queries' copies of the axis, int64 [n]."""
        at = self.base[doc] + offset
        return query.astype(np.int64) * self.stride + at - np.searchsorted(self.spaces, at)


@dataclass(frozen=True)
class Stretches:
    """Half-open stretches of the axis, int64 [n] each."""

    start: Longs
    end: Longs

    def union(self) -> Stretches:
        """The same characters as disjoint stretches, ascending."""
        if not len(self.start):
            return self
        order = np.argsort(self.start, kind="stable")
        start, end = self.start[order], np.maximum.accumulate(self.end[order])
        first = np.flatnonzero(np.append(True, start[1:] > end[:-1]))
        return Stretches(start[first], end[np.append(first[1:], len(start)) - 1])

    def inside(self, other: Stretches) -> Longs:
        """How many characters of each stretch lie in the union `other`, int64 [n]."""
        sums = np.append(0, np.cumsum(other.end - other.start))

        def below(at: Longs) -> Longs:
            last = np.searchsorted(other.start, at, side="right")
            ends = np.append(0, other.end)[last]
            return np.asarray(sums[last] - np.maximum(0, ends - at), dtype=np.int64)

        return below(self.end) - below(self.start)

    def totals(self, stride: int, n_queries: int, characters: Longs | None = None) -> Floats:
        """Characters per query, float64 [n_queries]: those of the stretches, or the given ones."""
        weights = self.end - self.start if characters is None else characters
        return _totals(self.start // stride, weights, n_queries)


@dataclass(frozen=True)
class Gold:
    """What one corpus holds of one benchmark: spans, entities, relations. Built once, shared by all arms."""

    corpus: Corpus
    spans: Spans
    benchmark: Benchmark
    _normal: dict[int, str] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.benchmark.queries)

    def normal(self, chunk: int) -> str:
        """The chunk's normal text, remembered."""
        if chunk not in self._normal:
            self._normal[chunk] = normal_text(self.corpus.texts[chunk])
        return self._normal[chunk]

    @cached_property
    def sizes(self) -> tuple[Longs, Longs]:
        """Words and characters of every chunk, int64 [n_chunks] each."""
        words = [text.split() for text in self.corpus.texts]
        characters = [sum(map(len, row)) for row in words]
        return np.asarray([len(row) for row in words], np.int64), np.asarray(characters, np.int64)

    @cached_property
    def axis(self) -> Axis:
        """The documents that hold relevant spans (grade 1 and up)."""
        return Axis.of(self.corpus, np.unique(self.spans.doc[self.spans.grade > 0]))

    @cached_property
    def evidence(self) -> Stretches:
        """Relevant spans of all queries, disjoint."""
        relevant = self.spans.grade > 0
        query, doc = self.spans.query[relevant], self.spans.doc[relevant]
        ends = [self.axis.place(query, doc, column[relevant]) for column in (self.spans.start, self.spans.end)]
        return Stretches(*ends).union()

    @cached_property
    def evidence_size(self) -> Floats:
        """Characters of evidence per query, float64 [n_queries]."""
        return self.evidence.totals(self.axis.stride, len(self))

    @cached_property
    def chunk_doc(self) -> Longs:
        """Document row of every chunk, int64 [n_chunks], -1 where it has none."""
        return chunk_documents(self.corpus)

    @cached_property
    def chunk_start(self) -> Longs:
        """First character of every chunk in its document, int64 [n_chunks]."""
        return self.corpus.numbers("char_start")


@dataclass(frozen=True)
class Ranked:
    """One arm's rankings beside the gold. A chunk that only an outside run knows holds its rank and shows nothing."""

    run: Run
    gold: Gold

    def top(self, k: int) -> list[list[str]]:
        """Normal texts of the first k chunks of every query."""
        bounds, known = self.run.bounds(len(self.gold)).tolist(), len(self.gold.corpus)
        tops = (self.run.chunk[low : min(low + k, high)].tolist() for low, high in pairwise(bounds))
        return [[self.gold.normal(chunk) for chunk in top if chunk < known] for top in tops]

    def shown(self, words: int) -> tuple[Ints, Ints, Longs]:
        """Query, chunk and characters of what the first words show; the last chunk is cut at its last word."""
        known = np.flatnonzero(self.run.chunk < len(self.gold.corpus))
        query, chunk, (words_of, characters) = self.run.query[known], self.run.chunk[known], self.gold.sizes
        count = words_of[chunk]
        before = np.cumsum(count) - count
        before -= before[np.searchsorted(query, query)]
        keep = np.flatnonzero(before < words)
        query, chunk, left = query[keep], chunk[keep], words - before[keep]
        shown = characters[chunk]
        for row in np.flatnonzero(count[keep] > left):
            shown[row] = sum(map(len, self.gold.corpus.texts[chunk[row]].split()[: left[row]]))
        return query, chunk, shown

    def stretches(self, words: int) -> Stretches:
        """What the first words show of documents with evidence, chunk by chunk."""
        gold = self.gold
        query, chunk, shown = self.shown(words)
        doc = gold.chunk_doc[chunk]
        known = np.flatnonzero((doc >= 0) & (np.append(gold.axis.base, -1)[doc] >= 0))
        start = gold.axis.place(query[known], doc[known], gold.chunk_start[chunk[known]])
        return Stretches(start, start + shown[known])


def evidence_recall(ranked: Ranked, words: int) -> Floats:
    """Share of the judged evidence characters that the first ranked words show, float64 [n_queries].

    NaN for a query without evidence. A character shown by two overlapping chunks counts once.
    """
    gold = ranked.gold
    found = gold.evidence.inside(ranked.stretches(words).union())
    return _share(gold.evidence.totals(gold.axis.stride, len(gold), found), gold.evidence_size, gold)


def evidence_precision(ranked: Ranked, words: int) -> Floats:
    """Share of the characters of the first ranked words that lie in evidence, float64 [n_queries].

    NaN for a query without evidence, 0 for an empty ranking. What is shown twice counts twice: it was read twice.
    """
    gold = ranked.gold
    query, _, shown = ranked.shown(words)
    stretches = ranked.stretches(words)
    found = stretches.totals(gold.axis.stride, len(gold), stretches.inside(gold.evidence))
    return _share(found, _totals(query, shown, len(gold)), gold)


def entity_coverage(ranked: Ranked, k: int) -> Floats:
    """Share of the query's gold entities that occur in the top k chunks, float64 [n_queries]; NaN without any."""

    def found(entity: str, texts: Sequence[str]) -> bool:
        return any(mentions(text, entity) for text in texts)

    return _coverage(ranked, k, ranked.gold.benchmark.entities, found)


def relation_coverage(ranked: Ranked, k: int) -> Floats:
    """Share of the query's gold relations with both ends in one and the same top k chunk, float64 [n_queries].

    NaN for a query without gold relations.
    """

    def found(relation: tuple[str, str], texts: Sequence[str]) -> bool:
        return any(mentions(text, relation[0]) and mentions(text, relation[1]) for text in texts)

    return _coverage(ranked, k, ranked.gold.benchmark.relations, found)


def _coverage(
    ranked: Ranked, k: int, wanted: Mapping[str, Sequence[Item]], found: Callable[[Item, Sequence[str]], bool]
) -> Floats:
    values = np.full(len(ranked.gold), np.nan)
    for row, (qid, texts) in enumerate(zip(ranked.gold.benchmark.queries.qid, ranked.top(k), strict=True)):
        if wanted.get(qid):
            values[row] = np.mean([found(item, texts) for item in wanted[qid]])
    return values


def _totals(query: Ints | Longs, weights: Longs, n_queries: int) -> Floats:
    return np.bincount(query, weights=weights, minlength=n_queries).astype(np.float64)


def _share(part: Floats, whole: Floats, gold: Gold) -> Floats:
    """Part / whole, 0 where nothing was shown, NaN where a query has no evidence."""
    share = np.divide(part, whole, out=np.zeros(len(gold)), where=whole > 0)
    return np.where(gold.evidence_size > 0, share, np.nan)
