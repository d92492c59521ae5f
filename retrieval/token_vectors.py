"""Token vectors as an artifact, and MaxSim over them.

They count as float16: a product of two such numbers is a multiple of 2^-48, so in float64 the inner products of unit
vectors are exact, and a score depends neither on blocks nor on threads nor on what else is scored. (At 23 query
tokens float64 takes 8.8 ms for 16,384 chunk tokens, float32 8.0: moving them costs more than multiplying.)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from retrieval import models
from retrieval.embedding import PART
from retrieval.errors import ModelLoadError
from retrieval.schema import Floats
from retrieval.vectors import PLACES

Halves = npt.NDArray[np.float16]
Longs = npt.NDArray[np.int64]
TOKENS = 16_384  # token vectors in float64 at once: 50 MB at 384 dimensions


@dataclass(frozen=True)
class TokenEncoder:
    """How texts become token vectors.

    `special` holds the ids of a bi-encoder's tokens that do not count ([CLS], [SEP], padding); it is None for a
    ColBERT-style model, which masks tokens itself.
    """

    network: Any
    special: tuple[int, ...] | None

    def encode(self, texts: Sequence[str], role: str, prefix: str) -> list[Halves]:
        """Unit vectors of each text's tokens, float16 [n_tokens, dims], in one batch.

        Args:
            texts: one batch, padded to its longest text.
            role: `query` or `document`.
            prefix: put before each text; for a ColBERT-style model in place of its own, where it is not empty.
        """
        import torch

        if self.special is None:
            encode = self.network.encode_query if role == "query" else self.network.encode_document
            found = encode(list(texts), prompt=prefix or None, batch_size=len(texts), show_progress_bar=False)
        else:
            said = self.network.encode(
                [prefix + text for text in texts], output_value=None, batch_size=len(texts), show_progress_bar=False
            )
            ignored = torch.tensor(self.special)
            found = [
                item["token_embeddings"][item["attention_mask"].bool() & ~torch.isin(item["input_ids"], ignored)]
                for item in said
            ]
        return [torch.nn.functional.normalize(tokens.float(), dim=-1).half().numpy() for tokens in found]

    def in_order(self, texts: Sequence[str], prefix: str, batch_size: int) -> Iterator[Halves]:
        """The token vectors of chunk texts, one after the other; batches are sorted by length within each part."""
        with tqdm(total=len(texts), desc="embedding", unit="chunk", disable=not sys.stderr.isatty()) as bar:
            for start in range(0, len(texts), PART):
                part = texts[start : start + PART]
                order = np.argsort([-len(text) for text in part], kind="stable")
                found: dict[int, Halves] = {}
                for low in range(0, len(order), batch_size):
                    rows = order[low : low + batch_size].tolist()
                    found |= zip(rows, self.encode([part[row] for row in rows], "document", prefix), strict=True)
                    bar.update(len(rows))
                # A bi-encoder's blank text has no token; a ColBERT-style model would give it its markers
                yield from (found[row] if text.strip() else found[row][:0] for row, text in enumerate(part))

    def cut(self, texts: Sequence[str], prefix: str) -> npt.NDArray[np.bool_]:
        """Which chunk texts are longer than the encoder reads, bool [n_texts]."""
        limit = getattr(self.network[0], "document_length", None) or self.network.max_seq_length
        if self.special is None:
            prefix = prefix or self.network.prompts.get("document") or ""
        longer = np.zeros(len(texts), dtype=np.bool_)
        for start in range(0, len(texts), PART):
            part = [prefix + text for text in texts[start : start + PART]]
            ids = self.network.tokenizer(part, verbose=False)["input_ids"]
            longer[start : start + PART] = [len(row) > limit for row in ids]
        return longer


@dataclass(frozen=True)
class TokenIndex:
    """Token vectors of all distinct texts, one after the other, memory-mapped.

    Text t has the rows offsets[t]:offsets[t + 1] of `tokens`, float16 [n_tokens, dims]; chunk c has text owner[c] and
    the mean token vector means[c] scaled to length 1, float32 [n_chunks, dims]. `truncated` counts chunks.
    """

    tokens: Halves
    offsets: Longs
    owner: Longs
    means: npt.NDArray[np.float32]
    truncated: int

    @staticmethod
    def load(folder: Path) -> TokenIndex:
        """Read what `write_index` wrote."""
        tokens, means = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("tokens", "means"))
        offsets, owner, truncated = (np.load(folder / f"{name}.npy") for name in ("offsets", "owner", "truncated"))
        return TokenIndex(tokens, offsets, owner, means, int(truncated))

    @property
    def has_tokens(self) -> npt.NDArray[np.bool_]:
        """Which chunks have a token at all, bool [n_chunks]."""
        return (np.diff(self.offsets) > 0)[self.owner]

    def score(self, queries: Sequence[Halves], pools: Sequence[npt.NDArray[Any]]) -> list[Floats]:
        """MaxSim of each query with the chunks of its own pool, float64 [n_pool] each.

        Args:
            queries: float16 [n_query_tokens, dims] each.
            pools: int [n_pool] each, rows of chunks that have tokens.
        """
        lengths = np.diff(self.offsets)
        wanted = np.zeros((len(queries), len(lengths)), dtype=np.bool_)
        for query, pool in enumerate(pools):
            wanted[query, self.owner[pool]] = True
        total = np.zeros(wanted.shape)
        vectors = [query.astype(np.float64) for query in queries]
        for texts in _blocks(np.flatnonzero(wanted.any(axis=0)), lengths):
            sizes = lengths[texts]
            first = np.cumsum(sizes) - sizes
            rows = np.repeat(self.offsets[texts] - first, sizes) + np.arange(sizes.sum())
            tokens = self.tokens[rows].astype(np.float64)
            for query in np.flatnonzero(wanted[:, texts].any(axis=1)).tolist():
                here = wanted[query, texts]
                mine = tokens if here.all() else tokens[np.repeat(here, sizes)]
                total[query, texts[here]] = maxsim(vectors[query], mine, sizes[here])
        return [total[query, self.owner[pool]] for query, pool in enumerate(pools)]


def maxsim(query: Floats, tokens: Floats, sizes: npt.NDArray[np.integer[Any]]) -> Floats:
    """Sum over query tokens of the maximum over a text's tokens of the inner product, float64 [n_texts].

    Args:
        query: float64 [n_query_tokens, dims].
        tokens: float64 [n_tokens, dims], the texts' tokens one after the other.
        sizes: int [n_texts], tokens per text, none of them 0.
    """
    largest = np.maximum.reduceat(query @ tokens.T, np.cumsum(sizes) - sizes, axis=1)
    return np.asarray(largest.sum(axis=0))


def write_index(folder: Path, texts: Iterator[Halves], owner: Longs, truncated: int) -> None:
    """Write token vectors as they come, and means over them; `owner` int64 [n_chunks] is each chunk's text."""
    sizes: list[int] = []
    means: list[npt.NDArray[np.float32]] = []
    with (folder / "tokens.npy").open("wb") as file:
        shape: tuple[int, ...] = (0, 0)
        for tokens in texts:
            if not sizes:
                _header(file, (0, tokens.shape[1]))
            shape = (shape[0] + len(tokens), tokens.shape[1])
            file.write(np.ascontiguousarray(tokens).tobytes())
            sizes.append(len(tokens))
            means.append(mean_vector(tokens))
        file.seek(0)
        _header(file, shape)
    np.save(folder / "offsets.npy", np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    np.save(folder / "owner.npy", owner)
    np.save(folder / "means.npy", np.stack(means)[owner])
    np.save(folder / "truncated.npy", np.int64(truncated))


def mean_vector(tokens: Halves) -> npt.NDArray[np.float32]:
    """The mean of a text's token vectors scaled to length 1, float32 [dims]; zeros where there is none."""
    total = tokens.astype(np.float64).sum(axis=0)
    return np.asarray(total / (float(np.linalg.norm(total)) or 1.0), dtype=np.float32)


def _header(file: Any, shape: tuple[int, ...]) -> None:
    """The head of an npy file; NumPy leaves room for the first number to grow, so it can be written again."""
    np.lib.format.write_array_header_1_0(file, {"descr": "<f2", "fortran_order": False, "shape": shape})


def _blocks(texts: Longs, lengths: Longs) -> Iterator[Longs]:
    """The texts in runs of at most `TOKENS` tokens; a longer text is a run of its own."""
    start = 0
    ends = np.cumsum(lengths[texts])
    while start < len(texts):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + TOKENS, side="right")))
        yield texts[start:stop]
        start = stop


def best(scores: Floats, depth: int) -> Longs:
    """Places of the scores that reach the last kept one, rounded; `make_run` breaks the ties."""
    rounded = np.round(scores, PLACES)
    if len(rounded) <= depth:
        return np.arange(len(rounded))
    return np.flatnonzero(rounded >= np.partition(rounded, len(rounded) - depth)[len(rounded) - depth])


@lru_cache(maxsize=2)
def load_tokens(model: str, max_length: int | None) -> TokenEncoder:
    """A model that gives token vectors on the CPU, self-tested: a related pair must score above an unrelated one.

    Raises:
        ModelLoadError: weights or packages are missing, or the self-test fails.
    """
    reason = models.missing(model)
    if reason:
        raise ModelLoadError(reason)
    if not is_colbert(models.find(model, download=True)):
        network = models.load_encoder(model, max_length)
        names = ("cls_token_id", "sep_token_id", "pad_token_id", "bos_token_id", "eos_token_id")
        ids = {getattr(network.tokenizer, name, None) for name in names}
        encoder = TokenEncoder(network, tuple(sorted(number for number in ids if number is not None)))
    else:
        encoder = TokenEncoder(_colbert(model, max_length), None)
    query, near, far = (
        encoder.encode([text], role, "")[0].astype(np.float64)
        for text, role in zip(models.SELF_TEST, ("query", "document", "document"), strict=True)
    )
    models.self_test(model, *(float(maxsim(query, found, np.array([len(found)]))[0]) for found in (near, far)))
    return encoder


def is_colbert(folder: Path) -> bool:
    """Whether a folder holds a late-interaction model: no pooling among its modules, or Stanford's architecture."""
    modules = folder / "modules.json"
    if modules.is_file():
        return not any(str(module["type"]).endswith("Pooling") for module in json.loads(modules.read_text()))
    config = folder / "config.json"
    return config.is_file() and "HF_ColBERT" in (json.loads(config.read_text()).get("architectures") or [])


def _colbert(model: str, max_length: int | None) -> Any:
    from sentence_transformers import MultiVectorEncoder
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        network: Any = MultiVectorEncoder(str(models.find(model, download=True)), device="cpu")
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        raise ModelLoadError(f"model {model!r} cannot be loaded: {error}; {models.remedy(model)}") from error
    if max_length is not None:
        network[0].document_length = max_length
    return network
