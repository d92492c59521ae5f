"""Positive pointwise mutual information between terms, from scratch; chunks are compared by what their terms go with.

Counts, weights and the power of the singular values follow Levy, Goldberg and Dagan, "Improving Distributional
Similarity with Lessons Learned from Word Embeddings" (TACL 2015).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array, load_npz, save_npz

from retrieval.analysis import Analysed, Longs, analysed, digest
from retrieval.schema import Floats, Queries, Run, empty_run, make_run
from retrieval.sparse import Postings
from retrieval.stage import Context
from retrieval.vectors import PLACES, Vectors, exact_search

PART = 2_000_000  # tokens whose pairs are counted at once: about .5 GB with a window of 5
BLOCK = 4_096  # chunks whose vectors are made at once
NOTHING = 1e-9  # a PMI, a share of the largest singular value or a length below this is rounding
SMALL = 2_000  # terms up to which all singular vectors are computed
# Beyond that a randomised SVD: 35 s at 61,523 terms (Lanczos: 180 s), where singular value 300 comes out 4 % low.
OVERSAMPLES, ITERATIONS = 100, 4


@dataclass(frozen=True)
class Ppmi:
    """Cosine between IDF-weighted means of term vectors; a term's vector is its PPMI row, or what an SVD makes of it.

    Terms that occur fewer than `min_count` times, and all but the `max_terms` most frequent ones, are taken out
    before windows are laid, as word2vec does, so that a window reaches over them. The window is the `window` tokens
    on either side within the chunk, counted alike. `shift` takes ln(shift) from every PMI (the negative samples of
    word2vec). `dims=None` keeps the rows as they are, for small corpora: a query then weighs thousands of terms.

    A query without a term that has a vector gives an empty ranking, and a chunk without one is not ranked.
    """

    VERSION: ClassVar[int] = 1
    window: int = 5
    min_count: int = 3
    dims: int | None = 300
    shift: float = 1.0
    max_terms: int = 50_000

    def __post_init__(self) -> None:
        whole = {"window": self.window, "min_count": self.min_count, "max_terms": self.max_terms}
        whole |= {} if self.dims is None else {"dims": self.dims}
        for name, value in whole.items():
            if value < 1:
                raise ValueError(f"{name}={value} must be at least 1{' or null' * (name == 'dims')}")
        if not 1 <= self.shift < np.inf:
            raise ValueError(f"shift={self.shift} must be at least 1")

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Rank the chunks for every query that has a vector."""
        corpus = analysed(ctx)
        if not len(corpus.ids):
            return empty_run()
        spec = {"analyser": digest(), "version": self.VERSION, "libraries": _libraries(), **asdict(self)}
        counts = corpus.query_counts(queries.query)
        if self.dims is None:
            rows = ctx.artifact("ppmi_rows", spec, lambda out: self._build_rows(corpus, out), PmiRows.load)
            return rows.search(counts, ctx)
        vectors = ctx.artifact("ppmi", spec, lambda out: self._build_vectors(corpus, out), PmiVectors.load)
        return vectors.search(counts, ctx)

    def matrix(self, corpus: Analysed) -> tuple[Longs, csr_array]:
        """The ids of the terms that count, ascending, and their PPMI, float64 sparse [n_kept, n_kept]."""
        kept = frequent_terms(corpus, self.min_count, self.max_terms)
        number = np.full(len(corpus.vocabulary), -1, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        ids = number[corpus.ids]
        owner = np.repeat(np.arange(len(corpus.offsets) - 1), np.diff(corpus.offsets))
        known = ids >= 0
        return kept, positive_pmi(cooccurrences(ids[known], owner[known], len(kept), self.window), self.shift)

    def _build_vectors(self, corpus: Analysed, folder: Path) -> None:
        kept, matrix = self.matrix(corpus)
        terms = _unit(singular_vectors(matrix, self.dims or 0))
        idf = _idf(corpus, kept)
        chunks = np.zeros((len(corpus.offsets) - 1, terms.shape[1]), dtype=np.float32)
        for part in _blocks(len(chunks)):
            chunks[part] = _means(corpus.counts[part][:, kept], idf, terms)
        rows = np.flatnonzero(chunks.any(axis=1))
        found = PmiVectors(kept, idf, terms.astype(np.float32), rows, chunks[rows])
        for field in fields(found):
            np.save(folder / f"{field.name}.npy", getattr(found, field.name))

    def _build_rows(self, corpus: Analysed, folder: Path) -> None:
        kept, matrix = self.matrix(corpus)
        terms = _unit_rows(matrix)
        idf = _idf(corpus, kept)
        weights = corpus.counts[:, kept] @ diags_array(idf)
        parts = [_lengths(weights[part] @ terms) for part in _blocks(weights.shape[0])]
        Postings.of(_divided(csr_array(weights), np.concatenate(parts))).save(folder)
        save_npz(folder / "terms.npz", terms)
        np.save(folder / "kept.npy", kept)
        np.save(folder / "idf.npy", idf)


@dataclass(frozen=True)
class PmiVectors:
    """Unit vectors: `terms` float32 [n_kept, dims] of the term ids `kept`; `chunks` of the chunks `rows`."""

    kept: Longs
    idf: Floats
    terms: Vectors
    rows: Longs
    chunks: Vectors

    @staticmethod
    def load(folder: Path) -> PmiVectors:
        """Read what `Ppmi` built, memory-mapped."""
        return PmiVectors(*(np.load(folder / f"{field.name}.npy", mmap_mode="r") for field in fields(PmiVectors)))

    def search(self, counts: csr_array, ctx: Context) -> Run:
        """Rank by cosine; counts float64 sparse [n_queries, n_terms]."""
        vectors = _means(counts[:, self.kept], self.idf, self.terms).astype(np.float32)
        asked = np.flatnonzero(vectors.any(axis=1))
        if not len(asked) or not len(self.rows):
            return empty_run()
        allowed = None if ctx.allowed is None else ctx.allowed[self.rows]
        found = exact_search(vectors[asked], self.chunks, ctx.depth, allowed)
        return make_run(asked[found.query], self.rows[found.chunk], found.score, ctx.depth, places=PLACES)


@dataclass(frozen=True)
class PmiRows:
    """The same with PPMI rows. The cosine of query q and chunk c is (q R R' c) / (|qR| |cR|) for unit rows R.

    `postings` holds c / |cR|, as sparse as the chunks themselves; their own PMI rows would be nearly dense.
    """

    kept: Longs
    idf: Floats
    terms: csr_array
    postings: Postings

    @staticmethod
    def load(folder: Path) -> PmiRows:
        """Read what `Ppmi` built."""
        kept, idf = (np.load(folder / f"{name}.npy") for name in ("kept", "idf"))
        return PmiRows(kept, idf, csr_array(load_npz(folder / "terms.npz")), Postings.load(folder))

    def search(self, counts: csr_array, ctx: Context) -> Run:
        """Rank by cosine the chunks whose cosine is not 0; counts float64 sparse [n_queries, n_terms]."""
        rows = _unit_rows(counts[:, self.kept] @ diags_array(self.idf) @ self.terms)
        weights = csr_array(rows @ self.terms.T)
        weights.sort_indices()
        return self.postings.search(weights, ctx.depth, ctx.allowed)


def frequent_terms(corpus: Analysed, min_count: int, max_terms: int) -> Longs:
    """Ids of the `max_terms` terms with the most occurrences (ties: the smaller id), at least `min_count`; sorted."""
    occurrences = np.bincount(corpus.ids, minlength=len(corpus.vocabulary))
    best = np.argsort(-occurrences, kind="stable")[:max_terms]
    return np.sort(best[occurrences[best] >= min_count]).astype(np.int64)


def cooccurrences(ids: Longs, owner: Longs, n_terms: int, window: int) -> csr_array:
    """How often each term stands within `window` tokens of each other in a chunk, int64 sparse [n_terms, n_terms].

    Symmetric: every pair of positions counts once in either direction, so twice on the diagonal.

    Args:
        ids: int64 [n_tokens], terms in text order.
        owner: int64 [n_tokens], the chunk of each token, ascending.
        n_terms: number of term ids.
        window: largest distance.
    """
    total = csr_array((n_terms, n_terms), dtype=np.int64)
    edges = [*np.searchsorted(owner, owner[::PART]).tolist(), len(ids)]  # parts end where a chunk does
    for low, high in pairwise(edges):
        keys, counts = np.unique(_pairs(ids[low:high], owner[low:high], n_terms, window), return_counts=True)
        starts = np.searchsorted(keys, np.arange(n_terms + 1) * n_terms)
        total = total + csr_array((counts, keys % max(1, n_terms), starts), shape=(n_terms, n_terms))
    return csr_array(total + total.T)


def _pairs(ids: Longs, owner: Longs, n_terms: int, window: int) -> Longs:
    """The smaller id * n_terms + the larger, for every pair of tokens at most `window` apart in one chunk."""
    found = [np.zeros(0, dtype=np.int64)]
    for distance in range(1, min(window, len(ids) - 1) + 1):
        together = owner[distance:] == owner[:-distance]
        one, other = ids[:-distance][together], ids[distance:][together]
        found.append(np.minimum(one, other) * n_terms + np.maximum(one, other))
    return np.concatenate(found)


def positive_pmi(counts: csr_array, shift: float = 1.0) -> csr_array:
    """max(0, ln(p(w, c) / (p(w) p(c))) - ln(shift)), float64 sparse [n_terms, n_terms], for symmetric counts."""
    total = np.asarray(counts.sum(axis=1), dtype=np.float64)
    logs = np.log(np.where(total > 0, total, 1.0))
    row = np.repeat(logs, np.diff(counts.indptr))
    value = np.log(counts.data) + np.log(max(1.0, total.sum())) - row - logs[counts.indices] - np.log(shift)
    matrix = csr_array((np.where(value > NOTHING, value, 0.0), counts.indices, counts.indptr), shape=counts.shape)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def singular_vectors(matrix: csr_array, dims: int) -> Floats:
    """U * S ** .5 of the `dims` largest singular values, float64 [n_terms, at most dims]; a row of zeros stays one.

    The power .5 is what Levy et al. recommend over 1. The largest entry of a column is positive. One BLAS thread:
    several may add in another order, and the vectors are to be the same bytes on a second build.
    """
    from sklearn.utils.extmath import randomized_svd
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        if matrix.shape[0] <= SMALL:  # symmetric: singular values are the absolute eigenvalues
            values, vectors = np.linalg.eigh(matrix.toarray())
            order = np.argsort(-np.abs(values), kind="stable")[:dims]
            values, vectors = np.abs(values[order]), vectors[:, order]
        else:
            vectors, values, _ = randomized_svd(
                matrix.astype(np.float32), dims, n_oversamples=OVERSAMPLES, n_iter=ITERATIONS, random_state=0
            )
    strength = np.where(values > NOTHING * np.max(values, initial=0.0), values, 0.0) ** 0.5
    largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(len(values))] if len(vectors) else np.ones(0)
    scaled = vectors.astype(np.float64) * (np.sign(largest) * strength)
    scaled[np.diff(matrix.indptr) == 0] = 0.0
    return np.asarray(scaled)


@lru_cache(maxsize=1)
def _libraries() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}


def _idf(corpus: Analysed, terms: Longs) -> Floats:
    """BM25's ln(1 + (N - n + .5) / (n + .5)) of these terms."""
    n_chunks, frequency = len(corpus.offsets) - 1, corpus.frequency[terms]
    return np.asarray(np.log1p((n_chunks - frequency + 0.5) / (frequency + 0.5)))


def _means(counts: csr_array, idf: Floats, terms: npt.NDArray[Any]) -> Floats:
    """IDF-weighted means of term vectors, each of length 1, or 0 where there is none, float64 [n_rows, dims]."""
    used = np.unique(counts.indices)
    weights = counts[:, used] @ diags_array(idf[used])
    total = np.asarray(weights.sum(axis=1)).reshape(-1, 1)
    return _unit((weights @ terms[used].astype(np.float64)) / np.where(total > 0, total, 1.0))


def _unit(rows: Floats) -> Floats:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.where(length > NOTHING, rows / np.where(length > NOTHING, length, 1.0), 0.0))


def _unit_rows(matrix: Any) -> csr_array:
    return _divided(csr_array(matrix), _lengths(matrix))


def _lengths(matrix: Any) -> Floats:
    """The Euclidean length of every sparse row."""
    return np.asarray(np.sqrt(csr_array(matrix).power(2).sum(axis=1))).reshape(-1)


def _divided(matrix: csr_array, lengths: Floats) -> csr_array:
    """Every row divided by its length; without one it is left empty."""
    scale = np.where(lengths > NOTHING, 1 / np.where(lengths > NOTHING, lengths, 1.0), 0.0)
    rows = csr_array(diags_array(scale) @ matrix)
    rows.eliminate_zeros()
    return rows


def _blocks(n_rows: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, n_rows, BLOCK))
