"""A sentence encoder as reader: the cosine of question and text (Reimers and Gurevych 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from retrieval import models
from retrieval.schema import Floats
from retrieval.vectors import Vectors

MOST = 100_000  # texts whose vectors are kept in memory
PLACES = 5  # decimals of a cosine that count


@dataclass(frozen=True)
class Encoder:
    """A sentence-transformers model by name or folder, with the prefixes that it was trained with.

    A text is embedded once in the life of the object.
    """

    model: str = "all-MiniLM-L6-v2"
    query_prefix: str = ""
    passage_prefix: str = ""
    max_length: int | None = None
    batch_size: int = 32

    def missing(self) -> str | None:
        """Why the model cannot run here, with the remedy."""
        return models.missing(self.model)

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        """Cosines to `PLACES` decimals, float64 [n_texts]: texts are padded in batches, which moves the last bits.

        Raises:
            ModelLoadError: the model cannot be had, or fails its self-test.
        """
        if not texts:
            return np.zeros(0)
        self._learn(list(dict.fromkeys(texts)))
        (asked,) = self._vectors([self.query_prefix + question])
        cosines: Floats = np.stack([self._known[text] for text in texts]).astype(np.float64) @ asked.astype(
            np.float64
        )
        return cosines.round(PLACES)

    def _learn(self, texts: list[str]) -> None:
        new = [text for text in texts if text not in self._known]
        if len(self._known) + len(new) > MOST:
            self._known.clear()
            new = texts
        if new:
            self._known.update(zip(new, self._vectors([self.passage_prefix + text for text in new]), strict=True))

    @cached_property
    def _known(self) -> dict[str, Vectors]:
        return {}

    def _vectors(self, texts: list[str]) -> Vectors:
        model = models.load_encoder(self.model, self.max_length)
        found: Vectors = model.encode(
            texts, batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False
        )
        return found
