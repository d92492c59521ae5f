"""What a reader is: a model that says how well a text answers a question, as one more feature of confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from retrieval.schema import Floats

READ = "read"  # the feature's name in a confidence file


class Reader(Protocol):
    """Scores texts against a question. Scores of one reader compare with each other and with nothing else."""

    def missing(self) -> str | None:
        """Why it cannot run here, with the remedy; None where it can. Nothing is loaded."""

    def scores(self, question: str, texts: Sequence[str]) -> Floats:
        """How well each text answers, float64 [n_texts]; the greater the better.

        Raises:
            ModelLoadError: the model cannot be had.
        """


def reading(reader: Reader | None, question: str, texts: Sequence[str]) -> list[dict[str, float]]:
    """The feature of every text, by name; none without a reader.

    Raises:
        ModelLoadError: the model cannot be had.
    """
    if reader is None:
        return [{} for _ in texts]
    return [{READ: float(score)} for score in reader.scores(question, [" ".join(text.split()) for text in texts])]
