"""Learned sparse retrieval, SPLADE-max (Formal et al. 2021, arXiv:2109.10086): texts as weighted vocabulary terms."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, vstack
from tqdm import tqdm

from retrieval import models
from retrieval.embedding import TRUNCATED
from retrieval.errors import ModelLoadError
from retrieval.schema import Floats, Queries, Run, empty_run, make_run
from retrieval.sparse import Postings
from retrieval.stage import Context

PACKAGES = ("torch", "transformers")
PLACES = 6  # decimal places of a weight and of a score that count
PART = 2_048  # texts tokenised at once


@dataclass(frozen=True)
class Splade:
    """Weight of a term: maximum over a text's tokens of ln(1 + relu(logit)) of a masked language model.

    Queries and chunks go through the same encoder; the score is the inner product. A query is encoded by itself, so
    its ranking depends on no other query; equal chunk texts are encoded once, so they tie.

    `model` by name or folder; `max_length` in tokens with [CLS] and [SEP], null: what the model takes; `top_terms`:
    how many of its heaviest terms a query or chunk keeps, null: all.
    """

    VERSION: ClassVar[int] = 1
    model: str = "splade-tiny"
    max_length: int | None = None
    batch_size: int = 8
    threads: int = 2
    top_terms: int | None = None

    def __post_init__(self) -> None:
        if self.max_length is not None and self.max_length < 3:
            raise ValueError(f"max_length={self.max_length} must be null or at least 3: [CLS], a token, [SEP]")
        if self.batch_size < 1 or self.threads < 1:
            raise ValueError(f"batch_size={self.batch_size} and threads={self.threads} must be at least 1")
        if self.top_terms is not None and self.top_terms < 1:
            raise ValueError(f"top_terms={self.top_terms} must be null or at least 1")

    def missing(self) -> str | None:
        """Why the model cannot run here, with the remedy."""
        return models.missing(self.model, PACKAGES)

    def inputs(self, ctx: Context) -> Mapping[str, str]:
        """The digest of the weights, and the version of the library that reads and tokenises."""
        return {"weights": models.weights_digest(self.model), "transformers": version("transformers")}

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Rank the chunks that share a term of the expanded query."""
        asked = [row for row, text in enumerate(queries.query) if text.strip()]
        if not asked or not len(ctx.corpus):
            return empty_run()
        spec = {"stage": self, **self.inputs(ctx)}
        postings, truncated = ctx.artifact("splade", spec, lambda out: self._build(ctx, out), _load)
        ctx.fact(TRUNCATED, truncated, of=len(ctx.corpus))
        weights, _ = self._encode([queries.query[row] for row in asked], batch_size=1)
        found = postings.search(weights, ctx.depth, ctx.allowed)
        return make_run(found.query, found.chunk, found.score, ctx.depth, places=PLACES).of_queries(asked)

    def _build(self, ctx: Context, folder: Path) -> None:
        distinct = {text: row for row, text in enumerate(dict.fromkeys(ctx.corpus.texts))}
        weights, cut = self._encode(list(distinct), self.batch_size, "expanding")
        rows = [distinct[text] for text in ctx.corpus.texts]
        Postings.of(weights[rows]).save(folder)
        np.save(folder / "truncated.npy", np.int64(cut[rows].sum()))

    def _encode(self, texts: Sequence[str], batch_size: int, label: str = "") -> tuple[csr_array, Any]:
        import torch

        torch.set_num_threads(self.threads)
        return load(self.model).encode(texts, self.max_length, batch_size, self.top_terms, label)


@dataclass(frozen=True)
class SpladeModel:
    """A tokenizer and a masked language model of transformers."""

    tokenizer: Any
    network: Any

    def encode(
        self, texts: Sequence[str], max_length: int | None, batch_size: int, top_terms: int | None, label: str = ""
    ) -> tuple[csr_array, Any]:
        """Term weights rounded to 6 places, float64 sparse [n_texts, n_terms], and which texts were cut, bool [n].

        Columns of a row ascend. Batches are sorted by length; a blank text has no terms.
        """
        places = getattr(self.network.config, "max_position_embeddings", None)
        limit = min(n for n in (max_length, self.tokenizer.model_max_length, places) if n is not None)
        lengths = self._lengths(texts)
        order = np.argsort(-lengths, kind="stable")
        order = order[lengths[order] > 0]
        rows: dict[int, csr_array] = {}
        with tqdm(total=len(order), desc=label, unit="chunk", disable=not label or not sys.stderr.isatty()) as bar:
            for start in range(0, len(order), batch_size):
                batch = order[start : start + batch_size].tolist()
                dense = np.round(self._weights([texts[row] for row in batch], limit), PLACES)
                rows |= {row: heaviest(dense[at], top_terms) for at, row in enumerate(batch)}
                bar.update(len(batch))
        blank = csr_array((1, self.network.config.vocab_size))
        matrix = vstack([rows.get(row, blank) for row in range(len(texts))], format="csr", dtype=np.float64)
        return csr_array(matrix), lengths > limit

    def _lengths(self, texts: Sequence[str]) -> Any:
        """Tokens of each text with [CLS] and [SEP], int64 [n_texts]; 0 for a blank one."""
        lengths: list[int] = []
        for start in range(0, len(texts), PART):
            part = list(texts[start : start + PART])
            ids = self.tokenizer(part, verbose=False)["input_ids"]
            lengths += [len(row) if text.strip() else 0 for row, text in zip(ids, part, strict=True)]
        return np.asarray(lengths, dtype=np.int64)

    def _weights(self, texts: list[str], limit: int) -> Floats:
        """Term weights of a batch, float64 [n_texts, n_terms]; the maximum comes first: ln(1 + relu) keeps order."""
        import torch

        encoded = self.tokenizer(texts, padding=True, truncation=True, max_length=limit, return_tensors="pt")
        tokens = encoded["attention_mask"].sum(dim=1).tolist()
        with torch.inference_mode():
            logits = self.network(**encoded).logits
            largest = torch.stack([row[:n].amax(dim=0) for row, n in zip(logits, tokens, strict=True)])
            return np.asarray(torch.log1p(torch.relu(largest)).numpy(), dtype=np.float64)


def heaviest(weights: Floats, top_terms: int | None) -> csr_array:
    """The positive weights of one text as a sparse row [1, n_terms], at most the `top_terms` largest of them.

    Equal weights at the cut: the smaller term ids stay.
    """
    kept = np.flatnonzero(weights)
    if top_terms is not None and len(kept) > top_terms:
        kept = np.sort(kept[np.argsort(-weights[kept], kind="stable")[:top_terms]])
    return csr_array((weights[kept], kept, [0, len(kept)]), shape=(1, len(weights)))


@lru_cache(maxsize=2)
def load(model: str) -> SpladeModel:
    """A SPLADE model on the CPU, self-tested: a related pair must score above an unrelated one.

    Raises:
        ModelLoadError: weights or packages are missing, there is no masked-language-model head or another formula
            belongs to it, or the self-test fails.
    """
    reason = models.missing(model, PACKAGES)
    if reason:
        raise ModelLoadError(reason)
    from transformers import AutoModelForMaskedLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = models.find(model, download=True)
    _refuse_other_formulas(model, folder)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="right")
        network, report = AutoModelForMaskedLM.from_pretrained(folder, dtype="float32", output_loading_info=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelLoadError(f"model {model!r} cannot be loaded: {error}; {models.remedy(model)}") from error
    if report["missing_keys"]:
        raise ModelLoadError(
            f"model {model!r} has no masked-language-model head ({', '.join(sorted(report['missing_keys'])[:3])} "
            "missing), so it is no SPLADE model; name one that is"
        )
    loaded = SpladeModel(tokenizer, network.eval())
    weights, _ = loaded.encode(models.SELF_TEST, None, 1, None)
    one, near, far = weights.toarray()
    models.self_test(model, float(one @ near), float(one @ far))
    return loaded


def _refuse_other_formulas(model: str, folder: Path) -> None:
    """Refuse a sentence-transformers folder whose pooling is not maximum over tokens of ln(1 + relu)."""
    for path in sorted(folder.glob("*SpladePooling/config.json")):
        said = json.loads(path.read_text())
        formula = said.get("pooling_strategy", "max"), said.get("activation_function", "relu")
        if formula != ("max", "relu"):
            raise ModelLoadError(
                f"model {model!r} pools by {formula}; only SPLADE models with ('max', 'relu') run here"
            )


def _load(folder: Path) -> tuple[Postings, int]:
    return Postings.load(folder), int(np.load(folder / "truncated.npy"))
