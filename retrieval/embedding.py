"""Texts to unit vectors. A text's vector is the same whatever else is embedded, so none is computed twice."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from ingestion.artifacts import ArtifactStore, fingerprint
from retrieval.models import load_encoder, weights_digest
from retrieval.stage import Context
from retrieval.vectors import Vectors

Backend = Literal["torch", "openvino", "onnxruntime"]
Embed = Callable[[list[str]], Vectors]  # one batch of texts of one length, prefix included
Longs = npt.NDArray[np.int64]
Keys = npt.NDArray[np.bytes_]
TRUNCATED = "chunks truncated by the encoder"
KIND, BLOCK_KIND, VERSION = "vectors", "vector_blocks", 3
PART = 2_048  # texts tokenised at once
BLOCK = 1_024  # texts that an interrupted run embeds again at most
# Padding moves the last bits of a vector, so only texts of one length share a batch. A matrix of few rows may take
# another kernel: of 40 lengths tried, alone and in batches, 6 and 10 tokens differed (1e-7). Short texts go alone.
ALONE = 32


@dataclass(frozen=True)
class Encoder:
    """How texts become vectors: model, prefix, length, runtime. A text's vector depends on nothing else."""

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
        return self.run(self._runtime(store), texts, label)

    def run(self, embed: Embed, texts: Sequence[str], label: str = "") -> Vectors:
        """The same by a runtime that embeds one batch, whatever it is."""
        model = load_encoder(self.model, self.max_length)
        lengths = np.minimum(self.lengths(texts), model.max_seq_length)
        vectors = np.zeros((len(texts), int(model.get_embedding_dimension())), dtype=np.float32)
        quiet = not label or not sys.stderr.isatty()
        with tqdm(total=len(texts), desc=label, unit="chunk", disable=quiet) as bar:
            for rows in batches(lengths, self.batch_size):
                vectors[rows] = embed([self.prefix + texts[row] for row in rows])
                bar.update(len(rows))
        return vectors

    def lengths(self, texts: Sequence[str]) -> Longs:
        """Tokens of each text with its prefix, uncut, int64 [n_texts]."""
        model = load_encoder(self.model, self.max_length)
        found: list[int] = []
        for start in range(0, len(texts), PART):
            part = [self.prefix + text for text in texts[start : start + PART]]
            ids = model.tokenizer(part, verbose=False, padding=False, truncation=False)["input_ids"]
            found += [len(row) for row in ids]
        return np.asarray(found, dtype=np.int64)

    def truncated(self, texts: Sequence[str]) -> int:
        """How many texts are longer than the model reads."""
        return int((self.lengths(texts) > load_encoder(self.model, self.max_length).max_seq_length).sum())

    def _runtime(self, store: ArtifactStore | None) -> Embed:
        if self.backend != "torch":
            from retrieval.export import runtime

            return runtime(self, self.backend, store)
        import torch

        torch.set_num_threads(self.threads)
        return partial(_embed, load_encoder(self.model, self.max_length))


def batches(lengths: Longs, batch_size: int) -> Iterator[Longs]:
    """Rows of texts that are embedded together: of one length in tokens, the longest first; short ones alone."""
    order = np.lexsort((np.arange(len(lengths)), -lengths))
    start = 0
    while start < len(order):
        length = lengths[order[start]]
        most = batch_size if length >= ALONE else 1
        stop = start + 1
        while stop < len(order) and stop - start < most and lengths[order[stop]] == length:
            stop += 1
        yield order[start:stop]
        start = stop


def chunk_vectors(ctx: Context, encoder: Encoder) -> Vectors:
    """The vectors of all chunks, float32 [n_chunks, dims], memory-mapped; counts truncated chunks.

    A text that another corpus in the artifact store has too is not embedded again, nor what an interrupted run has.
    """
    spec = {"encoder": encoder, "weights": weights_digest(encoder.model), "version": VERSION}
    vectors, truncated = ctx.artifact(KIND, spec, partial(_build, ctx, encoder, spec), _load)
    ctx.fact(TRUNCATED, truncated, of=len(ctx.corpus))
    return vectors


def _build(ctx: Context, encoder: Encoder, spec: dict[str, object], folder: Path) -> None:
    texts = ctx.corpus.texts
    keys = text_keys(texts)
    distinct, first, place = np.unique(keys, return_index=True, return_inverse=True)
    pool: Vectors | None = None
    known = np.zeros(len(distinct), dtype=np.bool_)
    for held, vectors in _held(ctx.store, spec):
        pool = np.zeros((len(distinct), vectors.shape[1]), np.float32) if pool is None else pool
        at = np.minimum(np.searchsorted(held, distinct), len(held) - 1)
        new = ~known & (held[at] == distinct) if len(held) else np.zeros_like(known)
        pool[new] = vectors[at[new]]
        known |= new
    missing = np.flatnonzero(~known)
    for rows, vectors in _blocks(ctx.store, encoder, spec, [texts[row] for row in first[missing]], distinct[missing]):
        pool = np.zeros((len(distinct), vectors.shape[1]), np.float32) if pool is None else pool
        pool[missing[rows]] = vectors
    whole = pool if pool is not None else np.zeros((0, 0), np.float32)
    order = np.argsort(keys, kind="stable")
    np.save(folder / "vectors.npy", whole[place.reshape(-1)])
    np.save(folder / "keys.npy", keys[order])
    np.save(folder / "rows.npy", order)
    np.save(folder / "truncated.npy", np.int64(encoder.truncated(texts)))


def _held(store: ArtifactStore, spec: dict[str, object]) -> Iterator[tuple[Keys, Vectors]]:
    """Sorted keys and vectors of every other corpus that this encoder has embedded."""
    for other in store.specs(KIND):
        if {key: value for key, value in other.items() if key != "corpus"} == store.canonical(spec):
            folder = store.whole(KIND, other)
            if folder is not None:
                rows = np.load(folder / "rows.npy")
                yield np.load(folder / "keys.npy"), np.load(folder / "vectors.npy", mmap_mode="r")[rows]


def _blocks(
    store: ArtifactStore, encoder: Encoder, spec: dict[str, object], texts: Sequence[str], keys: Keys
) -> Iterator[tuple[Longs, Vectors]]:
    """Rows and vectors of the texts, block by block; a finished block is kept until all are done."""
    order = np.argsort(np.asarray([-len(text) for text in texts], dtype=np.int64), kind="stable")
    done = []
    for number, start in enumerate(range(0, len(order), BLOCK)):
        rows = order[start : start + BLOCK]
        block = {**spec, "texts": fingerprint([keys[row].hex() for row in rows.tolist()])}
        label = f"embedding {number + 1} of {-(-len(order) // BLOCK)}" if len(order) > BLOCK else "embedding"
        build = partial(_embed_block, encoder, [texts[row] for row in rows.tolist()], label, store)
        yield rows, np.load(store.ensure(BLOCK_KIND, block, build) / "vectors.npy")
        done.append(block)
    for block in done:
        store.remove(BLOCK_KIND, block)


def _embed_block(encoder: Encoder, texts: list[str], label: str, store: ArtifactStore, folder: Path) -> None:
    np.save(folder / "vectors.npy", encoder.encode(texts, label, store))


def text_keys(texts: Sequence[str]) -> Keys:
    """The first 16 bytes of each text's sha256, S16 [n_texts] (a key never ends with a zero byte: one is set)."""
    digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16] for text in texts]
    return np.asarray([digest[:-1] + bytes([digest[-1] | 1]) for digest in digests], dtype="S16")


def _embed(model: Any, texts: list[str]) -> Vectors:
    found: Vectors = model.encode(
        texts, batch_size=len(texts), normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
    )
    return found


def _load(folder: Path) -> tuple[Vectors, int]:
    return np.load(folder / "vectors.npy", mmap_mode="r"), int(np.load(folder / "truncated.npy"))
