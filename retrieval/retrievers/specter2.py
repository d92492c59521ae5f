"""SPECTER2 (Singh et al., EMNLP 2023, arXiv 2211.13308): one BERT, one adapter for chunks, another for questions."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from ingestion.artifacts import fingerprint
from ingestion.schema import Corpus
from retrieval import models
from retrieval.adapters import adapted, adapter_digest, missing_adapter, read_adapter
from retrieval.embedding import PART
from retrieval.errors import ModelLoadError
from retrieval.schema import Queries, Run, empty_run
from retrieval.stage import Context
from retrieval.vectors import Vectors, exact_search

PACKAGES = ("torch", "transformers")


@dataclass(frozen=True)
class Specter2:
    """Chunks and questions through the same BERT with different adapters, compared by Euclidean distance.

    As its authors train and measure it (triplet loss and SciRepEval's search tasks): the vector is the last hidden
    state of [CLS], not normalised, and the nearest is best. A chunk reads `title. section [SEP] text`, a question
    stands alone.
    """

    VERSION: ClassVar[int] = 1
    model: str = "allenai/specter2_base"
    chunk_adapter: str = "allenai/specter2"
    query_adapter: str = "allenai/specter2_adhoc_query"
    max_length: int = 512
    batch_size: int = 32
    threads: int = 2

    def __post_init__(self) -> None:
        if min(self.max_length - 2, self.batch_size, self.threads) < 1:
            raise ValueError(
                f"max_length={self.max_length} must be at least 3, batch_size={self.batch_size} and "
                f"threads={self.threads} at least 1"
            )

    def missing(self) -> str | None:
        """Why the model or one of its adapters cannot run here, with the remedy."""
        return (
            models.missing(self.model, PACKAGES, "neural")
            or missing_adapter(self.chunk_adapter)
            or missing_adapter(self.query_adapter)
        )

    def inputs(self, ctx: Context) -> Mapping[str, str]:
        """Digests of the weights, of both adapters, and of the titles, which the chunk table does not hold."""
        return {**self._chunk_inputs(ctx), "query_adapter": adapter_digest(self.query_adapter)}

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Rank all chunks for every query that is not blank, by minus half the squared distance (over dims).

        Raises:
            ModelLoadError: model or adapter cannot be had, or the self-test fails.
        """
        asked = [row for row, text in enumerate(queries.query) if text.strip()]
        if not asked or not len(ctx.corpus):
            return empty_run()
        chunks = self._chunk_vectors(ctx)
        found = self.embed([queries.query[row] for row in asked], "query")
        return exact_search(_as_query(found), chunks, ctx.depth, ctx.allowed).of_queries(asked)

    def embed(self, texts: Sequence[str], side: str, label: str = "") -> Vectors:
        """[CLS] vectors, float32 [n_texts, dims], in the order of the texts.

        Args:
            texts: what is read, cut to `max_length` tokens.
            side: `chunk` or `query`: which adapter is in the model.
            label: of the progress bar; none without it.
        """
        import torch

        loaded = load_specter2(self.model, self.chunk_adapter, self.query_adapter, self.max_length)
        torch.set_num_threads(self.threads)
        return _embed(loaded["tokenizer"], loaded[side], texts, self.max_length, self.batch_size, label)

    def _chunk_inputs(self, ctx: Context) -> dict[str, str]:
        titles = fingerprint(ctx.corpus.titles)
        weights = models.weights_digest(self.model)
        return {"weights": weights, "chunk_adapter": adapter_digest(self.chunk_adapter), "titles": titles}

    def _chunk_vectors(self, ctx: Context) -> Vectors:
        """Float32 [n_chunks, dims + 2], as `exact_search` needs them; embedded once and memory-mapped."""
        batching = {"max_length": self.max_length, "batch_size": self.batch_size, "threads": self.threads}
        spec = {"encoder": "specter2", "version": self.VERSION, **self._chunk_inputs(ctx), **batching}

        def build(folder: Path) -> None:
            loaded = load_specter2(self.model, self.chunk_adapter, self.query_adapter, self.max_length)
            texts = _chunk_texts(ctx.corpus, loaded["tokenizer"].sep_token)
            np.save(folder / "vectors.npy", _as_chunk(self.embed(texts, "chunk", "embedding")))

        return ctx.artifact("vectors", spec, build, lambda folder: np.load(folder / "vectors.npy", mmap_mode="r"))


@lru_cache(maxsize=2)
def load_specter2(model: str, chunk_adapter: str, query_adapter: str, max_length: int) -> Mapping[str, Any]:
    """Tokenizer, and the model as `chunk` and as `query` sees it (weights in memory once), self-tested.

    Raises:
        ModelLoadError: weights or packages are missing, it is no BERT, it cannot read `max_length` tokens, or a
            question is not nearer to a related sentence than to an unrelated one.
    """
    reason = models.missing(model, PACKAGES, "neural")
    if reason:
        raise ModelLoadError(reason)
    import torch
    from transformers import AutoTokenizer, BertModel
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    folder = str(models.find(model, download=True))
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        # float32 by name: the default keeps the precision of the file
        base, said = BertModel.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelLoadError(f"model {model!r} cannot be loaded: {error}; {models.remedy(model)}") from error
    unread = sorted(key for key in said["missing_keys"] if not key.startswith("pooler."))
    if unread:
        raise ModelLoadError(
            f"model {model!r} is no BERT: {len(unread)} weights such as {unread[0]} are not in the file"
        )
    limit = base.config.max_position_embeddings
    if max_length > limit:
        raise ModelLoadError(f"model {model!r} reads {limit} tokens, not {max_length}; set max_length={limit}")
    base.eval()
    loaded = {
        "tokenizer": tokenizer,
        "chunk": adapted(base, read_adapter(chunk_adapter)),
        "query": adapted(base, read_adapter(query_adapter)),
    }
    question = _embed(tokenizer, loaded["query"], models.SELF_TEST[:1], max_length, 1)
    near, far = _embed(tokenizer, loaded["chunk"], models.SELF_TEST[1:], max_length, 2)
    models.self_test(model, -float(np.linalg.norm(question - near)), -float(np.linalg.norm(question - far)))
    return loaded


def _embed(
    tokenizer: Any, model: Any, texts: Sequence[str], max_length: int, batch_size: int, label: str = ""
) -> Vectors:
    """[CLS] of the last layer. Equal texts are read once; batches are of a fixed size, the longest texts first."""
    import torch

    distinct = sorted(set(texts), key=lambda text: (-len(text), text))
    vectors = np.zeros((len(distinct), model.config.hidden_size), dtype=np.float32)
    quiet = not label or not sys.stderr.isatty()
    with tqdm(total=len(distinct), desc=label, unit="chunk", disable=quiet) as bar:
        for start in range(0, len(distinct), PART):
            part = distinct[start : start + PART]
            # SPECTER2 was trained without token types
            read = tokenizer(part, truncation=True, max_length=max_length, return_token_type_ids=False)
            order = np.argsort([-len(ids) for ids in read["input_ids"]], kind="stable")
            for first in range(0, len(order), batch_size):
                rows = order[first : first + batch_size]
                batch = tokenizer.pad({name: [read[name][row] for row in rows] for name in read}, return_tensors="pt")
                with torch.inference_mode():
                    vectors[start + rows] = model(**batch).last_hidden_state[:, 0].numpy()
                bar.update(len(rows))
    at = {text: row for row, text in enumerate(distinct)}
    return vectors[[at[text] for text in texts]]


def _chunk_texts(corpus: Corpus, sep: str) -> list[str]:
    """`title. section [SEP] text`; a title that the text itself begins with (BEIR) is not said twice."""
    texts = []
    for doc, section, text in zip(corpus.column("doc_id"), corpus.column("section"), corpus.texts, strict=True):
        title = corpus.titles.get(doc, "").strip()
        heading = ". ".join(part for part in (title, section.strip()) if part)
        texts.append(f"{heading}{sep}{text.removeprefix(title).lstrip()}" if heading else text)
    return texts


def _as_chunk(vectors: Vectors) -> Vectors:
    """Rows (c, -|c|^2 / 2, 1) of c = vectors / sqrt(dims), float32 [n, dims + 2].

    Their inner product with the rows of `_as_query` is -|q - c|^2 / 2, so that exact inner-product search finds the
    nearest; the scale keeps it near 1, where six places count.
    """
    return _with_norms(vectors, chunk=True)


def _as_query(vectors: Vectors) -> Vectors:
    """Rows (q, 1, -|q|^2 / 2) of q = vectors / sqrt(dims), float32 [n, dims + 2]."""
    return _with_norms(vectors, chunk=False)


def _with_norms(vectors: Vectors, chunk: bool) -> Vectors:
    scaled = vectors.astype(np.float64) / np.sqrt(vectors.shape[1])
    half: npt.NDArray[np.float64] = -0.5 * (scaled**2).sum(axis=1)
    columns = (half, np.ones(len(half))) if chunk else (np.ones(len(half)), half)
    return np.column_stack([scaled, *columns]).astype(np.float32)
