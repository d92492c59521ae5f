"""From judged spans or documents to judged chunks, for whatever chunks there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from evaluation.locate import document_stem
from evaluation.schema import Benchmark, Grades8, Longs, Qrels, Spans
from evaluation.trec import OutsideRun
from ingestion.schema import Corpus
from retrieval.schema import Ints

Bools = npt.NDArray[np.bool_]
Names = npt.NDArray[np.object_]


@dataclass(frozen=True)
class Overlaps:
    """Pairs of a stretch of text and a chunk that share characters: row of each, and how many (int64 [n_pairs])."""

    stretch: Longs
    chunk: Longs
    shared: Longs


def span_qrels(spans: Spans, corpus: Corpus, n_queries: int, min_coverage: float = 0.5) -> Qrels:
    """Judgments of the corpus's chunks.

    A chunk has a span's grade if it holds at least `min_coverage` of the span, or, where no chunk does, if it holds
    the most of it (the smaller row on a tie). A page judged without a quote grades every chunk of which at least half
    lies on it. A chunk's grade is the best of its spans. Without any, it is judged 0 if at least half of its
    characters lie in judged spans of the query, whatever their grade. Chunks that share a relevant span, directly or
    through others, form one group.
    """
    chunks = _Chunks.of(corpus)
    overlaps = chunks.overlaps(spans.doc, spans.start, spans.end)
    covers = _covers(spans, chunks, overlaps, min_coverage) & (spans.grade[overlaps.stretch] > 0)
    span, chunk = overlaps.stretch[covers], overlaps.chunk[covers]
    relevant, pair = np.unique(_key(spans.query[span], chunk), return_inverse=True)
    grade = np.zeros(len(relevant), dtype=np.int8)
    np.maximum.at(grade, pair, spans.grade[span])
    parts = np.zeros(len(relevant), dtype=np.int64)
    np.bitwise_or.at(parts, pair, np.int64(1) << spans.part[span].astype(np.int64))
    group = _groups(relevant, pair, span, len(spans.query))
    zero = np.setdiff1d(_mostly_judged(spans, chunks), relevant)
    n_parts = np.zeros(n_queries, dtype=np.int32)
    np.maximum.at(n_parts, spans.query[spans.grade > 0], spans.part[spans.grade > 0] + 1)
    return _sorted(
        np.concatenate([relevant, zero]),
        np.concatenate([grade, np.zeros(len(zero), dtype=np.int8)]),
        np.concatenate([group, np.full(len(zero), -1)]),
        np.concatenate([parts, np.zeros(len(zero), dtype=np.int64)]),
        n_parts,
    )


def document_qrels(benchmark: Benchmark, corpus: Corpus) -> tuple[Names, Qrels]:
    """Judgments by document: every chunk of a judged document has its grade, and they form one group.

    A document is named by its doc_id, its file name or the name's stem. One that the corpus does not hold keeps its
    place in the ideal ranking, in a row beyond the chunks.

    Returns:
        What rows are called (object [n_rows]: chunk ids, then judged documents that the corpus lacks), and the qrels.
    """
    rows: dict[str, list[int]] = {}
    names = zip(corpus.column("doc_id"), corpus.column("doc_name"), strict=True)
    for row, (doc_id, doc_name) in enumerate(names):
        for name in {doc_id, doc_name, document_stem(doc_name)}:
            rows.setdefault(name, []).append(row)
    absent = sorted({row.doc_id for row in benchmark.documents} - rows.keys())
    rows |= {name: [len(corpus) + number] for number, name in enumerate(absent)}
    ids = np.asarray([*corpus.chunk_ids, *absent], dtype=object)
    return ids, _by_document(benchmark, rows)


def id_qrels(benchmark: Benchmark, runs: Iterable[OutsideRun]) -> tuple[Names, Qrels]:
    """Judgments without a corpus: the ids that are judged or ranked (object [n_ids], ascending), and their qrels."""
    judged = {row.doc_id for row in benchmark.documents}
    ids = np.asarray(sorted(judged.union(*(run.ids for run in runs))), dtype=object)
    return ids, _by_document(benchmark, {name: [row] for row, name in enumerate(ids)})


def _by_document(benchmark: Benchmark, rows: dict[str, list[int]]) -> Qrels:
    query_row = {qid: row for row, qid in enumerate(benchmark.queries.qid)}
    judged = [
        (query_row[row.qid], chunk, row.grade, number)
        for number, row in enumerate(benchmark.documents)
        if row.qid in query_row
        for chunk in rows[row.doc_id]
    ]
    table = np.asarray(judged, dtype=np.int64).reshape(-1, 4)
    group = np.where(table[:, 2] > 0, _dense(table[:, 0], table[:, 3]), -1)
    n_parts = np.zeros(len(query_row), dtype=np.int32)
    n_parts[table[table[:, 2] > 0, 0]] = 1
    parts = (table[:, 2] > 0).astype(np.int64)
    return _sorted(_key(table[:, 0], table[:, 1]), table[:, 2].astype(np.int8), group, parts, n_parts)


@dataclass(frozen=True)
class _Chunks:
    """Chunks in document order on one axis, on which documents stand `stride` characters apart."""

    row: Longs
    start: Longs
    end: Longs
    reach: Longs
    stride: int

    @staticmethod
    def of(corpus: Corpus) -> _Chunks:
        doc_row = {name: row for row, name in enumerate(corpus.documents["doc_id"].to_pylist())}
        doc = np.asarray([doc_row[name] for name in corpus.column("doc_id")], dtype=np.int64)
        start, end = corpus.numbers("char_start"), corpus.numbers("char_end")
        pages = corpus.pages["char_start"].to_numpy() + np.asarray([len(t) for t in corpus.pages["text"].to_pylist()])
        stride = int(max(end.max(initial=0), pages.max(initial=0))) + 1
        order = np.lexsort((end, start, doc))
        start, end = (doc * stride + start)[order], (doc * stride + end)[order]
        return _Chunks(order, start, end, np.maximum.accumulate(end), stride)

    def overlaps(self, doc: Ints, start: Longs, end: Longs) -> Overlaps:
        """Every pair of a stretch and a chunk that share at least one character."""
        start, end = doc.astype(np.int64) * self.stride + start, doc.astype(np.int64) * self.stride + end
        low = np.searchsorted(self.reach, start, side="right")
        count = np.maximum(np.searchsorted(self.start, end, side="left") - low, 0)
        stretch = np.repeat(np.arange(len(start)), count)
        at = np.arange(len(stretch)) - np.repeat(np.cumsum(count) - count, count) + low[stretch]
        shared = np.minimum(self.end[at], end[stretch]) - np.maximum(self.start[at], start[stretch])
        real = shared > 0
        return Overlaps(stretch[real], self.row[at[real]], shared[real])

    def length(self) -> Longs:
        """Characters of each chunk, by row of the chunk table, int64 [n_chunks]."""
        lengths = np.zeros(len(self.row), dtype=np.int64)
        lengths[self.row] = self.end - self.start
        return lengths


def _covers(spans: Spans, chunks: _Chunks, overlaps: Overlaps, min_coverage: float) -> Bools:
    """Which overlaps make the chunk an answer: enough of the span, or the most of it where no chunk has enough."""
    span, whole = overlaps.stretch, spans.whole_page[overlaps.stretch]
    enough = np.where(
        whole,
        2 * overlaps.shared >= chunks.length()[overlaps.chunk],
        overlaps.shared >= min_coverage * (spans.end - spans.start)[span],
    )
    served = np.zeros(len(spans.query), dtype=bool)
    served[span[enough]] = True
    order = np.lexsort((overlaps.chunk, -overlaps.shared, span))
    best = order[np.unique(span[order], return_index=True)[1]]
    chosen = enough.copy()
    chosen[best[~served[span[best]]]] = True
    return chosen


def _groups(relevant: Longs, pair: Longs, span: Longs, n_spans: int) -> Longs:
    """Number of the group of each (query, chunk) pair within its query: pairs joined by spans that both cover."""
    size = len(relevant) + n_spans
    edges = coo_array((np.ones(len(pair), np.int8), (pair, len(relevant) + span)), shape=(size, size))
    label = connected_components(edges, directed=False)[1][: len(relevant)]
    return _dense(relevant >> 32, label)


def _dense(query: Longs, label: npt.NDArray[np.integer]) -> Longs:
    """Labels renumbered within each query, 0 for the one that comes first."""
    key = _key(query, label)
    unique, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.lexsort((first, unique >> 32))
    owner = (unique >> 32)[order]
    number = np.empty(len(unique), dtype=np.int64)
    number[order] = np.arange(len(order)) - np.searchsorted(owner, owner)
    return np.asarray(number[inverse], dtype=np.int64)


def _mostly_judged(spans: Spans, chunks: _Chunks) -> Longs:
    """(query, chunk) keys of chunks with at least half of their characters in the union of the query's spans."""
    query, doc, start, end = _union(spans)
    overlaps = chunks.overlaps(doc, start, end)
    keys, place = np.unique(_key(query[overlaps.stretch], overlaps.chunk), return_inverse=True)
    shared = np.bincount(place, weights=overlaps.shared, minlength=len(keys))
    mostly = 2 * shared >= chunks.length()[keys & 0xFFFFFFFF]
    return np.asarray(keys[mostly], dtype=np.int64)


def _union(spans: Spans) -> tuple[Longs, Ints, Longs, Longs]:
    """Each query's judged spans merged where they touch or overlap: query, doc, start, end."""
    order = np.lexsort((spans.start, spans.doc, spans.query))
    query, doc = spans.query[order].astype(np.int64), spans.doc[order]
    start, end = spans.start[order], spans.end[order]
    same = np.zeros(len(order), dtype=bool)
    same[1:] = (query[1:] == query[:-1]) & (doc[1:] == doc[:-1])
    stride = int(end.max(initial=0)) + 1
    block = np.cumsum(~same) * stride
    reach = np.maximum.accumulate(block + end) - block if len(order) else end
    opens = ~same
    opens[1:] |= start[1:] > reach[:-1]
    first = np.flatnonzero(opens)
    last = np.append(first[1:], len(order)) - 1 if len(order) else first
    return query[first], doc[first], start[first], reach[last]


def _key(query: npt.NDArray[np.integer], chunk: npt.NDArray[np.integer]) -> Longs:
    return np.asarray(query, dtype=np.int64) << 32 | np.asarray(chunk, dtype=np.int64)


def _sorted(key: Longs, grade: Grades8, group: Longs, parts: Longs, n_parts: Ints) -> Qrels:
    order = np.argsort(key, kind="stable")
    query, chunk = (key[order] >> 32).astype(np.int32), (key[order] & 0xFFFFFFFF).astype(np.int32)
    return Qrels(query, chunk, grade[order], group[order].astype(np.int32), parts[order], n_parts)
