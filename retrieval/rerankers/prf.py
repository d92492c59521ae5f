"""Pseudo-relevance feedback with RM3 over BM25.

RM1 is from Lavrenko and Croft, "Relevance-Based Language Models" (SIGIR 2001); RM3, its interpolation with the query,
from Abdul-Jaleel et al., "UMass at TREC 2004: Novelty and HARD".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from retrieval.analysis import Analysed, analysed
from retrieval.retrievers.bm25 import Bm25
from retrieval.schema import Ints, Queries, Run, empty_run
from retrieval.stage import Context

PLACES = 12  # as in make_run: sums of the same numbers in another order are a tie
ROUNDING = 1e-9  # max_share * n_chunks may fall short of the whole number that it stands for


@dataclass(frozen=True)
class Prf:
    """Takes the first `docs` chunks of a ranking for relevant, adds their best `terms` to the query, searches anew.

    RM1 is p(w|R) = sum_d p(w|d) p(d|q), where p(w|d) is tf / length and p(d|q) the score of the ranking divided by
    the sum over these chunks, as in Anserini. Its best `terms` (ties: the smaller term id) are scaled to sum 1. The
    query itself, tf / length over known terms, keeps the share `weight`. The sum of both is searched with BM25.

    `max_share` < 1 adds no term that more than this share of all chunks holds. Anserini does so at .1, for newswire;
    in collections on one subject it takes their own words out: nDCG@10 fell on 6 of 8 collections against 1, by .015
    on CACM and .027 on CSFCube. Where one of the first scores is 0 or less (ranks, logits), scores cannot be shares:
    all these chunks then count alike, and a fact gives the number of such queries.
    """

    VERSION: ClassVar[int] = 1
    docs: int = 10
    terms: int = 20
    weight: float = 0.5
    max_share: float = 1.0
    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        if self.docs < 1 or self.terms < 1:
            raise ValueError(f"docs={self.docs} and terms={self.terms} must be at least 1")
        if not (0 <= self.weight <= 1 and 0 <= self.max_share <= 1):
            raise ValueError(f"weight={self.weight} and max_share={self.max_share} must be between 0 and 1")
        Bm25(self.k1, self.b)

    def rerank(self, ctx: Context, queries: Queries, run: Run) -> Run:
        """The ranking of the expanded queries; a query without a ranking stays without."""
        if not len(run):
            return empty_run()
        ctx.fact("queries whose feedback counts alike", len(_alike(run, self.docs)), of=len(np.unique(run.query)))
        expanded = self.expand(ctx, queries, run)
        return Bm25(self.k1, self.b).postings(ctx).search(expanded, ctx.depth, ctx.allowed)

    def expand(self, ctx: Context, queries: Queries, run: Run) -> csr_array:
        """The weights of the expanded queries, float64 sparse [n_queries, n_terms]; a row sums to 1.

        It sums to less where no term is known or none is added, and to 0 without a ranking.
        """
        corpus = analysed(ctx)
        ranked = np.isin(np.arange(len(queries)), run.query).astype(np.float64)
        asked = diags_array(ranked) @ _shares(corpus.query_counts(queries.query))
        added = _shares(self._best(self.relevance(corpus, run, len(queries)), corpus))
        expanded = csr_array(self.weight * asked + (1 - self.weight) * added)
        expanded.eliminate_zeros()
        expanded.sort_indices()
        return expanded

    def relevance(self, corpus: Analysed, run: Run, n_queries: int) -> csr_array:
        """RM1, p(w|R) of every term, float64 sparse [n_queries, n_terms]."""
        head = run.rank <= self.docs
        query, chunk = run.query[head], run.chunk[head]
        score = np.where(np.isin(query, _alike(run, self.docs)), 1.0, run.score[head])
        given = csr_array((score, (query, np.arange(len(query)))), shape=(n_queries, len(query)))
        return csr_array(_shares(given) @ _shares(corpus.counts[chunk]))

    def _best(self, relevance: csr_array, corpus: Analysed) -> csr_array:
        """The `terms` largest entries of every row among terms that are not too common."""
        query = np.repeat(np.arange(relevance.shape[0]), np.diff(relevance.indptr))
        limit = self.max_share * (len(corpus.offsets) - 1) + ROUNDING
        rare = corpus.frequency[relevance.indices] <= limit
        query, term, value = query[rare], relevance.indices[rare], relevance.data[rare]
        order = np.lexsort((term, -np.round(value, PLACES), query))
        starts = np.searchsorted(query[order], query[order])
        best = order[np.arange(len(order)) - starts < self.terms]
        return csr_array((value[best], (query[best], term[best])), shape=relevance.shape)


def _alike(run: Run, docs: int) -> Ints:
    """Queries with a score of 0 or less among their first `docs`, int32, ascending."""
    return np.unique(run.query[(run.rank <= docs) & (run.score <= 0)])


def _shares(matrix: Any) -> csr_array:
    """Every row divided by its sum; an empty one stays empty."""
    total = np.asarray(matrix.sum(axis=1), dtype=np.float64).reshape(-1)
    return csr_array(diags_array(1 / np.where(total > 0, total, 1.0)) @ matrix)
