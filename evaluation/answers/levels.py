"""How often claims of each level are right, and whether the levels are in order: HIGH above MEDIUM above LOW.

Claims of one document are not independent. Wilson's interval, which takes them to be, stands beside one that
resamples whole documents, and the order is tested by the latter.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from evaluation.stats import MIN_CLUSTERS, intervals, resample_counts, wilson
from generation.schema import LEVELS
from retrieval.schema import Floats

COLUMNS = [
    "level",
    "n",
    "unlabelled",
    "right",
    "rate",
    "lo",
    "hi",
    "clusters",
    "clustered_lo",
    "clustered_hi",
    "note",
]
ORDER = ["higher", "lower", "diff", "lo", "hi", "p", "ordered"]


def by_level(
    claims: pd.DataFrame, column: str, seed: int, resamples: int = 10_000, confidence: float = 0.95
) -> pd.DataFrame:
    """One row for each level, best first, columns `COLUMNS`.

    `claims` as `labels.label_claims` returns them; `column`: `level`, or `rule` for the levels of the fixed rule.
    `n`: labelled claims, of which `right` are; `lo`, `hi`: Wilson's interval of the rate; `clustered_lo`, `_hi`: by
    documents.
    """
    rows = []
    for level in LEVELS:
        own = claims[claims[column] == level]
        known = own[own["right"].notna()]
        right = known["right"].to_numpy(np.float64)
        lo, hi = wilson([right.sum()], [len(right)], confidence)
        found = intervals(
            right[None], known["cluster"].to_numpy(dtype=str), seed, resamples=resamples, confidence=confidence
        )
        few = "too few documents" if found.n_clusters[0] < MIN_CLUSTERS else ""
        means = (int(right.sum()), float(found.mean[0]), float(lo[0]), float(hi[0]))
        clustered = (int(found.n_clusters[0]), float(found.lo[0]), float(found.hi[0]))
        rows.append((level, len(known), len(own) - len(known), *means, *clustered, few))
    return pd.DataFrame(rows, columns=COLUMNS)


def order(
    claims: pd.DataFrame, column: str, seed: int, resamples: int = 10_000, confidence: float = 0.95
) -> pd.DataFrame:
    """Each level that occurs against the next one that does: difference of their rates, columns `ORDER`.

    `lo`, `hi`: percentile interval over resampled documents; `p` = (1 + c) / (1 + resamples), with c the resamples in
    which the higher level is right no more often than the lower, or one of them does not occur; `ordered`: the
    difference is above 0.
    """
    known = claims[claims["right"].notna()]
    there = [level for level in LEVELS if (known[column] == level).any()]
    if len(there) < 2:
        return pd.DataFrame(columns=ORDER)
    names, cluster = np.unique(known["cluster"].to_numpy(dtype=str), return_inverse=True)
    right, count = (np.zeros((len(there), len(names))) for _ in range(2))
    at = np.asarray([there.index(level) for level in known[column]])
    np.add.at(right, (at, cluster), known["right"].to_numpy(np.float64))
    np.add.at(count, (at, cluster), 1.0)
    rates = np.concatenate([_rates(drawn, right, count) for drawn in resample_counts(seed, len(names), resamples)])
    seen = _rates(np.ones((1, len(names))), right, count)[0]
    tail = (1 - confidence) / 2
    rows = []
    for higher, lower in pairwise(range(len(there))):
        diff, apart = float(seen[higher] - seen[lower]), rates[:, higher] - rates[:, lower]
        lo, hi = np.nanquantile(apart, [tail, 1 - tail])
        p = (1 + int((~(apart > 0)).sum())) / (1 + len(apart))
        rows.append((there[higher], there[lower], diff, float(lo), float(hi), p, diff > 0))
    return pd.DataFrame(rows, columns=ORDER)


def _rates(drawn: Floats, right: Floats, count: Floats) -> Floats:
    """Rate of each level in resamples, float64 [n_resamples, n_levels]; NaN where a level does not occur."""
    total = drawn @ count.T
    rates: Floats = np.divide(drawn @ right.T, total, out=np.full(total.shape, np.nan), where=total > 0)
    return rates
