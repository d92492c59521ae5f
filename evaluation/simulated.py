"""Simulated per-question metric values with known means, to find out whether the statistics keep their promises.

Each value is a quantile of its system's marginal distribution at a normal score. Scores add up what a document and a
question do to every system (some are hard for all), what a document does to one system (so that differences of
questions from one document are alike), and chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtr

from evaluation.schema import Longs
from retrieval.schema import Floats

RANKS = 10  # what is first relevant below counts as not found
NOT_FOUND = 0.15
ZEROS, ONES = 0.25, 0.10  # shares of nDCG values that are exactly 0 and 1
DOCUMENT, QUESTION, OWN, CHANCE = 0.15, 0.35, 0.15, 0.35  # shares of the variance of scores


@dataclass(frozen=True)
class Layout:
    """`documents` with `questions` each."""

    documents: int
    questions: int = 1

    @property
    def clusters(self) -> Longs:
        """The document of every question, int64 [n_questions]."""
        return np.repeat(np.arange(self.documents, dtype=np.int64), self.questions)

    def __str__(self) -> str:
        if self.questions == 1:
            return f"{self.documents} questions"
        return f"{self.documents} documents x {self.questions} questions"


@dataclass(frozen=True)
class Model:
    """What systems score: `marginals` are quantile functions [0, 1] -> metric, taken in turn by the systems."""

    name: str
    marginals: tuple[Callable[[Floats], Floats], ...]
    means: tuple[float, ...]

    def systems(self, rng: np.random.Generator, benchmarks: int, n_systems: int, layout: Layout) -> Floats:
        """Values, float64 [benchmarks, n_systems, n_questions], questions ordered by document."""
        documents, questions = layout.documents, layout.questions
        score = (
            np.sqrt(DOCUMENT) * rng.standard_normal((benchmarks, 1, documents, 1))
            + np.sqrt(QUESTION) * rng.standard_normal((benchmarks, 1, documents, questions))
            + np.sqrt(OWN) * rng.standard_normal((benchmarks, n_systems, documents, 1))
            + np.sqrt(CHANCE) * rng.standard_normal((benchmarks, n_systems, documents, questions))
        )
        share = ndtr(score).reshape(benchmarks, n_systems, -1)
        for system in range(n_systems):
            share[:, system] = self.marginals[system % len(self.marginals)](share[:, system])
        return np.asarray(share)

    def observed(self, rng: np.random.Generator, benchmarks: int, layout: Layout) -> Floats:
        """Values of a system, or differences of two unlike ones: float64 [benchmarks, n_questions]."""
        values = self.systems(rng, benchmarks, len(self.marginals), layout)
        return values[:, 0] if len(self.marginals) == 1 else values[:, 0] - values[:, 1]

    @property
    def mean(self) -> float:
        """The true mean of what is observed."""
        return self.means[0] - sum(self.means[1:])


def reciprocal_rank(share: Floats) -> Floats:
    """1 / rank of the first relevant chunk: 15 % not found, ranks 1 to 10 as rank ** -1.5 (43 % at rank 1)."""
    levels, chances = _reciprocal_ranks()
    return levels[np.searchsorted(np.cumsum(chances)[:-1], share, side="right")]


def ndcg(share: Floats) -> Floats:
    """A quarter 0, a tenth 1, the others Beta(2, 2)."""
    inner = np.clip((share - ZEROS) / (1 - ZEROS - ONES), 0.0, 1.0)
    return np.asarray(betaincinv(2.0, 2.0, inner))


def steady(share: Floats) -> Floats:
    """Beta(3.4, 4.6): never 0 or 1, half the spread of `ndcg`, and the same mean."""
    return np.asarray(betaincinv(3.4, 4.6, share))


def _reciprocal_ranks() -> tuple[Floats, Floats]:
    """The values from worst to best, and their chances."""
    ranks = np.arange(RANKS, 0, -1.0)
    weights = ranks**-1.5
    return np.append(0.0, 1 / ranks), np.append(NOT_FOUND, (1 - NOT_FOUND) * weights / weights.sum())


_NDCG = ONES + (1 - ZEROS - ONES) * 0.5
MODELS = (
    Model("reciprocal rank", (reciprocal_rank,), (float(np.dot(*_reciprocal_ranks())),)),
    Model("nDCG", (ndcg,), (_NDCG,)),
    Model("unlike systems", (ndcg, steady), (_NDCG, 3.4 / 8.0)),
)
"""Three kinds of metric values.

`reciprocal rank`: few levels, skewed. `nDCG`: many zeros and ones. `unlike systems`: differences of two systems with
the same mean of which one is steady and one all or nothing, so that their differences are skewed; no flip of signs or
labels is exact there.
"""
