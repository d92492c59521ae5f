"""Queries and Run, the two tables that stages exchange, and `make_run`: the only place that ranks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from retrieval.errors import RetrievalError, ScoringError

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

RUN = pa.schema(
    [("query", pa.int32()), ("chunk", pa.int32()), ("score", pa.float64()), ("rank", pa.int32())],
)


@dataclass(frozen=True)
class Queries:
    """The questions of a benchmark as columns of equal length, sorted by qid.

    Build it with `Queries.of`. `cluster` is the source document: what is resampled and flipped together.
    """

    qid: tuple[str, ...]
    query: tuple[str, ...]
    kind: tuple[str, ...]
    split: tuple[str, ...]
    cluster: tuple[str, ...]

    @staticmethod
    def of(
        qid: Sequence[str],
        query: Sequence[str],
        kind: Sequence[str] | None = None,
        split: Sequence[str] | None = None,
        cluster: Sequence[str] | None = None,
    ) -> Queries:
        """Check and sort the columns. Without a split all is `test`; a query without a cluster is its own.

        Raises:
            RetrievalError: columns differ in length, a qid is empty or stands twice.
        """
        n = len(qid)
        columns = [qid, query, kind or [""] * n, split or ["test"] * n, cluster or [""] * n]
        if any(len(column) != n for column in columns):
            raise RetrievalError(f"query columns differ in length: {[len(column) for column in columns]}")
        rows = sorted(zip(*columns, strict=True), key=lambda row: row[0])
        for before, after in pairwise(rows):
            if before[0] == after[0]:
                raise RetrievalError(f"query id {after[0]!r} stands twice; ids must be unique")
        if any(not row[0] for row in rows):
            raise RetrievalError("a query has an empty id; give every query a qid")
        rows = [(*row[:4], row[4] or row[0]) for row in rows]
        return Queries(*(tuple(row[i] for row in rows) for i in range(5)))

    def __len__(self) -> int:
        return len(self.qid)

    def take(self, rows: Sequence[int]) -> Queries:
        """The queries of these rows, in that order."""
        columns = (self.qid, self.query, self.kind, self.split, self.cluster)
        return Queries(*(tuple(column[row] for row in rows) for column in columns))

    @cached_property
    def fingerprint(self) -> str:
        """Sha256 (hex) of ids and texts: what a ranking depends on."""
        parts = [part for pair in zip(self.qid, self.query, strict=True) for part in pair]
        lengths = np.asarray([len(part) for part in parts], dtype=np.int64).tobytes()
        return hashlib.sha256(lengths + "".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Run:
    """Rankings of all queries: rows sorted by query and rank. Made by `make_run` only.

    `query` int32 (row of Queries), `chunk` int32 (row of the chunk table), `score` float64 (its meaning is private
    to the stage that made it), `rank` int32 from 1.
    """

    query: Ints
    chunk: Ints
    score: Floats
    rank: Ints

    def __len__(self) -> int:
        return len(self.query)

    def bounds(self, n_queries: int) -> npt.NDArray[np.int64]:
        """Int64 [n_queries + 1]: rows bounds[q] to bounds[q + 1] belong to query q."""
        return np.searchsorted(self.query, np.arange(n_queries + 1)).astype(np.int64)

    def only(self, row: int) -> Run:
        """The ranking of one query, renumbered as query 0."""
        low, high = np.searchsorted(self.query, [row, row + 1])
        part = slice(int(low), int(high))
        return Run(np.zeros(int(high - low), np.int32), self.chunk[part], self.score[part], self.rank[part])

    def of_queries(self, rows: Sequence[int]) -> Run:
        """The same rankings for other query rows: what was query i belongs to query rows[i], rows ascending."""
        return Run(np.asarray(rows, dtype=np.int32)[self.query], self.chunk, self.score, self.rank)

    @cached_property
    def fingerprint(self) -> str:
        """Sha256 (hex) of queries, chunks and ranks: equal for identical rankings, whatever the scores."""
        digest = hashlib.sha256()
        for column in (self.query, self.chunk, self.rank):
            digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        """Write as Parquet."""
        pq.write_table(pa.table([self.query, self.chunk, self.score, self.rank], schema=RUN), path)

    @staticmethod
    def load(path: Path) -> Run:
        """Read what `save` wrote."""
        table = pq.read_table(path, schema=RUN)
        return Run(*(table[name].to_numpy() for name in RUN.names))


def make_run(query: npt.ArrayLike, chunk: npt.ArrayLike, score: npt.ArrayLike, depth: int, places: int = 12) -> Run:
    """Rank scored chunks: higher score first, then the smaller row (tables are sorted by chunk_id).

    Args:
        query: int [n], row of the query table.
        chunk: int [n], row of the chunk table.
        score: float [n].
        depth: how many chunks a query keeps.
        places: decimal places that count. 12 makes `a + b + c` and `c + b + a` a tie; dense scores and logits use 6.

    Raises:
        ScoringError: a score is NaN or infinite, or a query has a chunk twice.
    """
    queries = np.asarray(query, dtype=np.int32)
    chunks = np.asarray(chunk, dtype=np.int32)
    scores: Floats = np.asarray(np.round(np.asarray(score, dtype=np.float64), places) + 0.0)  # + 0.0: no -0.0
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise ScoringError(f"score {scores[bad[0]]}", int(queries[bad[0]]), int(chunks[bad[0]]))
    if not _in_order(queries, chunks, scores):
        order = np.lexsort((chunks, -scores, queries))
        queries, chunks, scores = queries[order], chunks[order], scores[order]
    _refuse_duplicates(queries, chunks)
    place = np.arange(len(queries))
    starts = np.maximum.accumulate(np.where(np.diff(queries, prepend=-1) != 0, place, 0))
    ranks = (place - starts + 1).astype(np.int32)
    keep = ranks <= depth
    return Run(queries[keep], chunks[keep], scores[keep], ranks[keep])


def empty_run() -> Run:
    """A run in which no query found anything."""
    return make_run([], [], [], depth=1)


def _in_order(queries: Ints, chunks: Ints, scores: Floats) -> bool:
    """Whether the rows stand as `make_run` would sort them, which is quicker to see than to do again."""
    same_query, fall = queries[1:] == queries[:-1], scores[1:] - scores[:-1]
    right = (fall < 0) | ((fall == 0) & (chunks[1:] > chunks[:-1]))
    return bool(((queries[1:] > queries[:-1]) | (same_query & right)).all())


def _refuse_duplicates(queries: Ints, chunks: Ints) -> None:
    pairs = queries.astype(np.int64) << 32 | chunks.astype(np.int64)
    pairs.sort()
    twice = np.flatnonzero(pairs[1:] == pairs[:-1])
    if len(twice):
        pair = int(pairs[twice[0]])
        raise ScoringError("a chunk stands twice in a ranking", pair >> 32, pair & 0xFFFFFFFF)
