"""How alike two orders of strategies are, ties included."""

from __future__ import annotations

import numpy as np

from retrieval.schema import Floats

PLACES = 12  # decimal places at which two means are a tie


def tau_b(a: Floats, b: Floats) -> float:
    """Kendall's tau-b of two lists of scores: concordant minus discordant pairs, corrected for ties.

    Kendall (1945), "The treatment of ties in ranking problems", Biometrika 33. NaN where one list is all ties.
    """
    first, second = _signs(a), _signs(b)
    spread = np.sqrt(float((first**2).sum()) * float((second**2).sum()))
    return float((first * second).sum() / spread) if spread else float("nan")


def tau_ap(reference: Floats, other: Floats) -> float:
    """AP correlation: as tau, but a swap near the top of `other` costs more.

    2 / (n - 1) * sum over the ranks i from 2 of C(i) / (i - 1), minus 1, where C(i) counts what stands above rank i
    in `other` and above that item in `reference` too. Yilmaz, Aslam and Robertson (SIGIR 2008), "A new rank
    correlation coefficient for information retrieval". A pair that is tied in `reference` counts half; ties in
    `other` count as their mean over all ways to break them. Not symmetric. NaN for fewer than two items.
    """
    n = len(other)
    if n < 2:
        return float("nan")
    above = (_signs(reference) + 1) / 2  # [i, j]: 1 where i is better than j in the reference, .5 for a tie
    total = 0.0
    scores = np.round(other, PLACES)
    for score in np.unique(scores):
        group, better = scores == score, scores > score
        p, size = int(better.sum()), int(group.sum())
        right = above[np.ix_(better, group)].sum(axis=0).mean()  # of the p items above, for a mean member
        within = np.arange(size)  # members above, for the member at each place of the group
        ranks = p + within  # items above
        counted = ranks > 0
        total += float(((right + within / 2)[counted] / ranks[counted]).sum())
    return 2 * total / (n - 1) - 1


def _signs(scores: Floats) -> Floats:
    """Float64 [n, n]: 1 where the row's score is higher than the column's, -1 where lower, 0 for a tie."""
    rounded = np.round(scores, PLACES)
    return np.sign(rounded[:, None] - rounded[None])
