"""The floor: a seeded shuffle of the chunks for every query."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from retrieval.schema import Queries, Run, make_run
from retrieval.stage import Context


@dataclass(frozen=True)
class Random:
    """A shuffle that depends on the seed and the query's id, so other queries do not change it."""

    VERSION: ClassVar[int] = 1

    def search(self, ctx: Context, queries: Queries) -> Run:
        """The first `depth` chunks of each shuffle."""
        may = np.arange(len(ctx.corpus)) if ctx.allowed is None else np.flatnonzero(ctx.allowed)
        kept = min(ctx.depth, len(may))
        chunks = [_generator(ctx.seed, qid).permutation(may)[:kept] for qid in queries.qid]
        query = np.repeat(np.arange(len(queries)), kept)
        return make_run(query, np.concatenate([[], *chunks]), np.tile(-np.arange(kept), len(queries)), ctx.depth)


def _generator(seed: int, qid: str) -> np.random.Generator:
    item = int.from_bytes(hashlib.sha256(qid.encode()).digest()[:8], "big")
    return np.random.default_rng([seed, item])
