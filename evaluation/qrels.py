"""Judgments of the present chunks, derived from spans, or from documents judged by id.

All span arithmetic happens on one axis: documents laid end to end, so that one `searchsorted` joins all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from evaluation.errors import BenchmarkError, OrphanError
from evaluation.locate import MAX_PARTS, Library
from evaluation.pairs import pairs
from evaluation.schema import Benchmark, DocumentJudgment, Grades8, Longs, Qrels, Spans
from evaluation.trec import OutsideRun
from ingestion.schema import Corpus
from retrieval.schema import Ints

HALF = 0.5  # of a chunk's characters: from here on it is judged, or lies on a page
ROWS = np.int64(0xFFFFFFFF)  # the lower half of a pair
Names = npt.NDArray[np.object_]
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chunks:
    """Chunks on the axis, ascending by start. `row` is the row of the chunk table; int64 [n] each."""

    start: Longs
    end: Longs
    row: Longs

    @staticmethod
    def of(corpus: Corpus, spans: Spans) -> tuple[Chunks, Longs]:
        """The chunks, and where each document of the corpus begins on the axis (int64 [n_documents])."""
        doc = chunk_documents(corpus)
        known = np.flatnonzero(doc >= 0)
        start, end = corpus.numbers("char_start")[known], corpus.numbers("char_end")[known]
        length = np.zeros(corpus.documents.num_rows, dtype=np.int64)
        np.maximum.at(length, doc[known], end)
        np.maximum.at(length, spans.doc, spans.end)
        base = np.cumsum(length + 1) - length - 1
        start, end = start + base[doc[known]], end + base[doc[known]]
        order = np.lexsort((known, start))
        return Chunks(start[order], end[order], known[order]), base

    @property
    def length(self) -> Longs:
        """Characters of each chunk."""
        return self.end - self.start

    def overlaps(self, start: Longs, end: Longs) -> tuple[Longs, Longs, Longs]:
        """Every pair of an interval and a chunk that share characters: interval, chunk (both positions), how many."""
        low = np.searchsorted(np.maximum.accumulate(self.end), start, side="right")
        interval, chunk = _ranges(low, np.searchsorted(self.start, end, side="left"))
        shared = np.minimum(self.end[chunk], end[interval]) - np.maximum(self.start[chunk], start[interval])
        keep = shared > 0
        return interval[keep], chunk[keep], shared[keep]


def span_qrels(spans: Spans, corpus: Corpus, n_queries: int, min_coverage: float = 0.5) -> Qrels:
    """Grades of chunks from judged spans.

    A chunk gets the grade of a span of which it holds at least `min_coverage`; where no chunk does, the best-covering
    one gets it (ties: smaller row). A judged page or document grades the chunks that have at least half of their
    characters on it. A chunk without a grade, but with at least half of its characters in judged spans, has grade 0.

    Raises:
        BenchmarkError: a query has more than 62 parts.
    """
    if spans.part.max(initial=0) >= MAX_PARTS:
        row = int(spans.query[spans.part.argmax()])
        raise BenchmarkError(f"the query in row {row} has {spans.part.max() + 1} parts; {MAX_PARTS} is the most")
    chunks, base = Chunks.of(corpus, spans)
    start, end = base[spans.doc] + spans.start, base[spans.doc] + spans.end
    span, chunk = _holders(spans, chunks, base, min_coverage)
    pair = pairs(spans.query[span], chunks.row[chunk])
    judged = np.union1d(pair, _mostly_judged(spans.query, chunks, start, end))
    at = np.searchsorted(judged, pair)
    parts = np.zeros(len(judged), dtype=np.int64)
    needed = np.flatnonzero(spans.part[span] >= 0)
    np.bitwise_or.at(parts, at[needed], np.left_shift(1, spans.part[span[needed]].astype(np.int64)))
    n_parts = np.zeros(n_queries, dtype=np.int32)
    np.maximum.at(n_parts, spans.query, np.where(spans.grade > 0, spans.part + 1, 0))
    edges = coo_array((np.ones(len(at), dtype=np.int8), (at, len(judged) + span)), (len(judged) + len(start),) * 2)
    classes = connected_components(edges, directed=False)[1][: len(judged)]
    return _qrels(judged, at, spans.grade[span], classes, parts, n_parts)


def uncovered(spans: Spans, corpus: Corpus) -> Longs:
    """Rows of relevant spans that no chunk touches: text that was extracted, but is not in the index.

    Nothing can retrieve them, and of the measures only EvRecall counts them, so they are reported (a reference list,
    a table).
    """
    chunks, base = Chunks.of(corpus, spans)
    held = chunks.overlaps(base[spans.doc] + spans.start, base[spans.doc] + spans.end)[0]
    return np.setdiff1d(np.flatnonzero(spans.grade > 0), held)


def document_qrels(benchmark: Benchmark, corpus: Corpus, max_orphans: float = 0.02) -> Qrels:
    """Grades of chunks from judged documents: every chunk of a document has its grade, and they are one class.

    Raises:
        OrphanError: more than `max_orphans` (share) of the judgments name documents that the corpus lacks; fewer are
            left out and logged.
    """
    library = Library(corpus)
    rows = {name: library.row(name) for name in dict.fromkeys(row.doc_id for row in benchmark.documents)}
    _check_absent(
        [row for row in benchmark.documents if rows[row.doc_id] is None], len(benchmark.documents), max_orphans
    )
    known = [row for row in benchmark.documents if rows[row.doc_id] is not None]
    doc = np.asarray([rows[row.doc_id] for row in known], dtype=np.int64)
    owner = chunk_documents(corpus)
    by_doc = np.argsort(owner, kind="stable")
    low, high = (np.searchsorted(owner[by_doc], doc, side=side) for side in ("left", "right"))
    judgment, place = _ranges(low, high)
    return _by_class(benchmark, known, judgment, by_doc[place], doc)


def id_qrels(
    benchmark: Benchmark, runs: Iterable[OutsideRun], known: Sequence[str] | Names = ()
) -> tuple[Names, Qrels]:
    """Judgments of plain ids, for collections whose documents are not cut into chunks.

    Returns:
        What rows stand for (object [n_ids]), the `known` ids (such as `Corpus.chunk_ids`), then every other id that
        is judged or ranked, ascending; and the judgments. What the corpus lacks keeps its place in the ideal ranking.
    """
    named = {row.doc_id for row in benchmark.documents}.union(*(run.ids for run in runs))
    ids = np.asarray([*known, *sorted(named.difference(known))], dtype=object)
    row_of = {name: row for row, name in enumerate(ids)}
    rows = np.asarray([row_of[row.doc_id] for row in benchmark.documents], dtype=np.int64)
    return ids, _by_class(benchmark, benchmark.documents, np.arange(len(rows)), rows, rows)


def chunk_documents(corpus: Corpus) -> Longs:
    """Row of every chunk's document in `Corpus.documents`, int64 [n_chunks]; -1 where it has none."""
    found = pc.index_in(
        corpus.chunks["doc_id"].combine_chunks(), value_set=corpus.documents["doc_id"].combine_chunks()
    )
    return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def holding(
    spans: Spans, chunks: Chunks, base: Longs, min_coverage: float
) -> tuple[Longs, Longs, Longs, npt.NDArray[np.bool_]]:
    """Relevant spans and the chunks that share characters with them, [n] each.

    Returns:
        The row of the span, the position of the chunk, how many characters they share, and whether that is enough:
        `min_coverage` of a quote; of a judged page, half of the chunk.
    """
    start, end = base[spans.doc] + spans.start, base[spans.doc] + spans.end
    span, chunk, shared = chunks.overlaps(start, end)
    relevant = spans.grade[span] > 0
    span, chunk, shared = span[relevant], chunk[relevant], shared[relevant]
    of_page, of_quote = HALF * chunks.length[chunk], min_coverage * (end - start)[span]
    return span, chunk, shared, shared >= np.where(spans.whole_page[span], of_page, of_quote)


def _holders(spans: Spans, chunks: Chunks, base: Longs, min_coverage: float) -> tuple[Longs, Longs]:
    """Relevant spans and the chunks (positions) that hold them: enough of the span, or the most of it."""
    span, chunk, shared, enough = holding(spans, chunks, base, min_coverage)
    served = np.zeros(len(spans.query), dtype=np.bool_)
    served[span[enough]] = True
    order = np.lexsort((chunks.row[chunk], -shared, span))
    best = order[np.unique(span[order], return_index=True)[1]]
    enough[best[~served[span[best]]]] = True
    return span[enough], chunk[enough]


def _mostly_judged(query: Ints, chunks: Chunks, start: Longs, end: Longs) -> Longs:
    """Pairs of query and chunk row where at least half of the chunk lies in the union of the query's spans."""
    stride = int(max(chunks.end.max(initial=0), end.max(initial=0))) + 1
    order = np.lexsort((start, query))
    low = query[order] * np.int64(stride) + start[order]
    high = np.maximum.accumulate(query[order] * np.int64(stride) + end[order])
    first = np.flatnonzero(np.append(np.ones(min(len(low), 1), dtype=np.bool_), low[1:] > high[:-1]))
    last = np.append(first[1:], len(low))[: len(first)] - 1
    of_query = low[first] // stride
    union, chunk, shared = chunks.overlaps(low[first] % stride, high[last] % stride)
    pair, back = np.unique(pairs(of_query[union], chunk), return_inverse=True)
    total = np.bincount(back, weights=shared, minlength=len(pair))
    position = pair & ROWS
    mostly = total >= HALF * chunks.length[position]
    return pairs(pair[mostly] >> 32, chunks.row[position[mostly]])


def _qrels(judged: Longs, at: Longs, grades: Grades8, classes: Ints, parts: Longs, n_parts: Ints) -> Qrels:
    """Rows for the sorted pairs `judged`; `grades` belong to the pairs at `at`, of which the best counts.

    Classes of relevant rows are numbered from 0 per query, by their first row.
    """
    grade = np.zeros(len(judged), dtype=np.int8)
    np.maximum.at(grade, at, grades)
    query, chunk = (judged >> 32).astype(np.int32), (judged & ROWS).astype(np.int32)
    relevant = np.flatnonzero(grade > 0)
    group = np.full(len(judged), -1, dtype=np.int32)
    _, first, back = np.unique(pairs(query[relevant], classes[relevant]), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    query_of = query[relevant][first[order]]
    group[relevant] = (rank - np.searchsorted(query_of, query_of)[rank])[back]
    return Qrels(query, chunk, grade, group, parts, n_parts)


def _by_class(
    benchmark: Benchmark, judgments: Sequence[DocumentJudgment], judgment: Longs, row: Longs, classes: Longs
) -> Qrels:
    """Qrels of rows (int64 [n]), each graded by the judgment at its place in `judgment`.

    `classes` int64 [n_judgments] holds the class of each judgment. A query with something relevant has one part.
    """
    query_row = {qid: number for number, qid in enumerate(benchmark.queries.qid)}
    query = np.asarray([query_row[judged.qid] for judged in judgments], dtype=np.int64)
    grade = np.asarray([max(judged.grade, 0) for judged in judgments], dtype=np.int8)
    found, first, at = np.unique(pairs(query[judgment], row), return_index=True, return_inverse=True)
    parts = np.zeros(len(found), dtype=np.int64)
    parts[at[grade[judgment] > 0]] = 1
    n_parts = np.zeros(len(benchmark.queries), dtype=np.int32)
    n_parts[query[grade > 0]] = 1
    return _qrels(found, at, grade[judgment], classes[judgment[first]].astype(np.int32), parts, n_parts)


def _check_absent(orphans: Sequence[DocumentJudgment], total: int, limit: float) -> None:
    if not orphans:
        return
    text = f"{len(orphans)} of {total} judgments name documents that the corpus lacks, such as {orphans[0].doc_id!r}"
    if len(orphans) > limit * total:
        raise OrphanError(f"the judgments do not describe this corpus: {text}; name the corpus that was judged")
    logger.warning("%s; they are left out", text)


def _ranges(low: Longs, high: Longs) -> tuple[Longs, Longs]:
    """The whole numbers of all ranges low to high (excluded): the range that each belongs to, and the number."""
    count = np.maximum(high - low, 0)
    owner = np.repeat(np.arange(len(low)), count)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(count) - count - low, count)
