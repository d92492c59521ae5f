"""Sparse inner products with a tie-correct top-k: the one kernel behind BM25, TF-IDF and other weighted postings."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array

from retrieval.schema import Floats, Ints, Run, make_run

Longs = npt.NDArray[np.int64]
# numba's OpenMP threads and torch's fight over the cores: a query took 850 ms to encode instead of 30. Its workqueue
# does not spin, but it aborts the process when two threads enter it at once: hence the lock.
nb.config.THREADING_LAYER = "workqueue"  # type: ignore[attr-defined]
ONE_AT_A_TIME = threading.Lock()
SCALE = 1e12  # make_run counts 12 decimal places, so the cut at depth does too


@dataclass(frozen=True)
class Postings:
    """Weighted postings by term: term t has chunks rows[indptr[t]:indptr[t + 1]], ascending, and their weights.

    `indptr` int64 [n_terms + 1], `rows` int32 [nnz], `weights` float64 [nnz].
    """

    indptr: Longs
    rows: Ints
    weights: Floats
    n_chunks: int

    @cached_property
    def positive(self) -> bool:
        """Whether every weight is above 0, so that a score above 0 means a shared term and nothing else does."""
        return bool((self.weights > 0).all())

    @staticmethod
    def of(matrix: Any) -> Postings:
        """The postings of a sparse matrix [n_chunks, n_terms]."""
        columns = csc_array(matrix)
        columns.sort_indices()
        return Postings(
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.int32),
            columns.data.astype(np.float64),
            int(columns.shape[0]),
        )

    def save(self, folder: Path) -> None:
        """Write the arrays into an artifact folder."""
        for name in ("indptr", "rows", "weights"):
            np.save(folder / f"{name}.npy", getattr(self, name))
        np.save(folder / "n_chunks.npy", np.int64(self.n_chunks))

    @staticmethod
    def load(folder: Path) -> Postings:
        """Read what `save` wrote, memory-mapped."""
        indptr, rows, weights = (
            np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("indptr", "rows", "weights")
        )
        return Postings(indptr, rows, weights, int(np.load(folder / "n_chunks.npy")))

    def search(self, queries: csr_array, depth: int, allowed: npt.NDArray[np.bool_] | None = None) -> Run:
        """Rank the chunks that share a term with a query by the inner product of their weights.

        Products are added in the order of term ids, so a score depends on nothing but the two vectors.

        Args:
            queries: sparse float64 [n_queries, n_terms], columns of a row ascending.
            depth: chunks kept per query.
            allowed: bool [n_chunks], which chunks may be ranked; all of them by default.
        """
        n_queries = int(queries.shape[0])
        chunk = np.empty((n_queries, depth), dtype=np.int32)
        score = np.empty((n_queries, depth), dtype=np.float64)
        found = np.zeros(n_queries, dtype=np.int64)
        starts, terms, factors = (queries.indptr.astype(np.int64), queries.indices.astype(np.int64), queries.data)
        positive = self.positive and bool((factors > 0).all())
        may = np.ones(self.n_chunks, dtype=np.bool_) if allowed is None else allowed
        postings = (self.indptr, self.rows, self.weights, may, positive)
        if n_queries == 1:  # waking threads takes longer than the search
            found[0] = _one(*postings, terms, factors, chunk[0], score[0])
        else:
            with ONE_AT_A_TIME:
                _search(*postings, starts, terms, factors, chunk, score, found)
        kept = np.arange(depth) < found[:, None]
        return make_run(np.repeat(np.arange(n_queries), found), chunk[kept], score[kept], depth)


@nb.njit(cache=True, parallel=True)
def _search(indptr, rows, weights, allowed, positive, starts, terms, factors, chunk, score, found):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Fill chunk and score [n_queries, depth] with each query's best chunks, best first, and count them."""
    for query in nb.prange(len(starts) - 1):
        part = slice(starts[query], starts[query + 1])
        found[query] = _one(
            indptr, rows, weights, allowed, positive, terms[part], factors[part], chunk[query], score[query]
        )


@nb.njit(cache=True)
def _one(indptr, rows, weights, allowed, positive, terms, factors, chunk, score):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The same for one query: its best chunks in order; returns the count."""
    n_chunks = len(allowed)
    total = np.zeros(n_chunks)
    for at in range(len(terms)):
        factor = factors[at]
        for posting in range(indptr[terms[at]], indptr[terms[at] + 1]):
            total[rows[posting]] += factor * weights[posting]
    if not positive:  # a sum of 0 or less may belong to a chunk that shares a term
        seen = np.zeros(n_chunks, dtype=np.bool_)
        for at in range(len(terms)):
            seen[rows[indptr[terms[at]] : indptr[terms[at] + 1]]] = True
        total[~seen] = -np.inf
    size, floor = 0, 0.0 if positive else -np.inf
    for row in range(n_chunks):
        if total[row] > floor and allowed[row]:
            size = _push(chunk, score, size, row, np.rint(total[row] * SCALE) / SCALE)
            if size == len(chunk):
                floor = score[0] - 1 / SCALE
    for last in range(size - 1, 0, -1):  # the worst one goes to the end, and so on
        value, row = score[last], chunk[last]
        score[last], chunk[last] = score[0], chunk[0]
        _sink(chunk, score, last, row, value)
    return size


@nb.njit(cache=True)
def _push(chunk, score, size, row, value):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Offer a chunk to a heap whose root is the worst one kept; rows come ascending, so a tie never enters."""
    if size == len(chunk):
        if value > score[0]:
            _sink(chunk, score, size, row, value)
        return size
    at = size
    while at > 0 and score[(at - 1) // 2] >= value:
        score[at], chunk[at] = score[(at - 1) // 2], chunk[(at - 1) // 2]
        at = (at - 1) // 2
    score[at], chunk[at] = value, row
    return size + 1


@nb.njit(cache=True)
def _sink(chunk, score, size, row, value):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Put a chunk in the place of the root and restore the heap: lower score first, then the larger row."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            score[right] < score[child] or (score[right] == score[child] and chunk[right] > chunk[child])
        ):
            child = right
        if score[child] > value or (score[child] == value and chunk[child] < row):
            break
        score[at], chunk[at] = score[child], chunk[child]
        at = child
    score[at], chunk[at] = value, row
