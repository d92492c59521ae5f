"""Curves over all thresholds: right refusals against wrong ones, and risk against coverage."""

from __future__ import annotations

import numpy as np
import pandas as pd

from evaluation.stats import Bools
from retrieval.schema import Floats

TRADEOFF = ["threshold", "wrong", "right"]
COVERAGE = ["threshold", "coverage", "risk"]


def tradeoff(score: Floats, unanswerable: Bools) -> pd.DataFrame:
    """What refusing below each threshold does, threshold ascending, columns `TRADEOFF`.

    Args:
        score: [n] the generator's probability that a question can be answered; NaN is left out.
        unanswerable: bool [n].

    Returns:
        A row for each choice that differs: `right`, the share of unanswerable questions that are refused, and
        `wrong`, of answerable ones. Thresholds lie midway between neighbouring scores; the first refuses nothing,
        the last everything. Empty where there is no question of either sort.
    """
    known = ~np.isnan(score)
    values, cannot = score[known], unanswerable[known]
    if not cannot.any() or cannot.all():
        return pd.DataFrame(columns=TRADEOFF)
    levels = np.unique(values)
    threshold = np.concatenate([[-np.inf], (levels[:-1] + levels[1:]) / 2, [np.inf]])
    right, wrong = (np.searchsorted(np.sort(values[own]), threshold) / own.sum() for own in (cannot, ~cannot))
    return pd.DataFrame({"threshold": threshold, "wrong": wrong, "right": right})


def area(curve: pd.DataFrame) -> float:
    """Chance that an answerable question scores above an unanswerable one (ties half): the area under the curve."""
    if curve.empty:
        return float("nan")
    return float(np.trapezoid(curve["right"], curve["wrong"]))


def choose(curve: pd.DataFrame, most_wrong: float) -> float:
    """The threshold that refuses most unanswerable questions with at most this share of wrong refusals.

    Of several the one with the fewest wrong refusals. For development questions only.
    """
    allowed = curve[curve["wrong"] <= most_wrong]
    if allowed.empty:
        return float("nan")
    return float(allowed.sort_values(["right", "wrong"], ascending=[False, True], kind="stable")["threshold"].iloc[0])


def risk_coverage(confidence: Floats, loss: Floats) -> pd.DataFrame:
    """Mean loss of the most confident answers against their share (El-Yaniv and Wiener, JMLR 11, 2010).

    `loss` [n] between 0 and 1; rows with a NaN on either side are left out. Equal confidence is answered together.
    Columns `COVERAGE`: answers with at least `threshold`, coverage ascending.
    """
    known = ~(np.isnan(confidence) | np.isnan(loss))
    values, order = confidence[known], np.argsort(-confidence[known], kind="stable")
    if not len(values):
        return pd.DataFrame(columns=COVERAGE)
    ordered, total = values[order], np.cumsum(loss[known][order])
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    count = last + 1
    return pd.DataFrame({"threshold": ordered[last], "coverage": count / len(values), "risk": total[last] / count})


def area_under_risk(curve: pd.DataFrame) -> float:
    """Mean risk over the answers in the order of confidence (AURC, Geifman et al. 2019); the lower the better."""
    if curve.empty:
        return float("nan")
    width = np.diff(curve["coverage"].to_numpy(np.float64), prepend=0.0)
    return float(width @ curve["risk"].to_numpy(np.float64))
