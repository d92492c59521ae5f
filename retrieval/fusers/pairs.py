"""What fusers share: scores of equal (query, chunk) pairs added up, and min-max per query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from retrieval.schema import Floats, Run, make_run


def add_up(parts: Sequence[tuple[Run, Floats]], depth: int) -> Run:
    """The union of rankings; a chunk's score is the sum of what each part gives it, in the order of the parts."""
    query = np.concatenate([np.zeros(0, np.int64), *(run.query for run, _ in parts)]).astype(np.int64)
    chunk = np.concatenate([np.zeros(0, np.int64), *(run.chunk for run, _ in parts)]).astype(np.int64)
    score = np.concatenate([np.zeros(0), *(given for _, given in parts)])
    pairs, place = np.unique(query << 32 | chunk, return_inverse=True)
    total = np.bincount(place.reshape(-1), weights=score, minlength=len(pairs))
    return make_run(pairs >> 32, pairs & 0xFFFFFFFF, total, depth)


def min_max(run: Run) -> Floats:
    """Scores scaled to 0..1 within each query; a list of equal scores, so also a single hit, counts 1 throughout."""
    if not len(run):
        return np.zeros(0)
    starts = np.flatnonzero(np.diff(run.query, prepend=-1))
    place = np.cumsum(np.diff(run.query, prepend=-1) != 0) - 1
    low, high = np.minimum.reduceat(run.score, starts)[place], np.maximum.reduceat(run.score, starts)[place]
    spread = high - low
    return np.where(spread > 0, (run.score - low) / np.where(spread > 0, spread, 1.0), 1.0)
