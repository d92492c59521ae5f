"""Paired randomisation tests over whole clusters: sign flips, and equivalence by them.

Sums are exact (`stats.Sample`), and every random sign belongs to a place: block, row, cluster by its label.
So a p-value is the same to the last bit whatever the order of queries, series or pairs, and whatever the threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numba as nb
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from evaluation.errors import EvaluationError
from evaluation.schema import Longs
from evaluation.stats import Bools, Sample
from retrieval.schema import Floats

Alternative = Literal["two-sided", "greater"]
Clusters = Sequence[str] | npt.NDArray[np.generic]

FLIPS = 100_000
SLACK = 4  # units of the grid a query may add to a sum by rounding: two series and a shift, half a unit each, twice
_BLOCK = 2**18  # cells of signs or permuted labels held at once: at most 2 MB, which stays in the cache
_ROWS = 2**12  # rows of a block at most, so that many series with few clusters stay in the cache too


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
    series, labels = checked(values, clusters, flips)
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


def signs(seed: int, n_clusters: int, flips: int) -> Iterator[npt.NDArray[np.uint8]]:
    """The flips, in blocks of uint8 [block, n_clusters]: 1 keeps a cluster's sign, 0 turns it."""
    rows, width = block_rows(n_clusters), -(-n_clusters // 8)
    for block, start in enumerate(range(0, flips, rows)):
        bits = np.frombuffer(np.random.default_rng([seed, block]).bytes(rows * width), dtype=np.uint8)
        yield np.unpackbits(bits.reshape(rows, width)[: flips - start], axis=1, count=n_clusters)


def flipped_sums(sample: Sample, seed: int, flips: int) -> Iterator[Floats]:
    """Sums over clusters of every series, float64 [n_series, block], one column a flip."""
    totals = sample.sums.sum(axis=1)[:, None]
    with threadpool_limits(1, user_api="blas"):  # for the reason in `Sample.resampled`
        for block in signs(seed, len(sample.counts), flips):
            yield 2 * (sample.sums @ block.astype(np.float64).T) - totals


def block_rows(cells: int) -> int:
    """Rows of a block whose rows take so many cells; it decides which draw is whose, so nothing else may enter."""
    return max(1, min(_ROWS, _BLOCK // max(cells, 1)))


def checked(values: Floats, clusters: Clusters, draws: int) -> tuple[Floats, npt.NDArray[np.intp]]:
    """The values as [n_series, n_queries] and the clusters as numbers in the order of their labels."""
    series = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if series.ndim != 2 or series.shape[1] != len(clusters):
        raise EvaluationError(f"values {series.shape} need one cluster a query; there are {len(clusters)}")
    if np.isinf(series).any():
        raise EvaluationError(f"series {int(np.isinf(series).any(axis=1).argmax())} holds an infinite value")
    if draws < 1:
        raise EvaluationError(f"{draws} random draws give no p-value: ask for at least 1")
    return series, np.unique(np.asarray(clusters), return_inverse=True)[1].reshape(-1)


def _flipped(sample: Sample, couples: Longs, seed: int, flips: int, alternative: Alternative) -> Floats:
    """The p of pairs of rows of a sample whose last row is the shift; signs multiply series, which are fewer."""
    totals = sample.sums.sum(axis=1)
    observed = totals[couples[:, 0]] - totals[couples[:, 1]] + totals[-1]
    two_sided = alternative == "two-sided"
    least = (np.abs(observed) if two_sided else observed) - SLACK * sample.counts.sum()
    hits = np.zeros(len(couples), dtype=np.int64)
    for sums in flipped_sums(sample, seed, flips):
        _count(sums, couples, least, two_sided, hits)
    return np.asarray((1 + hits) / (1 + flips))


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


def _common_queries(valid: Bools, couples: Longs) -> Iterator[tuple[Longs, Bools]]:
    """Rows of pairs that have both values for the same queries, with that mask [n_queries]."""
    both = valid[couples[:, 0]] & valid[couples[:, 1]]
    groups: dict[bytes, list[int]] = {}
    for row, packed in enumerate(np.packbits(both, axis=1)):
        groups.setdefault(packed.tobytes(), []).append(row)
    for rows in groups.values():
        yield np.asarray(rows, dtype=np.int64), both[rows[0]]
