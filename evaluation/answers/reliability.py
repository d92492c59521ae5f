"""Do probabilities mean what they say? Bins with bands, Brier score, calibration error with its null.

Even a perfectly calibrated model shows a calibration error, since its bins hold few claims. So the error stands
beside the one that such a model of the same probabilities would show: labels are drawn from the probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from evaluation.errors import EvaluationError
from evaluation.schema import Longs
from evaluation.stats import wilson
from retrieval.schema import Floats

Binning = Literal["mass", "width"]
N_BINS = 10
DRAWS = 2_000
_CELLS = 2**21  # simulated labels held at once: 16 MB
BINS = ["bin", "low", "high", "n", "probability", "rate", "lo", "hi", "null_lo", "null_hi"]


@dataclass(frozen=True)
class Brier:
    """Mean squared error of probabilities, and its parts: reliability - resolution + uncertainty + within.

    Reliability: squared distance of the bins' mean probability and rate; resolution: of the bins' rates and the
    overall one; uncertainty: of the labels alone (Murphy, J. Appl. Meteor. 12, 1973). `within` is what probabilities
    that differ within a bin add (the two further components of Stephenson, Coelho and Jolliffe, Weather and
    Forecasting 23, 2008), so that the sum is exact.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def skill(self) -> float:
        """1 - score / uncertainty: above 0 is better than the overall rate for all; NaN for labels of one sort."""
        return 1 - self.score / self.uncertainty if self.uncertainty > 0 else float("nan")


@dataclass(frozen=True)
class CalibrationError:
    """Expected calibration error with its null: mean, 95 % quantile, and p = (1 + c) / (1 + draws)."""

    error: float
    null_mean: float
    null_high: float
    p: float


def members(probability: Floats, n_bins: int = N_BINS, binning: Binning = "mass") -> Longs:
    """The bin of every probability, from 0 without gaps, int64 [n].

    `mass`: bins of about equal numbers, equal probabilities in one bin; `width`: of equal width, upper end inclusive
    (as scikit-learn's `calibration_curve`).

    Raises:
        EvaluationError: a probability is none.
    """
    values = np.asarray(probability, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise EvaluationError("a probability must lie between 0 and 1; leave out what has none")
    if binning == "width":
        place = np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], values)
    else:
        place = np.floor((rankdata(values) - 0.5) / max(len(values), 1) * n_bins).astype(np.int64)
    return np.unique(place, return_inverse=True)[1].reshape(-1).astype(np.int64)


def brier(probability: Floats, label: Floats, member: Longs) -> Brier:
    """The score of n probabilities with labels 0 or 1, by bins; NaN throughout without any."""
    if not len(label):
        return Brier(*[float("nan")] * 5)
    probability, label, member = _ordered(probability, label, member)
    count = np.bincount(member)
    mean, rate = (np.bincount(member, weights=column) / count for column in (probability, label))
    share, overall = count / len(label), float(label.mean())
    inside = probability - mean[member]
    return Brier(
        score=float(np.mean((probability - label) ** 2)),
        reliability=float(share @ (mean - rate) ** 2),
        resolution=float(share @ (rate - overall) ** 2),
        uncertainty=overall * (1 - overall),
        within=float(np.mean(inside**2) - 2 * np.mean(inside * (label - rate[member]))),
    )


def calibration_error(
    probability: Floats, label: Floats, member: Longs, seed: int, draws: int = DRAWS
) -> CalibrationError:
    """Distance of probability and rate, mean over bins by size (Naeini et al., AAAI 2015), with its null.

    The order of the claims does not matter. The null takes all claims to be independent: where those of one document
    are right or wrong together, its p is too small.
    """
    if not len(label):
        return CalibrationError(*[float("nan")] * 4)
    probability, label, member = _ordered(probability, label, member)
    error = float(_errors(np.asarray(_totals(label, member))[None], probability, member)[0])
    null = np.concatenate(
        [_errors(sums, probability, member) for sums in _simulated(probability, member, seed, draws)]
    )
    reached = int((null >= error - 1e-12).sum())
    return CalibrationError(
        error, float(null.mean()), float(np.quantile(null, 0.95)), (1 + reached) / (1 + len(null))
    )


def bins(
    probability: Floats, label: Floats, member: Longs, seed: int, confidence: float = 0.95, draws: int = DRAWS
) -> pd.DataFrame:
    """One row a bin, columns `BINS`.

    `low`, `high`: its least and greatest probability; `probability`, `rate`: means of probabilities and labels; `lo`,
    `hi`: Wilson's interval of the rate; `null_lo`, `null_hi`: between them lies the rate of a calibrated model.
    """
    if not len(label):
        return pd.DataFrame(columns=BINS)
    probability, label, member = _ordered(probability, label, member)
    count = np.bincount(member)
    lo, hi = wilson(_totals(label, member), count, confidence)
    rates = np.concatenate([sums / count for sums in _simulated(probability, member, seed, draws)])
    tail = (1 - confidence) / 2
    band = np.quantile(rates, [tail, 1 - tail], axis=0)
    low, high = np.full(len(count), np.inf), np.full(len(count), -np.inf)
    np.minimum.at(low, member, probability)
    np.maximum.at(high, member, probability)
    columns = [
        *(np.arange(len(count)), low, high, count, _totals(probability, member) / count),
        *(_totals(label, member) / count, lo, hi, band[0], band[1]),
    ]
    return pd.DataFrame(dict(zip(BINS, columns, strict=True)))


def _ordered(probability: Floats, label: Floats, member: Longs) -> tuple[Floats, Floats, Longs]:
    """The claims by bin, probability and label: sums are then the same to the last bit whatever their order was."""
    order = np.lexsort((label, probability, member))
    return probability[order], label[order], member[order]


def _totals(values: Floats, member: Longs) -> Floats:
    return np.asarray(np.bincount(member, weights=values), dtype=np.float64)


def _errors(sums: Floats, probability: Floats, member: Longs) -> Floats:
    """Calibration error of labels that add up to `sums` [draws, n_bins], float64 [draws]."""
    return np.asarray(np.abs(sums - _totals(probability, member)).sum(axis=1) / len(member))


def _simulated(probability: Floats, member: Longs, seed: int, draws: int) -> Iterator[Floats]:
    """Sums of labels by bin that are drawn from the probabilities, in blocks of float64 [block, n_bins].

    The claims are ordered by bin.
    """
    starts = np.searchsorted(member, np.arange(member.max() + 1))
    rng = np.random.default_rng(seed)
    block = max(1, _CELLS // len(member))
    for start in range(0, draws, block):
        labels = rng.random((min(block, draws - start), len(member))) < probability
        yield np.add.reduceat(labels.astype(np.float64), starts, axis=1)
