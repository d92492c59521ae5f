"""The pieces of relevant evidence that rankings find or lose, and what it is called when no list ever held one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.judging import Judged
from evaluation.locate import Library
from evaluation.pairs import look_up, pairs
from evaluation.qrels import Chunks, chunk_documents, holding, uncovered
from evaluation.schema import Grades8, Longs, Spans
from ingestion.schema import Corpus
from retrieval.schema import Ints, Run

EXTRACTION, CHUNKING, CANDIDATES = "extraction", "chunking", "candidates"
NEVER = np.iinfo(np.int32).max  # rank of what a list does not hold
Names = npt.NDArray[np.object_]


@dataclass(frozen=True)
class Pieces:
    """Relevant evidence, one entry per piece, sorted by query and number: columns [n_pieces].

    A piece is a class of `Qrels.group` (chunks that show the same span), or a relevant span or document that no chunk
    shows. `query` row of Queries; `number` within its query: the class, then what no chunk shows; `grade` the best
    of the class; `unranked`: `extraction`, `chunking` or `candidates`, the loss if no list holds the piece.
    `pair` int64 [n_pairs] ascending, `piece` int64 [n_pairs]: query and chunk (see `pairs`) and whose they are.
    `hidden` int64: pairs that are left out of rankings (query by example).
    """

    query: Ints
    number: Ints
    grade: Grades8
    unranked: Names
    pair: Longs
    piece: Longs
    hidden: Longs

    def __len__(self) -> int:
        return len(self.query)

    def ranks(self, run: Run) -> Ints:
        """Rank of each piece's first chunk in a run without what is hidden, int32 [n_pieces]; `NEVER`: not in it."""
        asked, rank = pairs(run.query, run.chunk), run.rank
        if len(self.hidden):
            gone = look_up(self.hidden, asked)[0]
            asked, query = np.delete(asked, gone), np.delete(run.query, gone)
            rank = (np.arange(len(query)) - np.searchsorted(query, query) + 1).astype(np.int32)
        best = np.full(len(self), NEVER, dtype=np.int32)
        found, row = look_up(self.pair, asked)
        np.minimum.at(best, self.piece[row], rank[found])
        return best


def pieces_of(judged: Judged, min_coverage: float = 0.5) -> Pieces:
    """The pieces of a benchmark over a corpus.

    A document that is left out of a query's rankings (query by example) is no evidence for that query: nothing can
    find or lose it.

    Args:
        judged: the benchmark over its corpus.
        min_coverage: share of a span that a chunk must hold, as the qrels were made with.
    """
    qrels, hidden = judged.qrels, _hidden(judged)
    relevant = np.flatnonzero((qrels.grade > 0) & ~np.isin(pairs(qrels.query, qrels.chunk), hidden))
    query, chunk = qrels.query[relevant], qrels.chunk[relevant]
    classes, piece = np.unique(pairs(query, qrels.group[relevant]), return_inverse=True)
    grade = np.zeros(len(classes), dtype=np.int8)
    np.maximum.at(grade, piece, qrels.grade[relevant])
    missing = _missing(judged)
    of_query = np.asarray([row for row, _ in missing], dtype=np.int64)
    n_classes = np.zeros(len(judged.benchmark.queries), dtype=np.int64)
    np.maximum.at(n_classes, qrels.query, qrels.group + 1)
    place = np.arange(len(missing)) - np.searchsorted(of_query, of_query)
    numbers = np.concatenate([classes, pairs(of_query, n_classes[of_query] + place)])
    order = np.argsort(numbers)
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    loss = np.concatenate([_unranked(judged, query, chunk, piece, len(classes), min_coverage), _named(len(missing))])
    return Pieces(
        query=(numbers[order] >> 32).astype(np.int32),
        number=(numbers[order] & 0xFFFFFFFF).astype(np.int32),
        grade=np.concatenate([grade, np.asarray([found for _, found in missing], dtype=np.int8)])[order],
        unranked=loss[order],
        pair=pairs(query, chunk),
        piece=position[piece],
        hidden=hidden,
    )


def _unranked(judged: Judged, query: Ints, chunk: Ints, piece: Longs, n: int, min_coverage: float) -> Names:
    """What each of n classes lacks where no list holds it, from its pairs of query and chunk: object [n]."""
    loss = _named(n)
    corpus = judged.corpus
    indexed = np.ones(len(chunk), dtype=np.bool_) if corpus is None else chunk < len(corpus)
    loss[piece[indexed]] = CHUNKING
    held = indexed
    if corpus is not None and judged.spans is not None:
        held = np.isin(pairs(query, chunk), whole(judged.spans, corpus, min_coverage))
    loss[piece[held]] = CANDIDATES
    return loss


def _named(n: int) -> Names:
    """Evidence that no chunk shows, object [n]."""
    return np.full(n, EXTRACTION, dtype=object)


def whole(spans: Spans, corpus: Corpus, min_coverage: float = 0.5) -> Longs:
    """Pairs of query and chunk in which the chunk holds enough of a relevant span by itself, int64, ascending."""
    chunks, base = Chunks.of(corpus, spans)
    span, chunk, _, enough = holding(spans, chunks, base, min_coverage)
    return np.unique(pairs(spans.query[span[enough]], chunks.row[chunk[enough]]))


def _missing(judged: Judged) -> list[tuple[int, int]]:
    """Query row and grade of relevant spans and documents that no chunk shows, by query; the same one counts once."""
    row_of = {qid: row for row, qid in enumerate(judged.benchmark.queries.qid)}
    best: dict[tuple[int, object], int] = {}
    for qid, piece, grade in (*_missing_spans(judged), *_missing_documents(judged)):
        best[row_of[qid], piece] = max(best.get((row_of[qid], piece), 0), grade)
    relevant = [(query, grade) for (query, _), grade in best.items() if grade > 0]
    return sorted(relevant, key=lambda piece: piece[0])  # stable: within a query as they were found


def _missing_spans(judged: Judged) -> Iterator[tuple[str, object, int]]:
    """Judged spans of text that is not indexed, then those that are not in the text: qid, which one, grade."""
    spans, corpus = judged.spans, judged.corpus
    if spans is None or corpus is None:
        return
    for row in uncovered(spans, corpus).tolist():
        place = (int(spans.doc[row]), int(spans.start[row]), int(spans.end[row]))
        yield judged.benchmark.queries.qid[spans.query[row]], place, int(spans.grade[row])
    for orphan in spans.orphans:
        yield orphan.qid, (orphan.doc, orphan.page, orphan.quote), orphan.grade


def _missing_documents(judged: Judged) -> Iterator[tuple[str, object, int]]:
    """Judged documents that are no row of the qrels: the corpus lacks them, or nothing of them is indexed."""
    benchmark, corpus = judged.benchmark, judged.corpus
    ids = set(judged.ids) if benchmark.documents else set()
    unknown = [row for row in benchmark.documents if row.doc_id not in ids]
    if corpus is None or not unknown:
        return
    library, indexed = Library(corpus), set(chunk_documents(corpus).tolist())
    for row in unknown:
        own = row.doc_id in benchmark.exclude.get(row.qid, frozenset())
        if not own and library.row(row.doc_id) not in indexed:
            yield row.qid, row.doc_id, row.grade


def _hidden(judged: Judged) -> Longs:
    """Pairs of query and chunk that `without_excluded` takes out of rankings, int64, ascending."""
    exclude, corpus = judged.benchmark.exclude, judged.corpus
    if not exclude:
        return np.zeros(0, dtype=np.int64)
    wanted = frozenset().union(*exclude.values())
    rows: dict[str, list[int]] = {}
    for row, doc in enumerate(judged.ids if corpus is None else corpus.column("doc_id")):
        if doc in wanted:
            rows.setdefault(doc, []).append(row)
    own = [
        (query, row)
        for query, qid in enumerate(judged.benchmark.queries.qid)
        for doc in exclude.get(qid, ())
        for row in rows.get(doc, ())
    ]
    both = np.asarray(own, dtype=np.int64).reshape(-1, 2)
    return np.unique(pairs(both[:, 0], both[:, 1]))
