"""Randomisation tests over whole clusters: paired sign flips, step-down max-T, Tukey's HSD, equivalence, Holm.

Sums are exact (`stats.Sample`), and every random sign belongs to a place: block, row, cluster by its label.
So a p-value is the same to the last bit whatever the order of queries, series or pairs, and whatever the threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numba as nb
import numpy as np
import numpy.typing as npt
from scipy.special import stdtr
from threadpoolctl import threadpool_limits

from evaluation.errors import EvaluationError
from evaluation.schema import Longs
from evaluation.stats import Bools, Sample
from retrieval.schema import Floats

Alternative = Literal["two-sided", "greater"]
Clusters = Sequence[str] | npt.NDArray[np.generic]

FLIPS = 100_000
ROUNDS = 10_000
_BLOCK = 2**18  # cells of signs or permuted labels held at once: at most 2 MB, which stays in the cache
_ROWS = 2**12  # rows of a block at most, so that many series with few clusters stay in the cache too
_SLACK = 4  # units of the grid a query may add to a sum by rounding: two series and a shift, half a unit each, twice


def flips_for(family: int, alpha: float = 0.05) -> int:
    """The fewest flips that resolve p-values of so many comparisons: alpha / family is at least 10 / flips."""
    return int(np.ceil(10 * max(family, 1) / alpha - 1e-6))


def check_flips(flips: int, family: int, alpha: float = 0.05) -> None:
    """Refuse a randomisation too coarse for the corrected level: alpha / family must be at least 10 / flips.

    Raises:
        EvaluationError: there are too few flips; the message says how many it takes.
    """
    least = flips_for(family, alpha)
    if flips < least:
        raise EvaluationError(
            f"{flips} sign flips cannot resolve p-values of {family} comparisons at {alpha:g}: "
            f"raise eval.flips to at least {least}"
        )


def sign_flips(
    values: Floats,
    pairs: npt.NDArray[np.integer],
    clusters: Clusters,
    seed: int,
    flips: int = FLIPS,
    shift: float = 0.0,
    alternative: Alternative = "two-sided",
) -> Floats:
    """p-values of paired randomisation tests of mean(a - b) + shift over queries (Fisher; Smucker et al., CIKM 2007).

    Under the null hypothesis a cluster's sum of differences is as likely with the other sign; clusters flip whole.
    p = (1 + c) / (1 + flips), with c the flips whose mean is at least as extreme as the observed one. Sums that
    differ by less than the grid resolves (1e-12 of a mean) count as equal, so that ties are not lost to rounding.

    Args:
        values: float64 [n_series, n_queries], NaN where a series has no value; a pair leaves such queries out.
        pairs: int [n_pairs, 2], rows of `values`: a, b.
        clusters: [n_queries], what flips together (the source document).
        seed: of the flips.
        flips: how many.
        shift: added to every difference.
        alternative: `two-sided`, or `greater`: only flips with a mean at least as high count.

    Returns:
        float64 [n_pairs], never 0; NaN for a pair without common queries.

    Raises:
        EvaluationError: shapes differ, a value is infinite, a pair names no series, or `flips` is below 1.
    """
    series, labels = _checked(values, clusters, flips)
    couples = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if len(couples) and (couples.min() < 0 or couples.max() >= len(series)):
        raise EvaluationError(f"a pair names series {couples.min()} to {couples.max()}; there are {len(series)}")
    p = np.full(len(couples), np.nan)
    for rows, valid in _common_queries(~np.isnan(series), couples):
        if valid.any():
            used, columns = np.unique(couples[rows], return_inverse=True)
            levels = np.vstack([series[used][:, valid], np.full(int(valid.sum()), shift)])
            sample = Sample.of(levels, np.unique(labels[valid], return_inverse=True)[1], common=True)
            p[rows] = _flipped(sample, columns.reshape(-1, 2), seed, flips, alternative)
    return p


def equivalence(
    values: Floats, pairs: npt.NDArray[np.integer], clusters: Clusters, seed: int, flips: int, margin: float
) -> Floats:
    """p-values of equivalence within +-margin: the larger of two one-sided tests (Schuirmann 1987) by sign flips.

    Arguments as `sign_flips` has them; a p of at most alpha shows |mean(a - b)| < margin at level alpha.

    Raises:
        EvaluationError: as in `sign_flips`, or the margin is not above 0.
    """
    if not margin > 0:
        raise EvaluationError(f"a margin of {margin} shows no equivalence: set a margin above 0")
    couples = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    above = sign_flips(values, couples, clusters, seed, flips, margin, "greater")
    below = sign_flips(values, couples[:, ::-1], clusters, seed, flips, margin, "greater")
    return np.maximum(above, below)


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
    statistic does. That flips preserve the signs of all differences together is exact for two systems, and for more
    holds in the mean and covariance of the cluster sums (Romano and Wolf, Econometrica 73, 2005).

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
    series, labels = _checked(values, clusters, flips)
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
    least = np.maximum(np.abs(apart.sum(axis=1)) - _SLACK * sample.counts.sum(), 0.0) ** 2 * weight
    order = np.argsort(-strength, kind="stable")
    hits = np.zeros(len(couples), dtype=np.int64)
    totals = sample.sums.sum(axis=1)
    strongest = []
    with threadpool_limits(1, user_api="blas"):  # for the reason in `Sample.resampled`
        for block in signs(seed, len(sample.counts), flips):
            sums = 2 * (sample.sums @ block.astype(np.float64).T) - totals[:, None]
            strongest.append(_count_strongest(sums, couples[order], weight[order], least[order], hits))
    adjusted = np.empty(len(couples))
    adjusted[order] = np.maximum.accumulate((1 + hits) / (1 + flips))
    level = _level(float(np.quantile(np.concatenate(strongest), 1 - alpha)), len(sample.counts))
    return Together(adjusted, float(np.clip(level, alpha / len(couples), alpha)))


def _level(strength: float, n_clusters: int) -> float:
    """The two-sided p of this strength as a t statistic: t**2 = (C - 1) r / (C - r), C - 1 degrees of freedom."""
    if n_clusters < 2 or strength >= n_clusters:
        return 0.0
    t = np.sqrt((n_clusters - 1) * strength / (n_clusters - strength))
    return float(2 * stdtr(n_clusters - 1, -t))


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
    series, labels = _checked(values, clusters, rounds)
    p = np.full((len(series), len(series)), np.nan)
    valid = ~np.isnan(series).any(axis=0)
    if valid.any() and len(series):
        sample = Sample.of(series[:, valid], np.unique(labels[valid], return_inverse=True)[1], common=True)
        ranges = np.sort(_ranges(sample, seed, rounds))
        totals = sample.sums.sum(axis=1)
        apart = np.abs(totals[:, None] - totals) - _SLACK * sample.counts.sum()
        p = (1 + rounds - np.searchsorted(ranges, apart, side="left")) / (1 + rounds)
    np.fill_diagonal(p, 1.0)
    return p


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


def signs(seed: int, n_clusters: int, flips: int) -> Iterator[npt.NDArray[np.uint8]]:
    """The flips, in blocks of uint8 [block, n_clusters]: 1 keeps a cluster's sign, 0 turns it."""
    rows, width = _rows(n_clusters), -(-n_clusters // 8)
    for block, start in enumerate(range(0, flips, rows)):
        bits = np.frombuffer(np.random.default_rng([seed, block]).bytes(rows * width), dtype=np.uint8)
        yield np.unpackbits(bits.reshape(rows, width)[: flips - start], axis=1, count=n_clusters)


def _flipped(sample: Sample, couples: Longs, seed: int, flips: int, alternative: Alternative) -> Floats:
    """P-values of pairs of rows of a sample whose last row is the shift.

    Signs multiply the sums of the series, which are fewer than the pairs; a pair is then a difference of two rows.
    """
    totals = sample.sums.sum(axis=1)
    observed = totals[couples[:, 0]] - totals[couples[:, 1]] + totals[-1]
    two_sided = alternative == "two-sided"
    least = (np.abs(observed) if two_sided else observed) - _SLACK * sample.counts.sum()
    hits = np.zeros(len(couples), dtype=np.int64)
    with threadpool_limits(1, user_api="blas"):  # for the reason in `Sample.resampled`
        for block in signs(seed, len(sample.counts), flips):
            sums = sample.sums @ block.astype(np.float64).T
            _count(2 * sums - totals[:, None], couples, least, two_sided, hits)
    return np.asarray((1 + hits) / (1 + flips))


def _ranges(sample: Sample, seed: int, rounds: int) -> Floats:
    """Range of the permuted sums, float64 [rounds].

    Within a cluster the sums are ordered by size first: a permutation then moves the same sums whatever the order of
    the series.
    """
    ordered = np.ascontiguousarray(np.sort(sample.sums, axis=0).T)
    n_clusters, n_series = ordered.shape
    ranges = np.empty(rounds)
    rows = _rows(n_clusters * n_series)
    for block, start in enumerate(range(0, rounds, rows)):
        rng = np.random.default_rng([seed, block])
        draws = rng.integers(0, 2**32, (rows, n_clusters, max(n_series - 1, 1)), dtype=np.uint32)
        _permute(ordered, draws, ranges[start : start + rows])
    return ranges


@nb.njit(cache=True)
def _count(flipped, couples, least, two_sided, hits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Add to `hits` [n_pairs] the columns of `flipped` [n_series + 1, n] in which a pair reaches its threshold."""
    shift = flipped[-1]
    for pair in range(len(couples)):
        first, second, bound = flipped[couples[pair, 0]], flipped[couples[pair, 1]], least[pair]
        found = 0
        for at in range(flipped.shape[1]):
            difference = first[at] - second[at] + shift[at]
            if two_sided:
                difference = abs(difference)
            found += difference >= bound
        hits[pair] += found


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


def _rows(cells: int) -> int:
    """Rows of a block whose rows take so many cells; it decides which draw is whose, so nothing else may enter."""
    return max(1, min(_ROWS, _BLOCK // max(cells, 1)))


def _common_queries(valid: Bools, couples: Longs) -> Iterator[tuple[Longs, Bools]]:
    """Rows of pairs that have both values for the same queries, with that mask [n_queries]."""
    both = valid[couples[:, 0]] & valid[couples[:, 1]]
    groups: dict[bytes, list[int]] = {}
    for row, packed in enumerate(np.packbits(both, axis=1)):
        groups.setdefault(packed.tobytes(), []).append(row)
    for rows in groups.values():
        yield np.asarray(rows, dtype=np.int64), both[rows[0]]


def _checked(values: Floats, clusters: Clusters, draws: int) -> tuple[Floats, npt.NDArray[np.intp]]:
    """The values as [n_series, n_queries] and the clusters as numbers in the order of their labels."""
    series = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if series.ndim != 2 or series.shape[1] != len(clusters):
        raise EvaluationError(f"values {series.shape} need one cluster a query; there are {len(clusters)}")
    if np.isinf(series).any():
        raise EvaluationError(f"series {int(np.isinf(series).any(axis=1).argmax())} holds an infinite value")
    if draws < 1:
        raise EvaluationError(f"{draws} random draws give no p-value: ask for at least 1")
    return series, np.unique(np.asarray(clusters), return_inverse=True)[1].reshape(-1)
