"""A cross-encoder as reader: question and text are read together (Nogueira and Cho, arXiv 1901.04085).

Re-rankers (`cross-encoder/ms-marco-MiniLM-L-6-v2`) and models of question entailment
(`cross-encoder/qnli-distilroberta-base`) are of this kind: one logit for a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from retrieval.rerankers import cross_encoder
from retrieval.schema import Floats


@dataclass(frozen=True)
class CrossEncoder:
    """A sequence classifier with one logit, by name or folder."""

    model: str = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    max_length: int = 512
    batch_size: int = 32
    threads: int = 2

    def missing(self) -> str | None:
        """Why the model cannot run here, with the remedy."""
        return self._scorer().missing()

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        """Raw logits, float64 [n_texts].

        Raises:
            ModelLoadError: the model cannot be had, is no cross-encoder, or fails its self-test.
        """
        if not texts:
            return np.zeros(0)
        logits, _ = self._scorer().score([(question, text) for text in texts])
        return logits.astype(np.float64)

    def _scorer(self) -> cross_encoder.CrossEncoder:
        return cross_encoder.CrossEncoder(
            self.model, max_length=self.max_length, batch_size=self.batch_size, threads=self.threads
        )
