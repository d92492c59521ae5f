"""Chunks that say little new out of a ranking: novelty is the share of token n-grams not yet seen above."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from retrieval.analysis import Longs, analysed, digest
from retrieval.schema import Floats, Ints, Queries, Run, make_run
from retrieval.stage import Context

ROUNDING = 1e-9  # min_score * size may exceed the whole number that it stands for


@dataclass(frozen=True)
class Novelty:
    """Walks the ranking and leaves out a chunk whose novelty is below `min_score`.

    Novelty is the share of a chunk's distinct n-grams of terms that no chunk kept above it holds. A text of fewer
    than `n` terms is one n-gram of its own: its novelty is 0 where the same terms were kept as a whole text, else 1.
    """

    VERSION: ClassVar[int] = 1
    n: int = 4
    min_score: float = 0.15

    def __post_init__(self) -> None:
        if self.n < 1 or not 0 <= self.min_score <= 1:
            raise ValueError(f"n={self.n} must be at least 1 and min_score={self.min_score} between 0 and 1")

    def rerank(self, ctx: Context, queries: Queries, run: Run) -> Run:
        """The ranking of chunks that say something new; scores stay, and what is left out is noted."""
        if not len(run):
            return run
        spec = {"analyser": digest(), "n": self.n, "version": self.VERSION}
        grams = ctx.artifact("ngrams", spec, lambda out: self._build(ctx, out), Grams.load)
        novelty, keep = grams.walk(run, self.min_score)
        ctx.note("not new", run.query[~keep], run.chunk[~keep], value=novelty[~keep])
        return make_run(run.query[keep], run.chunk[keep], run.score[keep], ctx.depth)

    def _build(self, ctx: Context, folder: Path) -> None:
        corpus = analysed(ctx)
        chunk, gram = distinct_ngrams(corpus.ids, corpus.offsets, self.n)
        Grams.of(chunk, gram, len(corpus.offsets) - 1).save(folder)


@dataclass(frozen=True)
class Grams:
    """How many n-grams every chunk has, and which: those that two chunks share are listed, others can only be new.

    Chunk c has size[c] distinct n-grams, among them the shared ones ids[indptr[c]:indptr[c + 1]], below `n_shared`.
    """

    size: Longs
    indptr: Longs
    ids: Ints
    n_shared: Longs

    @staticmethod
    def of(chunk: Longs, gram: Longs, n_chunks: int) -> Grams:
        """From the pairs of a chunk and an n-gram, each once, by chunk."""
        shared = np.bincount(gram)[gram] > 1
        known, ids = np.unique(gram[shared], return_inverse=True)
        return Grams(
            np.bincount(chunk, minlength=n_chunks).astype(np.int64),
            np.searchsorted(chunk[shared], np.arange(n_chunks + 1)).astype(np.int64),
            ids.astype(np.int32),
            np.asarray(len(known)),
        )

    def save(self, folder: Path) -> None:
        """Write the arrays into an artifact folder."""
        for field in fields(self):
            np.save(folder / f"{field.name}.npy", getattr(self, field.name))

    @staticmethod
    def load(folder: Path) -> Grams:
        """Read what `save` wrote, memory-mapped."""
        return Grams(*(np.load(folder / f"{field.name}.npy", mmap_mode="r") for field in fields(Grams)))

    def walk(self, run: Run, min_score: float) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The novelty of every row of a ranking, float64 [n_rows], and whether it stays."""
        ids = np.asarray(self.ids)  # a slice of a memory map costs five times as much
        lows, highs = self.indptr[run.chunk].tolist(), self.indptr[run.chunk + 1].tolist()
        least = self.size[run.chunk] * min_score - ROUNDING
        sizes, needed, first = self.size[run.chunk].tolist(), least.tolist(), (run.rank == 1).tolist()
        novelty, keep = np.ones(len(run)), np.ones(len(run), dtype=np.bool_)
        seen = np.zeros(int(self.n_shared), dtype=np.bool_)
        kept: list[Ints] = []
        for row, (low, high) in enumerate(zip(lows, highs, strict=True)):
            if first[row]:
                for grams in kept:
                    seen[grams] = False
                kept.clear()
            grams = ids[low:high]
            new = sizes[row] - np.count_nonzero(seen[grams])
            novelty[row] = new / sizes[row]
            keep[row] = new >= needed[row]
            if keep[row]:
                seen[grams] = True
                kept.append(grams)
        return novelty, keep


def distinct_ngrams(ids: Ints, offsets: Longs, n: int) -> tuple[Longs, Longs]:
    """The pairs (chunk, n-gram), each once and sorted, int64 [n_pairs] each; equal numbers are equal n-grams.

    A chunk of fewer than n terms is filled up with a term that no text has, so that it is one n-gram by itself.

    Args:
        ids: int32 [n_tokens], term ids.
        offsets: int64 [n_chunks + 1], chunk c has ids[offsets[c]:offsets[c + 1]].
        n: terms of an n-gram.
    """
    lengths = np.diff(offsets)
    padded = np.maximum(lengths, n)
    starts = np.cumsum(padded) - padded
    stream = np.zeros(int(padded.sum()), dtype=np.int64)
    stream[np.arange(len(ids)) + np.repeat(starts - offsets[:-1], lengths)] = ids.astype(np.int64) + 1
    n_grams = padded - n + 1
    chunk = np.repeat(np.arange(len(lengths)), n_grams)
    first = np.arange(len(chunk)) + np.repeat(starts - (np.cumsum(n_grams) - n_grams), n_grams)
    gram, n_terms = stream[first], int(stream.max(initial=0)) + 1
    for step in range(1, n):  # numbers of (n - 1)-grams and the next term make exact numbers of n-grams
        gram = np.unique(gram * n_terms + stream[first + step], return_inverse=True)[1]
    width = int(gram.max(initial=0)) + 1
    pairs = np.unique(chunk * width + gram)
    return pairs // width, pairs % width
