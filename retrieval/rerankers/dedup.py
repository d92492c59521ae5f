"""Near-duplicates out of a ranking: overlapping neighbours of one document, and equal texts anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array, load_npz, save_npz

from retrieval.analysis import analysed, digest
from retrieval.schema import Queries, Run, make_run
from retrieval.stage import Context

ROUNDING = 1e-9  # threshold * union may exceed the whole number that it stands for


@dataclass(frozen=True)
class Dedup:
    """Walks the ranking and drops a chunk that repeats one already kept.

    It repeats one if their term sets have a Jaccard similarity of at least `threshold` and they stand at most
    `window` chunks apart in the same document, or if their texts are equal, wherever they stand.
    """

    VERSION: ClassVar[int] = 2
    threshold: float = 0.6
    window: int = 2

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1 or self.window < 0:
            raise ValueError(f"threshold={self.threshold} must be in (0, 1] and window={self.window} at least 0")

    def rerank(self, ctx: Context, queries: Queries, run: Run) -> Run:
        """The ranking without repeats; scores stay. The trace names the chunk that each dropped one repeats."""
        if not len(run):
            return run
        spec = {"analyser": digest(), "threshold": self.threshold, "window": self.window, "version": self.VERSION}
        repeats = ctx.artifact("repeats", spec, lambda out: self._build(ctx, out), Repeats.load)
        bounds = run.bounds(len(queries))
        first = np.full(len(run), -1, dtype=np.int32)
        for low, high in zip(bounds.tolist(), bounds[1:].tolist(), strict=False):
            first[low:high] = repeats.walk(run.chunk[low:high].tolist())
        keep = first < 0
        ctx.note("repeats", run.query[~keep], run.chunk[~keep], other=first[~keep])
        return make_run(run.query[keep], run.chunk[keep], run.score[keep], ctx.depth)

    def _build(self, ctx: Context, folder: Path) -> None:
        save_npz(folder / "alike.npz", csr_array(near_pairs(ctx, self.threshold, self.window)))
        np.save(folder / "same.npy", equal_texts(ctx.corpus.texts))


@dataclass(frozen=True)
class Repeats:
    """Which chunks repeat which: neighbours that are alike (sparse rows), and the first chunk of each text."""

    indptr: list[int]
    indices: list[int]
    same: list[int]

    @staticmethod
    def load(folder: Path) -> Repeats:
        """Read what `Dedup` built."""
        matrix = load_npz(folder / "alike.npz")
        return Repeats(matrix.indptr.tolist(), matrix.indices.tolist(), np.load(folder / "same.npy").tolist())

    def walk(self, chunks: list[int]) -> list[int]:
        """For every chunk of a ranking the kept one that it repeats, by its text or as its like; -1: it stays."""
        kept: set[int] = set()
        texts: dict[int, int] = {}
        repeated = []
        for chunk in chunks:
            likes = self.indices[self.indptr[chunk] : self.indptr[chunk + 1]]
            other = texts.get(self.same[chunk], -1)
            if other < 0:
                other = next((like for like in likes if like in kept), -1)
            repeated.append(other)
            if other < 0:
                kept.add(chunk)
                texts[self.same[chunk]] = chunk
        return repeated


def near_pairs(ctx: Context, threshold: float, window: int) -> Any:
    """Symmetric 0/1 matrix [n_chunks, n_chunks]: neighbours of one document whose term sets are alike."""
    order = np.lexsort((ctx.corpus.numbers("char_start"), ctx.corpus.column("doc_id").astype(str)))
    document = ctx.corpus.column("doc_id")[order]
    terms = (analysed(ctx).counts > 0).astype(np.int32)[order]
    size = np.asarray(terms.sum(axis=1)).reshape(-1)
    n_chunks = len(order)
    found: list[npt.NDArray[np.int64]] = [np.zeros((2, 0), dtype=np.int64)]
    for step in range(1, min(window, n_chunks - 1) + 1):
        common = np.asarray(terms[:-step].multiply(terms[step:]).sum(axis=1)).reshape(-1)
        union = size[:-step] + size[step:] - common
        alike = (document[:-step] == document[step:]) & (union > 0) & (common >= threshold * union - ROUNDING)
        first = np.flatnonzero(alike)
        found.append(np.stack([order[first], order[first + step]]))
    return _symmetric(np.concatenate(found, axis=1), n_chunks)


def equal_texts(texts: Iterable[str]) -> npt.NDArray[np.int64]:
    """For every text the row of the first one equal to it, int64 [n_chunks]."""
    first: dict[str, int] = {}
    return np.asarray([first.setdefault(text, row) for row, text in enumerate(texts)], dtype=np.int64)


def _symmetric(pairs: npt.NDArray[np.int64], n_chunks: int) -> Any:
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    return coo_array((np.ones(both.shape[1], dtype=np.int8), (both[0], both[1])), shape=(n_chunks, n_chunks)).tocsr()
