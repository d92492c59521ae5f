"""Intervals for means over queries: bootstrap of whole clusters, Wilson for 0/1 values.

Sums are exact. Values are rounded to a fixed-point grid of 51 bits per series, so that every weighted sum fits a
float64 without rounding and its order cannot matter: an interval is the same to the last bit whatever the BLAS, its
threads, the order of the series, or which other series are asked for. The grid costs less than 1e-12 of a mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri
from threadpoolctl import threadpool_limits

from evaluation.errors import EvaluationError
from evaluation.schema import Longs
from retrieval.schema import Floats

Bools = npt.NDArray[np.bool_]
Method = Literal["bca", "percentile"]

MIN_CLUSTERS = 10  # below: "too few documents", and no verdict
_BLOCK = 2**18  # cells of resampling counts held at once: 2 MB, which stays in the cache
_CELLS = 2**21  # means of resamples held at once: 16 MB, so 209 series with 10,000 resamples


@dataclass(frozen=True)
class Intervals:
    """Means with their intervals; all columns [n_series].

    `n` int64: queries with a value; `n_clusters` int64: clusters that hold one; `too_few`: fewer than 10 of them.
    `method`: `bca`, `percentile` or `wilson`. Without values mean, lo and hi are NaN; with one cluster lo and hi
    are NaN, since nothing says how clusters differ; with equal values throughout lo = hi = mean (Wilson apart).
    """

    mean: Floats
    lo: Floats
    hi: Floats
    n: Longs
    n_clusters: Longs
    too_few: Bools
    method: tuple[str, ...]


def intervals(
    values: Floats,
    clusters: Sequence[str] | npt.NDArray[np.generic],
    seed: int,
    resamples: int = 10_000,
    confidence: float = 0.95,
    method: Method = "bca",
    binary: Sequence[bool] | Bools | None = None,
) -> Intervals:
    """Interval of each series' mean over queries, resampling whole clusters with replacement.

    The mean of a resample is the sum over the drawn clusters' queries divided by their number (ratio estimator).
    Queries without a value (NaN) are left out, and so are clusters without any; series with the same gaps share
    their resamples, which depend on `seed` and the number of those clusters only.

    Args:
        values: float64 [n_series, n_queries], NaN for queries that are left out.
        clusters: [n_queries], what is drawn together (the source document).
        seed: of the resampling.
        resamples: how many.
        confidence: two-sided, .95 for 95 %.
        method: `percentile` (Efron and Tibshirani 1993, section 13.3) or `bca` (section 14.3).
        binary: bool [n_series]: all values are 0 or 1. Where in addition every cluster holds one query, the interval
            is Wilson's.

    Raises:
        EvaluationError: shapes differ, a value is infinite, a `binary` series holds another value than 0 and 1, or
            `confidence` is no share.
    """
    series = np.atleast_2d(np.asarray(values, dtype=np.float64))
    zero_one = np.zeros(len(series), dtype=np.bool_) if binary is None else np.asarray(binary, dtype=np.bool_)
    _check(series, clusters, zero_one)
    if not 0 < confidence < 1 or resamples < 1:
        raise EvaluationError(
            f"confidence {confidence} and resamples {resamples}: write .95 for 95 %, and at least 1"
        )
    labels = np.unique(np.asarray(clusters), return_inverse=True)[1].reshape(-1)
    mean, lo, hi = (np.full(len(series), np.nan) for _ in range(3))
    n, n_clusters = np.zeros(len(series), dtype=np.int64), np.zeros(len(series), dtype=np.int64)
    used: list[str] = [method] * len(series)
    for rows, valid in same_gaps(series):
        members = np.unique(labels[valid], return_inverse=True)[1]
        n[rows], n_clusters[rows] = len(members), members.max(initial=-1) + 1
        for part in _parts(rows, max(resamples, len(members))):
            sample = Sample.of(series[part][:, valid], members)
            mean[part] = sample.mean
            if n_clusters[part[0]] > 1:
                lo[part], hi[part] = _bootstrap(sample, seed, resamples, confidence, method)
        wilsons = rows[zero_one[rows]] if len(members) == n_clusters[rows[0]] else rows[:0]
        lo[wilsons], hi[wilsons] = wilson(np.nansum(series[wilsons], axis=1), n[wilsons], confidence)
        for row in wilsons:
            used[row] = "wilson"
    return Intervals(mean, lo, hi, n, n_clusters, n_clusters < MIN_CLUSTERS, tuple(used))


def wilson(successes: npt.ArrayLike, n: npt.ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Score interval of a proportion (Wilson, JASA 22, 1927); NaN for n = 0.

    Returns:
        Lower and upper ends, float64 [n_series] each.
    """
    count, total = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    z = float(ndtri(0.5 + confidence / 2))
    share = np.divide(count, total, out=np.full(total.shape, np.nan), where=total > 0)
    size = np.maximum(total, 1)
    centre = (share + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z / (1 + z**2 / size) * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2))
    low, high = np.where(count == 0, 0.0, centre - half), np.where(count == total, 1.0, centre + half)
    return np.where(total > 0, low, np.nan), np.where(total > 0, high, np.nan)


def resample_counts(seed: int, n_clusters: int, resamples: int) -> Iterator[Floats]:
    """How often each cluster was drawn, in blocks of float64 [block, n_clusters]; rows sum to `n_clusters`.

    The draws are those of `scipy.stats.bootstrap` with the same seed.
    """
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK // n_clusters)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = rng.integers(0, n_clusters, (rows, n_clusters))
        drawn += np.arange(rows)[:, None] * n_clusters
        counts = np.bincount(drawn.reshape(-1), minlength=rows * n_clusters)
        yield counts.reshape(rows, n_clusters).astype(np.float64)


@dataclass(frozen=True)
class Sample:
    """Per-cluster sums of series with the same gaps, in units of their grid: whole numbers held as float64.

    `sums` [n_series, n_clusters], `counts` [n_clusters] queries per cluster, `unit` [n_series] a power of 2. Added up
    with whatever signs, the sums of one series stay within 2**51, so that float64 holds three of them exactly.
    """

    sums: Floats
    counts: Floats
    unit: Floats

    @staticmethod
    def of(values: Floats, members: npt.NDArray[np.intp], common: bool = False) -> Sample:
        """Values [n_series, n] without gaps; `members` [n] is the cluster of each, from 0.

        With `common`, all series lie on the coarsest of their grids, so that their sums may be subtracted.
        """
        order = np.argsort(members, kind="stable")
        counts = np.bincount(members)
        starts = np.append(0, np.cumsum(counts)[:-1])[: len(counts)]
        values = values[:, order]
        if not len(counts):
            return Sample(np.zeros((len(values), 0)), counts.astype(np.float64), np.ones(len(values)))
        largest = np.add.reduceat(np.abs(values), starts, axis=1).max(axis=1) * len(counts)
        if common:
            largest[:] = largest.max(initial=0.0)
        unit = np.ldexp(1.0, np.frexp(largest)[1] - 51)
        sums = np.add.reduceat(np.rint(values / unit[:, None]), starts, axis=1)
        return Sample(sums, counts.astype(np.float64), unit)

    @property
    def mean(self) -> Floats:
        """Float64 [n_series], NaN without clusters."""
        if not len(self.counts):
            return np.full(len(self.sums), np.nan)
        return np.asarray(self.sums.sum(axis=1) / self.counts.sum() * self.unit)

    def resampled(self, seed: int, resamples: int) -> Floats:
        """Means of all resamples, sorted, float64 [n_series, resamples].

        One BLAS thread: the blocks are small, a second thread gains nothing on an idle machine, and where another
        process holds a core the two wait for each other at every block (3 to 6 times slower, measured on 2 cores).
        """
        means = np.empty((len(self.sums), resamples))
        stop = 0
        with threadpool_limits(1, user_api="blas"):
            for drawn in resample_counts(seed, len(self.counts), resamples):
                start, stop = stop, stop + len(drawn)
                means[:, start:stop] = self.sums @ drawn.T / (drawn @ self.counts)
        means *= self.unit[:, None]
        means.sort(axis=1)
        return means

    def acceleration(self) -> Floats:
        """Skewness of the leave-one-cluster-out means, over 6; 0 where they are all equal. Float64 [n_series]."""
        left_out = (self.sums.sum(axis=1, keepdims=True) - self.sums) / (self.counts.sum() - self.counts)
        shift = left_out.mean(axis=1, keepdims=True) - left_out
        square = shift * shift
        variance: Floats = square.sum(axis=1)
        skew: Floats = (square * shift).sum(axis=1)
        return np.divide(skew, 6 * variance * np.sqrt(variance), out=np.zeros(len(skew)), where=variance > 0)


def _bootstrap(sample: Sample, seed: int, resamples: int, confidence: float, method: Method) -> tuple[Floats, Floats]:
    means = sample.resampled(seed, resamples)
    tail = (1 - confidence) / 2
    ends = np.full((2, len(means)), [[tail], [1 - tail]])
    if method == "bca":
        ends = _bca_ends(means, sample, tail)
    return _quantile(means, ends[0]), _quantile(means, ends[1])


def _bca_ends(means: Floats, sample: Sample, tail: float) -> Floats:
    """The two probabilities [2, n_series] at which BCa reads the sorted means (Efron and Tibshirani 1993, 14.3).

    The share of resamples below the mean is kept half a resample away from 0 and 1: their normal score is infinite.
    """
    resamples = means.shape[1]
    mean = sample.mean[:, None]
    below = ((means < mean).sum(axis=1) + (means <= mean).sum(axis=1)) / (2 * resamples)
    bias = ndtri(np.clip(below, 0.5 / resamples, 1 - 0.5 / resamples))
    shifted = bias + np.asarray([[ndtri(tail)], [-ndtri(tail)]])
    return np.asarray(ndtr(bias + shifted / (1 - sample.acceleration() * shifted)))


def _quantile(ordered: Floats, probability: Floats) -> Floats:
    """Quantile of each sorted row [n, m] at its own probability [n], linear between order statistics (NumPy's)."""
    at = probability * (ordered.shape[1] - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, ordered.shape[1] - 1)
    rows = np.arange(len(ordered))
    return np.asarray(ordered[rows, low] + (ordered[rows, high] - ordered[rows, low]) * (at - low))


def same_gaps(series: Floats) -> Iterator[tuple[Longs, Bools]]:
    """Rows of series that have values for the same queries, with that mask [n_queries]."""
    valid = ~np.isnan(series)
    groups: dict[bytes, list[int]] = {}
    for row, packed in enumerate(np.packbits(valid, axis=1)):
        groups.setdefault(packed.tobytes(), []).append(row)
    for rows in groups.values():
        yield np.asarray(rows, dtype=np.int64), valid[rows[0]]


def _parts(rows: Longs, width: int) -> list[Longs]:
    """The rows in parts that need at most `_CELLS` cells of this width (one row at least)."""
    size = max(1, _CELLS // width)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _check(series: Floats, clusters: Sequence[str] | npt.NDArray[np.generic], binary: Bools) -> None:
    if series.ndim != 2 or series.shape[1] != len(clusters) or len(binary) != len(series):
        raise EvaluationError(
            f"values {series.shape} need {series.shape[-1]} clusters and {len(series)} binary flags; "
            f"there are {len(clusters)} and {len(binary)}"
        )
    if np.isinf(series).any():
        raise EvaluationError(f"series {int(np.isinf(series).any(axis=1).argmax())} holds an infinite value")
    other = ~(np.isnan(series) | (series == 0) | (series == 1)).all(axis=1) & binary
    if other.any():
        raise EvaluationError(f"series {int(other.argmax())} is said to be 0/1, but holds other values")
