"""Exact inner-product search over vectors, in blocks and with a tie-correct top-k."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from retrieval.schema import Run, make_run

Vectors = npt.NDArray[np.float32]
PLACES = 6  # decimal places of an inner product that count
MARGIN = np.float32(2e-6)  # more than rounding to 6 places can move a score
BLOCK = 2_000_000  # scores held at once


def exact_search(queries: Vectors, chunks: Vectors, depth: int, allowed: npt.NDArray[np.bool_] | None = None) -> Run:
    """Rank all (allowed) chunks for every query by inner product, rounded to 6 places, ties by the smaller row."""
    if allowed is not None:
        rows = np.flatnonzero(allowed)
        found = exact_search(queries, chunks[rows], depth)
        return make_run(found.query, rows[found.chunk], found.score, depth, places=PLACES)
    kept = min(depth, len(chunks))
    step = max(1, BLOCK // max(1, len(chunks)))
    parts = [_top(queries[start : start + step] @ chunks.T, kept, start) for start in range(0, len(queries), step)]
    query, chunk, score = (np.concatenate(column) for column in zip(*parts, strict=True))
    return make_run(query, chunk, score, depth, places=PLACES)


def _top(scores: Vectors, kept: int, first: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Query, chunk and score of every chunk that reaches its query's last kept score; `make_run` breaks the ties."""
    if not kept:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    last = np.partition(scores, scores.shape[1] - kept, axis=1)[:, scores.shape[1] - kept]
    query, chunk = np.nonzero(scores >= (last - MARGIN)[:, None])
    value = np.round(scores[query, chunk].astype(np.float64), PLACES)
    reach = value >= np.round(last.astype(np.float64), PLACES)[query]
    return query[reach] + first, chunk[reach], value[reach]
