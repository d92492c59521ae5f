"""How sure one can be of a claim: a fitted probability with levels, and the fixed rule beside it.

The fit is a logistic regression on judged extracts, stored as YAML in `conf/confidence/`; made by
`python -m evaluation.answers`. It holds for questions and papers like those that it was fitted on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generation.errors import RequestError
from generation.reader import Reader
from generation.schema import HIGH, LOW, MEDIUM, Passage


@dataclass(frozen=True)
class Logistic:
    """Logistic regression over standardised features: columns of equal length."""

    names: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float

    def probability(self, features: Mapping[str, float]) -> float:
        """The probability for one set of features, by name; features that were not fitted do not count.

        Raises:
            RequestError: a fitted feature is not among them.
        """
        columns = zip(self.names, self.means, self.scales, self.weights, strict=True)
        try:
            total = self.intercept + sum(w * (features[name] - mean) / scale for name, mean, scale, w in columns)
        except KeyError as error:
            raise RequestError(
                f"feature {error} is not known; make the fit anew: python -m evaluation.answers"
            ) from None
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))

    @staticmethod
    def read(plain: Mapping[str, Any], where: str) -> Logistic:
        """From `{intercept: 0.1, features: {coverage: {mean: 0.4, scale: 0.2, weight: 1.1}}}`.

        Raises:
            RequestError: a key is missing or no finite number, or a scale is not above 0.
        """
        try:
            rows = plain["features"]
            means, scales, weights = (
                tuple(float(rows[name][key]) for name in rows) for key in ("mean", "scale", "weight")
            )
            intercept = float(plain["intercept"])
            if not all(map(math.isfinite, (intercept, *means, *scales, *weights))) or min(scales, default=1.0) <= 0:
                raise ValueError("a number is not finite, or a scale not above 0")
            return Logistic(tuple(rows), means, scales, weights, intercept)
        except (KeyError, TypeError, ValueError) as error:
            raise RequestError(
                f"{where}: no fitted model ({error}); make it anew with python -m evaluation.answers"
            ) from None


@dataclass(frozen=True)
class Confidence:
    """Fitted models and thresholds.

    `claim`: that a cited extract answers the question at least in part; `answerable`: that the evidence holds an
    answer. A question below `refuse` is refused; a claim from `high` on is HIGH, from `medium` on MEDIUM. `reader`: a
    model whose score is one of the claim's features, where the fit had one.
    """

    claim: Logistic
    answerable: Logistic
    refuse: float
    high: float
    medium: float
    reader: Reader | None = None

    def level(self, probability: float) -> str:
        """HIGH, MEDIUM or LOW."""
        return HIGH if probability >= self.high else MEDIUM if probability >= self.medium else LOW

    @staticmethod
    def read(plain: Mapping[str, Any], where: str = "confidence", reader: Reader | None = None) -> Confidence:
        """From a composed `conf/confidence/<name>.yaml` and the reader that it names.

        Raises:
            RequestError: a key is missing or no number, or a threshold no probability.
        """
        try:
            refuse, high, medium = (float(plain[key]) for key in ("refuse", "high", "medium"))
        except (KeyError, TypeError, ValueError) as error:
            raise RequestError(f"{where}: threshold {error} is missing or no number") from None
        if not (0 <= refuse <= 1 and 0 <= medium <= high <= 1):
            raise RequestError(f"{where}: refuse={refuse}, medium={medium}, high={high} must be 0 to 1 and ascend")
        return Confidence(
            Logistic.read(plain.get("claim", {}), f"{where}.claim"),
            Logistic.read(plain.get("answerable", {}), f"{where}.answerable"),
            refuse,
            high,
            medium,
            reader,
        )


def rule(passage: Passage, overlap: float) -> str:
    """The level by the fixed rule over rank, score within the ranking (0 to 1) and overlap of words (0 to 1).

    HIGH: rank <= 2, score >= .7 and overlap >= .3. MEDIUM: rank <= 4, or score >= .5 and overlap >= .2. The first of
    a ranking always has the score 1, so that there the overlap alone decides.
    """
    if passage.rank <= 2 and passage.score >= 0.7 and overlap >= 0.3:
        return HIGH
    return MEDIUM if passage.rank <= 4 or (passage.score >= 0.5 and overlap >= 0.2) else LOW
