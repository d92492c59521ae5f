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


@dataclass(frozen=True)
class Dedup:
    """Walks the ranking and drops a chunk that repeats one already kept.

    It repeats one if their term sets have a Jaccard similarity of at least `threshold` and they stand at most
    `window` chunks apart in the same document, or if their texts are equal, wherever they stand.
    """

    VERSION: ClassVar[int] = 1
    threshold: float = 0.6
    window: int = 2

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1 or self.window < 0:
            raise ValueError(f"threshold={self.threshold} must be in (0, 1] and window={self.window} at least 0")

    def rerank(self, ctx: Context, queries: Queries, run: Run) -> Run:
        """The ranking without repeats; scores stay."""
        if not len(run):
            return run
        spec = {"analyser": digest(), "threshold": self.threshold, "window": self.window, "version": self.VERSION}
        alike = ctx.artifact("near_duplicates", spec, lambda out: self._build(ctx, out), _load)
        bounds = run.bounds(len(queries))
        keep = np.zeros(len(run), dtype=bool)
        for low, high in zip(bounds.tolist(), bounds[1:].tolist(), strict=False):
            keep[low:high] = _walk(run.chunk[low:high].tolist(), alike)
        return make_run(run.query[keep], run.chunk[keep], run.score[keep], ctx.depth)

    def _build(self, ctx: Context, folder: Path) -> None:
        matrix = near_pairs(ctx, self.threshold, self.window) + equal_texts(ctx.corpus.texts)
        save_npz(folder / "alike.npz", csr_array(matrix))


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
        alike = (document[:-step] == document[step:]) & (union > 0) & (common >= threshold * union)
        first = np.flatnonzero(alike)
        found.append(np.stack([order[first], order[first + step]]))
    return _symmetric(np.concatenate(found, axis=1), n_chunks)


def equal_texts(texts: Iterable[str]) -> Any:
    """Symmetric 0/1 matrix [n_chunks, n_chunks]: every text and the first one equal to it."""
    first: dict[str, int] = {}
    pairs = [(row, first.setdefault(text, row)) for row, text in enumerate(texts)]
    twice = np.asarray([pair for pair in pairs if pair[0] != pair[1]], dtype=np.int64).reshape(-1, 2).T
    return _symmetric(twice, len(pairs))


def _symmetric(pairs: npt.NDArray[np.int64], n_chunks: int) -> Any:
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    return coo_array((np.ones(both.shape[1], dtype=np.int8), (both[0], both[1])), shape=(n_chunks, n_chunks)).tocsr()


def _load(folder: Path) -> tuple[list[int], list[int]]:
    matrix = load_npz(folder / "alike.npz")
    return matrix.indptr.tolist(), matrix.indices.tolist()


def _walk(chunks: list[int], alike: tuple[list[int], list[int]]) -> list[bool]:
    """Which chunks of a ranking stay: those without a kept chunk among their likes."""
    indptr, indices = alike
    kept: set[int] = set()
    stays = []
    for chunk in chunks:
        new = kept.isdisjoint(indices[indptr[chunk] : indptr[chunk + 1]])
        stays.append(new)
        if new:
            kept.add(chunk)
    return stays
