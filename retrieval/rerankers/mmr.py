"""Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from retrieval.fusers.pairs import min_max
from retrieval.retrievers.tfidf import chunk_vectors
from retrieval.schema import Floats, Queries, Run, make_run
from retrieval.stage import Context

PLACES = 12


@dataclass(frozen=True)
class Mmr:
    """Picks argmax lam * relevance - (1 - lam) * max similarity to what was picked, within the first `pool` chunks.

    Relevance is the score of the ranking, min-max normalised within the pool; similarity is the cosine of TF-IDF
    rows. Chunks below the pool keep their order behind it. `lam=1` reproduces the ranking.
    """

    VERSION: ClassVar[int] = 1
    lam: float = 0.7
    pool: int = 50

    def __post_init__(self) -> None:
        if not 0 <= self.lam <= 1 or self.pool < 1:
            raise ValueError(f"lam={self.lam} must be between 0 and 1 and pool={self.pool} at least 1")

    def rerank(self, ctx: Context, queries: Queries, run: Run) -> Run:
        """The ranking with its head reordered; the trace names the picked chunk that a later one resembles most."""
        if not len(run):
            return run
        vectors = chunk_vectors(ctx)
        head = run.rank <= self.pool
        pool = Run(run.query[head], run.chunk[head], run.score[head], run.rank[head])
        relevance = min_max(pool)
        position = run.rank.astype(np.float64)
        bounds = pool.bounds(len(queries))
        placed = position[head]
        like, similar = np.full(len(pool), -1, dtype=np.int32), np.zeros(len(pool))
        for low, high in zip(bounds.tolist(), bounds[1:].tolist(), strict=False):
            rows = vectors[pool.chunk[low:high]]
            placed[low:high], nearest, similar[low:high] = _places(
                relevance[low:high], (rows @ rows.T).toarray(), self.lam
            )
            like[low:high] = np.where(nearest < 0, -1, pool.chunk[low:high][nearest])
        later = placed > position[head]
        ctx.note("moved down", pool.query[later], pool.chunk[later], like[later], similar[later])
        position[head] = placed
        return make_run(run.query, run.chunk, -position, ctx.depth)


def _places(
    relevance: Floats, similarity: npt.NDArray[np.float64], lam: float
) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
    """The new rank of each candidate, from 1, float64 [n]; equal values keep the input order.

    Also the candidate picked before it to which it is most similar (-1: none), and that similarity.
    """
    places, nearest = np.zeros(len(relevance)), np.zeros(len(relevance))
    like = np.full(len(relevance), -1, dtype=np.int64)
    for place in range(1, len(relevance) + 1):
        value = np.round(lam * relevance - (1 - lam) * nearest, PLACES)
        value[places > 0] = -np.inf
        best = int(np.argmax(value))
        places[best] = place
        closer = (similarity[best] > nearest) & (places == 0)
        nearest[closer], like[closer] = similarity[best][closer], best
    return places, like, nearest
