"""Linear fusion of two branches named `sparse` and `dense`, each scaled to 0..1 within the query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from retrieval.errors import FusionError
from retrieval.fusers.pairs import add_up, min_max
from retrieval.schema import Floats, Queries, Run
from retrieval.stage import Context

BRANCHES = ("dense", "sparse")


@dataclass(frozen=True)
class Linear:
    """(1 - alpha) * minmax(sparse) + alpha * minmax(dense); what a branch did not retrieve counts 0 there."""

    VERSION: ClassVar[int] = 1
    alpha: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha={self.alpha}: must be between 0 and 1")

    def fuse(self, ctx: Context, queries: Queries, runs: Mapping[str, Run]) -> Run:
        """Merge the two rankings with one weight for all queries."""
        return blend(runs, np.full(len(queries), self.alpha), ctx.depth)


def blend(runs: Mapping[str, Run], alpha: Floats, depth: int) -> Run:
    """Merge `sparse` and `dense` with a weight per query, alpha float64 [n_queries].

    Raises:
        FusionError: the branches are not exactly `sparse` and `dense`.
    """
    if tuple(sorted(runs)) != BRANCHES:
        raise FusionError(f"linear fusion needs branches named sparse and dense; there are {', '.join(sorted(runs))}")
    sparse, dense = runs["sparse"], runs["dense"]
    parts = [
        (dense, alpha[dense.query] * min_max(dense)),
        (sparse, (1 - alpha[sparse.query]) * min_max(sparse)),
    ]
    return add_up(parts, depth)
