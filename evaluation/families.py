"""Many comparisons at once: step-down max-T, Holm, and Tukey's HSD by randomisation.

Like `randomise`, exact in their sums and indifferent to the order of queries, series and pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from evaluation.randomise import FLIPS, SLACK, Clusters, block_rows, checked, flipped_sums
from evaluation.stats import Sample
from retrieval.schema import Floats

ROUNDS = 10_000


@dataclass(frozen=True)
class Together:
    """Tests of many pairs corrected together.

    `p` float64 [n_pairs]; `level`: the two-sided level that a pair must pass on its own, so that the strongest of all
    passes it by chance with probability alpha; between alpha / n_pairs and alpha.
    """

    p: Floats
    level: float


def step_down(
    values: Floats,
    pairs: npt.NDArray[np.integer],
    clusters: Clusters,
    seed: int,
    flips: int = FLIPS,
    alpha: float = 0.05,
) -> Together:
    """Two-sided paired tests, corrected together: step-down max-T (Westfall and Young 1993, algorithm 2.8).

    All pairs share their flips, and the k-th strongest is held against the strongest of those that are not stronger.
    So pairs that rise and fall together do not count apart, as they do for Holm; a single pair keeps the p of
    `sign_flips`. A pair's strength is (sum of differences)**2 / sum of squared cluster sums, which orders as the t
    statistic does. Turning all differences of a cluster at once leaves their distribution as it is for two equal
    systems; for more it keeps mean and covariance, which is what counts with many clusters (Romano and Wolf,
    Econometrica 73, 2005). `evaluation.calibration` shows that 20 clusters are enough.

    Args:
        values: float64 [n_series, n_queries]; queries where any paired series has NaN are left out.
        pairs: int [n_pairs, 2], rows of `values`.
        clusters: [n_queries], what flips together.
        seed: of the flips.
        flips: how many.
        alpha: the error of the family, for `level`.

    Returns:
        p-values that are never 0 and at least those of `sign_flips` with the same seed; NaN without common queries.

    Raises:
        EvaluationError: shapes differ, a value is infinite, or `flips` is below 1.
    """
    series, labels = checked(values, clusters, flips)
    couples = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    used, columns = np.unique(couples, return_inverse=True)
    valid = ~np.isnan(series[used]).any(axis=0)
    if not valid.any() or not len(couples):
        return Together(np.full(len(couples), np.nan), alpha)
    sample = Sample.of(series[used][:, valid], np.unique(labels[valid], return_inverse=True)[1], common=True)
    couples = columns.reshape(-1, 2)
    apart = sample.sums[couples[:, 0]] - sample.sums[couples[:, 1]]
    square = (apart**2).sum(axis=1)
    weight = np.divide(1.0, square, out=np.zeros(len(square)), where=square > 0)
    strength = apart.sum(axis=1) ** 2 * weight
    least = np.maximum(np.abs(apart.sum(axis=1)) - SLACK * sample.counts.sum(), 0.0) ** 2 * weight
    order = np.argsort(-strength, kind="stable")
    hits = np.zeros(len(couples), dtype=np.int64)
    behind = couples[order], weight[order], least[order]
    strongest = [_count_strongest(sums, *behind, hits) for sums in flipped_sums(sample, seed, flips)]
    adjusted = np.empty(len(couples))
    adjusted[order] = np.maximum.accumulate((1 + hits) / (1 + flips))
    level = _level(float(np.quantile(np.concatenate(strongest), 1 - alpha)), len(sample.counts))
    return Together(adjusted, float(np.clip(level, alpha / len(couples), alpha)))


def holm(p: Floats) -> Floats:
    """p-values corrected for their number (Holm, Scand. J. Statist. 6, 1979); NaN stays and does not count.

    Returns:
        float64 of the same length: the k-th smallest of m times m - k + 1, at least the one before, at most 1.
    """
    given = np.asarray(p, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(given))
    order = tested[np.argsort(given[tested], kind="stable")]
    adjusted = np.full(given.shape, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * np.arange(len(order), 0, -1)), 1.0)
    return adjusted


def tukey(values: Floats, clusters: Clusters, seed: int, rounds: int = ROUNDS) -> Floats:
    """p-values of all pairs at once: randomised Tukey HSD (Carterette, TOIS 30, 2012; Sakai 2018, section 4.5).

    Under the null hypothesis a cluster's values may belong to any series: each round permutes the series within
    every cluster (its queries move together) and takes the range of their means. p = (1 + c) / (1 + rounds), with c
    the rounds whose range reaches |mean(a) - mean(b)|: corrected for all pairs as it is.

    Args:
        values: float64 [n_series, n_queries]; queries where any series has NaN are left out.
        clusters: [n_queries], what is permuted together.
        seed: of the permutations.
        rounds: how many.

    Returns:
        float64 [n_series, n_series], symmetric, diagonal 1; NaN off the diagonal without common queries.

    Raises:
        EvaluationError: shapes differ, a value is infinite, or `rounds` is below 1.
    """
    series, labels = checked(values, clusters, rounds)
    p = np.full((len(series), len(series)), np.nan)
    valid = ~np.isnan(series).any(axis=0)
    if valid.any() and len(series):
        sample = Sample.of(series[:, valid], np.unique(labels[valid], return_inverse=True)[1], common=True)
        ranges = np.sort(_ranges(sample, seed, rounds))
        totals = sample.sums.sum(axis=1)
        apart = np.abs(totals[:, None] - totals) - SLACK * sample.counts.sum()
        p = (1 + rounds - np.searchsorted(ranges, apart, side="left")) / (1 + rounds)
    np.fill_diagonal(p, 1.0)
    return p


def _level(strength: float, n_clusters: int) -> float:
    """The two-sided p of this strength as a t statistic: t**2 = (C - 1) r / (C - r), C - 1 degrees of freedom."""
    if n_clusters < 2 or strength >= n_clusters:
        return 0.0
    t = np.sqrt((n_clusters - 1) * strength / (n_clusters - strength))
    return float(2 * stdtr(n_clusters - 1, -t))


def _ranges(sample: Sample, seed: int, rounds: int) -> Floats:
    """Range of the permuted sums, float64 [rounds].

    Within a cluster the sums are ordered by size first: a permutation then moves the same sums whatever the order of
    the series.
    """
    ordered = np.ascontiguousarray(np.sort(sample.sums, axis=0).T)
    n_clusters, n_series = ordered.shape
    ranges = np.empty(rounds)
    rows = block_rows(n_clusters * n_series)
    for block, start in enumerate(range(0, rounds, rows)):
        rng = np.random.default_rng([seed, block])
        draws = rng.integers(0, 2**32, (rows, n_clusters, max(n_series - 1, 1)), dtype=np.uint32)
        _permute(ordered, draws, ranges[start : start + rows])
    return ranges


@nb.njit(cache=True)
def _count_strongest(flipped, couples, weight, least, hits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Add to `hits` [n_pairs] the columns of `flipped` in which a pair or one behind it is as strong as the pair was.

    Returns the strength of the strongest pair in every column.
    """
    found = np.zeros(flipped.shape[1])
    for at in range(flipped.shape[1]):
        strongest = 0.0
        for pair in range(len(couples) - 1, -1, -1):
            difference = flipped[couples[pair, 0], at] - flipped[couples[pair, 1], at]
            strongest = max(strongest, difference * difference * weight[pair])
            hits[pair] += strongest >= least[pair]
        found[at] = strongest
    return found


@nb.njit(cache=True)
def _permute(ordered, draws, ranges):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Range of the sums after one permutation per row and cluster (Fisher-Yates).

    A draw of 32 bits picks one of m places by its product with m: off by less than m / 2**32 from equal chances.
    """
    n_clusters, n_series = ordered.shape
    held, sums = np.empty(n_series), np.empty(n_series)
    for row in range(len(ranges)):
        sums[:] = 0.0
        for cluster in range(n_clusters):
            held[:] = ordered[cluster]
            for last in range(n_series - 1, 0, -1):
                at = (np.uint64(draws[row, cluster, last - 1]) * np.uint64(last + 1)) >> np.uint64(32)
                picked = held[at]
                held[at] = held[last]
                sums[last] += picked
            sums[0] += held[0]
        ranges[row] = sums.max() - sums.min()
