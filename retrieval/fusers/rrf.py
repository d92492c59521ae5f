"""Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from retrieval.errors import FusionError
from retrieval.fusers.pairs import add_up
from retrieval.schema import Queries, Run
from retrieval.stage import Context


@dataclass(frozen=True)
class Rrf:
    """Score sum_i w_i / (k + rank_i); a list in which a chunk is absent adds nothing. Weights by branch name."""

    VERSION: ClassVar[int] = 1
    k: float = 60.0
    weights: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ValueError(f"k={self.k}: must be at least 0")

    def fuse(self, ctx: Context, queries: Queries, runs: Mapping[str, Run]) -> Run:
        """Merge rankings by rank alone.

        Raises:
            FusionError: a weight names no branch.
        """
        weights = dict(self.weights)
        unknown = sorted(weights.keys() - runs.keys())
        if unknown:
            raise FusionError(f"rrf.weights.{unknown[0]}: no such branch; there are {', '.join(sorted(runs))}")
        parts = [(run, weights.get(name, 1.0) / (self.k + run.rank.astype(np.float64))) for name, run in runs.items()]
        return add_up(parts, ctx.depth)
