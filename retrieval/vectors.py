"""Embeddings as artifacts, and exact inner-product search over them in blocks with tie-correct top-k."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from ingestion.artifacts import ArtifactStore
from retrieval.models import load_encoder, weights_digest
from retrieval.schema import Run, make_run
from retrieval.stage import Context

Backend = Literal["torch", "openvino", "onnxruntime"]
Vectors = npt.NDArray[np.float32]
PLACES = 6  # decimal places of an inner product that count
MARGIN = np.float32(2e-6)  # more than rounding to 6 places can move a score
BLOCK = 2_000_000  # scores held at once
TRUNCATED = "chunks truncated by the encoder"
PART = 2_048  # texts embedded between two looks at the progress bar


@dataclass(frozen=True)
class Encoder:
    """How texts become vectors. Batching is part of it: length-sorted batches of a fixed size on fixed threads."""

    model: str
    prefix: str
    max_length: int | None
    batch_size: int
    threads: int
    backend: Backend = "torch"

    def encode(self, texts: Sequence[str], label: str = "", store: ArtifactStore | None = None) -> Vectors:
        """Unit vectors, float32 [n_texts, dims], in the order of the texts.

        Args:
            texts: what is embedded.
            label: of the progress bar; none without it.
            store: where an exported model is kept, for a backend other than torch.

        Raises:
            ModelLoadError: the model or the backend cannot be had, or it fails its self-test.
        """
        if self.backend != "torch":
            from retrieval.export import encode

            return encode(self, self.backend, texts, label, store)
        import torch

        model = load_encoder(self.model, self.max_length)
        torch.set_num_threads(self.threads)
        order = np.argsort([-len(text) for text in texts], kind="stable")
        vectors = np.zeros((len(texts), int(model.get_embedding_dimension())), dtype=np.float32)
        quiet = not label or not sys.stderr.isatty()
        with tqdm(total=len(texts), desc=label, unit="chunk", disable=quiet) as bar:
            for start in range(0, len(order), PART):
                rows = order[start : start + PART]
                part = [self.prefix + texts[row] for row in rows]
                vectors[rows] = model.encode(
                    part, batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False
                )
                bar.update(len(rows))
        return vectors

    def truncated(self, texts: Sequence[str]) -> int:
        """How many texts are longer than the model reads."""
        model = load_encoder(self.model, self.max_length)
        count = 0
        for start in range(0, len(texts), PART):
            part = [self.prefix + text for text in texts[start : start + PART]]
            ids = model.tokenizer(part, verbose=False, padding=False, truncation=False)["input_ids"]
            count += sum(len(row) > model.max_seq_length for row in ids)
        return count


def chunk_vectors(ctx: Context, encoder: Encoder) -> Vectors:
    """The vectors of all chunks, float32 [n_chunks, dims], embedded once and memory-mapped; counts truncated ones."""
    spec = {"encoder": encoder, "weights": weights_digest(encoder.model), "version": 2}

    def build(folder: Path) -> None:
        np.save(folder / "vectors.npy", encoder.encode(ctx.corpus.texts, "embedding", ctx.store))
        np.save(folder / "truncated.npy", np.int64(encoder.truncated(ctx.corpus.texts)))

    vectors, truncated = ctx.artifact("vectors", spec, build, _load)
    ctx.fact(TRUNCATED, truncated, of=len(ctx.corpus))
    return vectors


def _load(folder: Path) -> tuple[Vectors, int]:
    return np.load(folder / "vectors.npy", mmap_mode="r"), int(np.load(folder / "truncated.npy"))


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
