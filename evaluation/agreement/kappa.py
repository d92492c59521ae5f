"""How far two judges agree beyond chance: Cohen's kappa, plain, weighted and binary, with intervals by document.

Cohen (1960), "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20; weights:
Cohen (1968), "Weighted kappa", Psychological Bulletin 70.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from evaluation.errors import EvaluationError
from evaluation.schema import Grades8, Longs
from evaluation.stats import MIN_CLUSTERS, resample_counts
from retrieval.schema import Floats

Weights = Literal["none", "linear"]


@dataclass(frozen=True)
class Estimate:
    """A value with its percentile interval; NaN where nothing is defined. `undefined` resamples had no value."""

    value: float
    lo: float
    hi: float
    undefined: int


@dataclass(frozen=True)
class Agreement:
    """Two judges on the same n items. `table` int64 [n_grades, n_grades]: rows are a's grades, columns b's.

    `raw`: share of equal grades; `kappa`, `linear`: Cohen's over all grades, plain and with linear weights; `binary`:
    over relevant (grade 1 and up) or not. `too_few`: fewer than 10 clusters, the intervals say little.
    """

    n: int
    clusters: int
    table: Longs
    raw: Estimate
    kappa: Estimate
    linear: Estimate
    binary: Estimate

    @property
    def too_few(self) -> bool:
        """Whether there are too few documents for the intervals to be trusted."""
        return self.clusters < MIN_CLUSTERS


def agreement(
    a: Grades8,
    b: Grades8,
    clusters: Sequence[str] | npt.NDArray[np.generic],
    seed: int,
    resamples: int = 10_000,
    confidence: float = 0.95,
) -> Agreement:
    """Compare two judges.

    Whole clusters (source documents) are drawn with replacement: items of one document are judged alike.

    Args:
        a: grades from 0, int8 [n].
        b: the other judge's grades of the same items, int8 [n].
        clusters: [n], what is drawn together.
        seed: of the resampling.
        resamples: how many.
        confidence: two-sided, .95 for 95 %.

    Raises:
        EvaluationError: there is no item, lengths differ, or a grade is negative.
    """
    if not len(a) or len(a) != len(b) or len(a) != len(clusters) or min(int(a.min()), int(b.min())) < 0:
        raise EvaluationError(f"{len(a)} and {len(b)} grades, {len(clusters)} clusters: one each per item, from 0")
    tables = _tables(a, b, np.unique(np.asarray(clusters), return_inverse=True)[1].reshape(-1))
    n_clusters, n_grades = tables.shape[:2]
    whole: Floats = tables.sum(axis=0, dtype=np.float64)[None]
    drawn = np.concatenate(
        [
            (counts @ tables.reshape(n_clusters, -1)).reshape(-1, n_grades, n_grades)
            for counts in resample_counts(seed, n_clusters, resamples)
        ]
    )
    pair = np.stack([whole[0]])  # one table, in the shape of many
    tail = (1 - confidence) / 2

    def estimate(values: Floats, resampled: Floats) -> Estimate:
        defined = resampled[~np.isnan(resampled)]
        ends = np.quantile(defined, [tail, 1 - tail]) if n_clusters > 1 and len(defined) else (np.nan, np.nan)
        return Estimate(float(values[0]), float(ends[0]), float(ends[1]), len(resampled) - len(defined))

    return Agreement(
        n=len(a),
        clusters=n_clusters,
        table=whole[0].astype(np.int64),
        raw=estimate(observed(pair), observed(drawn)),
        kappa=estimate(kappa(pair), kappa(drawn)),
        linear=estimate(kappa(pair, "linear"), kappa(drawn, "linear")),
        binary=estimate(kappa(binary(pair)), kappa(binary(drawn))),
    )


def kappa(tables: Floats, weights: Weights = "none") -> Floats:
    """Cohen's kappa of contingency tables: 1 minus observed over expected disagreement.

    Args:
        tables: counts, float64 [n, n_grades, n_grades].
        weights: `none` counts every difference of grades as 1, `linear` as its size.

    Returns:
        Float64 [n]; NaN where chance alone never disagrees (both judges give one and the same grade).
    """
    grades = np.arange(tables.shape[1])
    distance = np.abs(grades[:, None] - grades[None])
    weight = distance if weights == "linear" else (distance > 0).astype(np.int64)
    total = tables.sum(axis=(1, 2))
    seen = (tables * weight).sum(axis=(1, 2))
    chance = np.einsum("ni,nj,ij->n", tables.sum(axis=2), tables.sum(axis=1), weight.astype(np.float64)) / total
    return np.asarray(1 - np.divide(seen, chance, out=np.full(len(tables), np.nan), where=chance > 0))


def observed(tables: Floats) -> Floats:
    """Share of equal grades of contingency tables, float64 [n]."""
    return np.asarray(np.trace(tables, axis1=1, axis2=2) / tables.sum(axis=(1, 2)))


def binary(tables: Floats) -> Floats:
    """Contingency tables of grades as tables of not relevant (0) and relevant (1 and up), float64 [n, 2, 2]."""
    edges = [0, 1] if tables.shape[1] > 1 else [0]
    small = np.add.reduceat(np.add.reduceat(tables, edges, axis=1), edges, axis=2)
    return np.pad(small, ((0, 0), (0, 2 - len(edges)), (0, 2 - len(edges))))


def _tables(a: Grades8, b: Grades8, labels: npt.NDArray[np.intp]) -> Longs:
    """A contingency table for every cluster, int64 [n_clusters, n_grades, n_grades]."""
    n_grades = int(max(a.max(), b.max())) + 1
    cell = (labels * n_grades + a) * n_grades + b
    counts = np.bincount(cell, minlength=(int(labels.max()) + 1) * n_grades**2)
    return counts.astype(np.int64).reshape(-1, n_grades, n_grades)
