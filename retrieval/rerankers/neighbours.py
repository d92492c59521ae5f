"""The chunks before and after a hit, placed behind it (sentence-window or parent retrieval)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ingestion.schema import Corpus
from retrieval.schema import Ints, Queries, Run, make_run
from retrieval.stage import Context


@dataclass(frozen=True)
class Neighbours:
    """Walks the ranking and places behind each of its first `hits` chunks the chunks around it in its document.

    They come nearest first, at one distance the earlier one first, up to `window` on either side. What stands higher
    already is not placed again; a neighbour that the ranking has further down moves up, since it would otherwise
    stand below neighbours that match nothing. All else keeps its order. New scores are ranks below 0.
    """

    VERSION: ClassVar[int] = 1
    window: int = 1
    hits: int = 10

    def __post_init__(self) -> None:
        if self.window < 1 or self.hits < 1:
            raise ValueError(f"window={self.window} and hits={self.hits} must be at least 1")

    def rerank(self, ctx: Context, queries: Queries, run: Run) -> Run:
        """The ranking with the neighbours of its first hits; those are noted."""
        if not len(run):
            return run
        around = self._around(ctx)
        rank = run.rank.astype(np.int64)
        head = np.flatnonzero(rank <= self.hits)
        found = around[run.chunk[head]]
        there = found >= 0 if ctx.allowed is None else (found >= 0) & ctx.allowed[found]
        hit, slot = np.nonzero(there)
        # Every place that a chunk could take: its own and those behind its hits; the highest counts
        step = 2 * self.window + 1
        query = np.concatenate([run.query, run.query[head[hit]]])
        chunk = np.concatenate([run.chunk, found[hit, slot]])
        place = np.concatenate([rank * step, rank[head[hit]] * step + slot + 1])
        order = np.lexsort((place, chunk, query))
        highest = order[(np.diff(query[order], prepend=-1) != 0) | (np.diff(chunk[order], prepend=-1) != 0)]
        placed = make_run(query[highest], chunk[highest], -place[highest], ctx.depth)
        self._note(ctx, run, placed, len(queries))
        return placed

    def _around(self, ctx: Context) -> Ints:
        return ctx.artifact(
            "neighbours",
            {"window": self.window, "version": self.VERSION},
            lambda out: np.save(out / "around.npy", chunks_around(ctx.corpus, self.window)),
            lambda folder: np.load(folder / "around.npy", mmap_mode="r"),
        )

    def _note(self, ctx: Context, run: Run, placed: Run, n_queries: int) -> None:
        rank, slot = np.divmod(-placed.score.astype(np.int64), 2 * self.window + 1)
        beside = slot > 0
        query = placed.query[beside]
        hit = run.chunk[run.bounds(n_queries)[query] + rank[beside] - 1]
        ctx.note("neighbour of", query, placed.chunk[beside], other=hit)


def chunks_around(corpus: Corpus, window: int) -> Ints:
    """Rows of the chunks around each one, nearest first, earlier before later: int32 [n_chunks, 2 * window].

    Chunks follow each other by char_start within a document; -1 where there is none.
    """
    order = np.lexsort((corpus.numbers("char_start"), corpus.column("doc_id").astype(str)))
    document = corpus.column("doc_id")[order]
    around = np.full((len(order), 2 * window), -1, dtype=np.int32)
    for distance in range(1, min(window, len(order) - 1) + 1):
        together = document[distance:] == document[:-distance]
        earlier, later = order[:-distance][together], order[distance:][together]
        around[later, 2 * distance - 2] = earlier
        around[earlier, 2 * distance - 1] = later
    return around
