"""What a paired comparison can see: standard error over clusters, detectable difference, questions still needed.

Power comes from the noncentral t distribution with one degree of freedom less than there are clusters; the shorter
form (t of alpha + t of power) * standard error is 14 % too small with 2 clusters, and as good from 20 on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import nctdtr, nctdtrinc, stdtrit

from evaluation.stats import Sample
from retrieval.schema import Floats

DIFFERENT, EQUIVALENT = "different", "equivalent"
_MOST = 1e9  # documents; what needs more is not settled by any number
_HALVINGS = 60


def standard_error(differences: Floats, clusters: Sequence[str] | npt.NDArray[np.generic]) -> Floats:
    """Standard error of mean differences over queries that come in clusters, as of a ratio of two means.

    sqrt(C / (C - 1) * sum (D_c - n_c * mean)**2) / n over C clusters with sum D_c and n_c queries (Cochran, Sampling
    Techniques, 1977, section 9A.5); with one query a cluster the ordinary standard error of a mean.

    Args:
        differences: float64 [n_pairs, n_queries], NaN for queries that a pair leaves out.
        clusters: [n_queries], the source documents.

    Returns:
        float64 [n_pairs]; NaN with fewer than two clusters.
    """
    given = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    valid = ~np.isnan(given)
    members = np.unique(np.asarray(clusters), return_inverse=True)[1].reshape(-1)
    sample = Sample.of(np.where(valid, given, 0.0), members)
    sizes = Sample.of(valid.astype(np.float64), members)
    counts = sizes.sums * sizes.unit[:, None]
    n, n_clusters = counts.sum(axis=1), (counts > 0).sum(axis=1)
    sums = sample.sums * sample.unit[:, None]
    mean = sample.sums.sum(axis=1) * sample.unit / np.maximum(n, 1)
    square = ((sums - counts * mean[:, None]) ** 2).sum(axis=1)
    error = np.sqrt(n_clusters / np.maximum(n_clusters - 1, 1) * square) / np.maximum(n, 1)
    return np.where(n_clusters > 1, error, np.nan)


def effect_size(differences: Floats) -> Floats:
    """Cohen's d_z: mean of the paired differences over their standard deviation across queries.

    Args:
        differences: float64 [n_pairs, n_queries], NaN for queries that a pair leaves out.

    Returns:
        float64 [n_pairs]; 0 where all differences are 0, infinite where they are all the same otherwise, NaN with
        fewer than two queries.
    """
    given = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    ordered = np.ascontiguousarray(np.sort(given, axis=1))  # sums in one order, whatever the order of the queries
    valid = ~np.isnan(ordered)
    n = valid.sum(axis=1)
    mean = np.where(valid, ordered, 0.0).sum(axis=1) / np.maximum(n, 1)
    square = np.where(valid, (ordered - mean[:, None]) ** 2, 0.0).sum(axis=1)
    deviation = np.sqrt(square / np.maximum(n - 1, 1))
    same = np.where(valid, ordered == ordered[:, :1], True).all(axis=1)
    varied = np.divide(mean, deviation, out=np.zeros(len(n)), where=~same & (deviation > 0))
    constant = np.where(mean == 0, 0.0, np.copysign(np.inf, mean))
    return np.where(n > 1, np.where(same, constant, varied), np.nan)


def detectable(
    se: npt.ArrayLike, n_clusters: npt.ArrayLike, alpha: npt.ArrayLike = 0.05, power: float = 0.8
) -> Floats:
    """The true difference that a two-sided test at `alpha` finds with this power.

    `se` times the noncentrality at which t with C - 1 degrees of freedom passes its critical value so often; that a
    true difference is found with the wrong sign is left out (below 1e-5 at a power of .8).

    Args:
        se: [n_pairs], as `standard_error` gives it.
        n_clusters: [n_pairs] or one number.
        alpha: [n_pairs] or one number, of one comparison: what a correction leaves to it.
        power: share of such benchmarks in which the difference would be found.

    Returns:
        float64 [n_pairs]; NaN with fewer than two clusters.
    """
    error, free = np.broadcast_arrays(np.asarray(se, dtype=np.float64), np.asarray(n_clusters) - 1.0)
    usable, tail = np.maximum(free, 1.0), np.asarray(alpha, dtype=np.float64) / 2
    return np.where(free > 0, error * nctdtrinc(usable, 1 - power, stdtrit(usable, 1 - tail)), np.nan)


def questions_needed(
    diff: npt.ArrayLike,
    se: npt.ArrayLike,
    n: npt.ArrayLike,
    n_clusters: npt.ArrayLike,
    margin: float,
    alpha: npt.ArrayLike = 0.05,
    power: float = 0.8,
) -> tuple[Floats, npt.NDArray[np.str_]]:
    """How many questions in all, in documents like these, would settle a comparison if the truth is as observed.

    From a difference of at least the margin on: until it is found with this power by a two-sided test at `alpha`.
    Below: until equivalence within the margin is shown with this power by two one-sided tests at `alpha` (power after
    Phillips, J. Pharmacokinet. Biopharm. 18, 1990). Documents keep their questions per document, and the standard
    error falls with the square root of their number. It is a planning figure: a first estimate of a difference is
    itself uncertain.

    Args:
        diff: [n_pairs] observed mean differences.
        se: [n_pairs] their standard errors.
        n: [n_pairs] or one number: questions behind them.
        n_clusters: [n_pairs] or one number: documents behind them.
        margin: differences below this do not matter.
        alpha: [n_pairs] or one number, of one comparison: what a correction leaves to it.
        power: share of such benchmarks that would settle it.

    Returns:
        The number of questions, float64 [n_pairs], whole; infinite where a billion documents would not do, NaN
        without a standard error. And the claim that they would support: `different` or `equivalent`.
    """
    lead, error, size, groups = np.broadcast_arrays(
        np.abs(np.asarray(diff, dtype=np.float64)),
        *(np.asarray(side, dtype=np.float64) for side in (se, n, n_clusters)),
    )
    apart, level = lead >= margin, np.asarray(alpha, dtype=np.float64)
    low, high = np.full(lead.shape, 2.0), np.full(lead.shape, _MOST)
    known = np.isfinite(lead) & np.isfinite(error)

    def enough(documents: Floats) -> npt.NDArray[np.bool_]:
        scaled = error * np.sqrt(groups / documents)
        found = _passes(lead, scaled, documents, level / 2)
        inside = (
            _passes(margin - lead, scaled, documents, level) + _passes(margin + lead, scaled, documents, level) - 1
        )
        return np.asarray(np.where(apart, found, inside) >= power)

    settled, at_once = enough(high), enough(low)
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        reached = enough(middle)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    documents = np.ceil(np.where(at_once, 2.0, high) - 1e-6)
    questions = np.ceil(documents * size / np.maximum(groups, 1) - 1e-6)
    needed = np.where(known, np.where(settled, questions, np.inf), np.nan)
    return needed, np.where(apart, DIFFERENT, EQUIVALENT)


def _passes(difference: Floats, se: Floats, n_clusters: Floats, tail: Floats) -> Floats:
    """How often t passes its upper critical value of this tail if the true difference is this one.

    SciPy has NaN for probabilities that differ from 1 by less than a float can tell.
    """
    free = n_clusters - 1
    away = np.divide(difference, se, out=np.where(difference > 0, np.inf, 0.0), where=se > 0)
    found = 1 - nctdtr(free, np.minimum(away, 1e6), stdtrit(free, 1 - tail))
    return np.asarray(np.where(np.isnan(found) & (away > 0), 1.0, found))
