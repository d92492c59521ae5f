"""Rates of a judge that errs, corrected by hand labels of a part of what it judged. Pure.

Two estimators with different assumptions. `rogan_gladen` (Rogan and Gladen 1978, "Estimating prevalence from the
results of a screening test", American Journal of Epidemiology 107) needs a judge that errs equally often wherever it
is used; its labels may come from elsewhere, and need not be a random sample of right and wrong. `prediction_powered`
(Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, "Prediction-powered inference", Science 382) assumes nothing
about the judge, but the labelled rows must be a random sample of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from evaluation.errors import EvaluationError
from evaluation.stats import Bools
from retrieval.schema import Floats

Clusters = Sequence[str] | npt.NDArray[np.generic]
NO_LABELS = "too few labels"
NO_SIDE = "labels of one kind only"
USELESS = "no better than chance on the labels"
ALL_LABELLED = "no row without a label"


@dataclass(frozen=True)
class Corrected:
    """A corrected rate in 0..1 with its interval; NaN where `note` says why there is none.

    `n`: rows that the judge alone has judged; `labelled`: rows with a label that were used.
    """

    value: float
    lo: float
    hi: float
    n: int
    labelled: int
    note: str = ""


@dataclass(frozen=True)
class _Part:
    """A mean that an estimate is made of: its rows, what they deviate from it, and its factor in the estimate."""

    rows: Bools
    deviation: Floats
    factor: float


def rogan_gladen(
    judged: Floats, labels: Floats, clusters: Clusters, target: Bools | None = None, confidence: float = 0.95
) -> Corrected:
    """The true rate behind a judge's rate: (rate + specificity - 1) / (sensitivity + specificity - 1).

    The judge's rate is that of the rows without a label, so that it is independent of sensitivity and specificity,
    which the labelled rows give. The interval is that of Lang and Reiczigel (2014), "Confidence limits for prevalence
    of disease adjusted for estimated sensitivity and specificity", Preventive Veterinary Medicine 113, which holds
    with few labels too; where rows of a cluster are alike its width grows by the root of the design effect.

    Args:
        judged: 0 or 1, float64 [n]; every row has been judged.
        labels: 0 or 1, float64 [n], NaN without a label.
        clusters: [n], what may be alike (the source document).
        target: bool [n], the rows whose rate is wanted, labels of all rows being used; None: all.
        confidence: two-sided, .95 for 95 %.

    Raises:
        EvaluationError: lengths differ, or a value is not 0 or 1.
    """
    _check(judged, labels, clusters, binary=True)
    known = ~np.isnan(labels)
    open_rows = ~known if target is None else ~known & target
    right, wrong = known & (labels == 1), known & (labels == 0)
    n, n_right, n_wrong = int(open_rows.sum()), int(right.sum()), int(wrong.sum())
    none = Corrected(np.nan, np.nan, np.nan, n, n_right + n_wrong)
    if not n:
        return _noted(none, ALL_LABELLED)
    if not n_right or not n_wrong:
        return _noted(none, NO_SIDE if n_right + n_wrong else NO_LABELS)
    rate, sensitivity = float(judged[open_rows].mean()), float(judged[right].mean())
    specificity = float(1 - judged[wrong].mean())
    youden = sensitivity + specificity - 1
    z = float(ndtri(0.5 + confidence / 2))
    if youden <= 0:
        return _noted(none, USELESS)
    value = (rate + specificity - 1) / youden
    parts = (
        _Part(open_rows, judged - rate, 1 / youden),
        _Part(right, judged - sensitivity, -value / youden),
        _Part(wrong, 1 - judged - specificity, (1 - value) / youden),
    )
    lo, hi = _lang_reiczigel((rate, n), (sensitivity, n_right), (specificity, n_wrong), z, _design(parts, clusters))
    return Corrected(*_within(value, lo, hi), n, n_right + n_wrong)


def prediction_powered(judged: Floats, labels: Floats, clusters: Clusters, confidence: float = 0.95) -> Corrected:
    """The judge's mean on rows without a label, plus the mean of label minus judgment on rows with one.

    The variance is the sum of the two means' variances, by cluster where rows of one may be alike (Liang and Zeger
    1986), and the quantile Student's with the degrees of freedom of Welch (1947), since labels are few; with one row
    a cluster and many labels this is the paper's interval. A judge without any error on the labels is given one in
    the variance: none in n is no proof of none. Without rows that have no label it is the mean of the labels.

    Args:
        judged: 0 to 1, float64 [n]; every row has been judged.
        labels: 0 to 1, float64 [n], NaN without a label.
        clusters: [n], what may be alike (the source document).
        confidence: two-sided, .95 for 95 %.

    Raises:
        EvaluationError: lengths differ, or a value is outside 0..1.
    """
    _check(judged, labels, clusters, binary=False)
    known = ~np.isnan(labels)
    n, n_known = int((~known).sum()), int(known.sum())
    groups = _numbered(clusters)
    none = Corrected(np.nan, np.nan, np.nan, n, n_known)
    if len(np.unique(groups[known])) < 2 or (n and len(np.unique(groups[~known])) < 2):
        return _noted(none, NO_LABELS)
    if not n:
        mean = float(labels.mean())
        return _student(none, mean, (_Part(known, labels - mean, 1.0),), groups, 0.0, confidence)
    gap = np.where(known, labels, 0.0) - judged
    rate, rectifier = float(judged[~known].mean()), float(gap[known].mean())
    parts = (_Part(~known, judged - rate, 1.0), _Part(known, gap - rectifier, 1.0))
    floor = 0.0 if gap[known].any() else 1 / n_known**2
    return _student(none, rate + rectifier, parts, groups, floor, confidence)


def _student(
    none: Corrected, value: float, parts: tuple[_Part, ...], groups: npt.NDArray[np.intp], floor: float, level: float
) -> Corrected:
    """Value and Student's interval of a sum of means; `floor` is a variance that the last part has in addition."""
    alone = [_variance((part,), groups) for part in parts]
    alone[-1] += floor
    spread = _variance(parts, groups) + floor
    if spread == 0:
        return Corrected(*_within(value, value, value), none.n, none.labelled)
    freedom = [len(np.unique(groups[part.rows])) - 1 for part in parts]
    total = sum(alone)
    welch = total**2 / sum(one**2 / free for one, free in zip(alone, freedom, strict=True)) if total else min(freedom)
    half = float(stdtrit(welch, 0.5 + level / 2)) * float(np.sqrt(spread))
    return Corrected(*_within(value, value - half, value + half), none.n, none.labelled)


def _lang_reiczigel(
    rate: tuple[float, int], sensitivity: tuple[float, int], specificity: tuple[float, int], z: float, design: float
) -> tuple[float, float]:
    """Ends of the interval from shares with their numbers; each is drawn to one half before its variance is taken."""
    n = rate[1] + z**2
    q = (rate[0] * rate[1] + z**2 / 2) / n
    n_se, n_sp = sensitivity[1] + 2, specificity[1] + 2
    se, sp = (sensitivity[0] * sensitivity[1] + 1) / n_se, (specificity[0] * specificity[1] + 1) / n_sp
    youden = se + sp - 1
    if youden <= 0:
        return 0.0, 1.0
    p = min(max((q + sp - 1) / youden, 0.0), 1.0)
    of_se, of_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    centre = p + 2 * z**2 * (p * of_se - (1 - p) * of_sp)
    half = z * np.sqrt(design * (q * (1 - q) / n + p**2 * of_se + (1 - p) ** 2 * of_sp)) / youden
    return float(centre - half), float(centre + half)


def _design(parts: tuple[_Part, ...], clusters: Clusters) -> float:
    """How much larger the variance is than if all rows were independent (Kish 1965); never less than 1."""
    single = _variance(parts, np.arange(len(clusters), dtype=np.intp))
    grouped = _variance(parts, _numbered(clusters))
    return max(1.0, grouped / single) if single > 0 else 1.0


def _variance(parts: Sequence[_Part], groups: npt.NDArray[np.intp]) -> float:
    """Variance of a sum of means whose rows may share clusters; every part with its own small-sample factor."""
    totals = np.zeros(int(groups.max()) + 1)
    for part in parts:
        sums = np.bincount(groups[part.rows], part.deviation[part.rows], minlength=len(totals))
        size = len(np.unique(groups[part.rows]))
        totals += part.factor * sums / part.rows.sum() * np.sqrt(size / max(size - 1, 1))
    return float((totals**2).sum())


def _numbered(clusters: Clusters) -> npt.NDArray[np.intp]:
    return np.unique(np.asarray(clusters), return_inverse=True)[1].reshape(-1)


def _within(value: float, lo: float, hi: float) -> tuple[float, float, float]:
    """All three cut to 0..1."""
    return min(max(value, 0.0), 1.0), min(max(lo, 0.0), 1.0), min(max(hi, 0.0), 1.0)


def _noted(none: Corrected, note: str) -> Corrected:
    return Corrected(none.value, none.lo, none.hi, none.n, none.labelled, note)


def _check(judged: Floats, labels: Floats, clusters: Clusters, binary: bool) -> None:
    if not len(judged) == len(labels) == len(clusters) or not len(judged):
        raise EvaluationError(
            f"{len(judged)} judgments, {len(labels)} labels and {len(clusters)} clusters: one each per row"
        )
    for name, values in (("judgment", judged), ("label", labels[~np.isnan(labels)])):
        wrong = (values != 0) & (values != 1) if binary else ~((values >= 0) & (values <= 1))
        if wrong.any():
            raise EvaluationError(f"a {name} is {values[wrong][0]:g}; it must be {'0 or 1' if binary else '0 to 1'}")
