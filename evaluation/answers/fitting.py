"""Fit probabilities to labels of development questions, whole documents left out in turn.

Thresholds are chosen on out-of-fold probabilities: those of the fit itself look better than they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from evaluation.answers.fitted import apply
from evaluation.errors import EvaluationError
from evaluation.tune.folds import make_folds
from retrieval.schema import Floats

FOLDS = 5
PLACES = 6  # of coefficients: what solvers agree on, so that equal data give equal bytes
Model = dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """A model of all labels, as `fitted.apply` takes it, and the probability that each row gets out of its fold.

    `out_of_fold` float64 [n]: by a model that has seen no row of the same document.
    """

    model: Model
    out_of_fold: Floats


def fit_logistic(
    features: pd.DataFrame,
    labels: npt.ArrayLike,
    clusters: Sequence[str],
    seed: int,
    strength: float = 1.0,
    n_folds: int = FOLDS,
) -> Fit:
    """Logistic regression on standardised features with an L2 penalty (scikit-learn).

    Args:
        features: floats [n rows], one named column a feature.
        labels: [n], 0 or 1.
        clusters: [n], the source document of each row.
        seed: of the folds.
        strength: scikit-learn's C; the smaller, the stronger the penalty.
        n_folds: of the cross-validation, at most as many as documents.

    Raises:
        EvaluationError: labels of one sort only (also in the training part of a fold), a value that is not finite, or
            fewer than two documents.
    """
    return _cross_validated(_ordered(features, labels, clusters), list(features.columns), strength, seed, n_folds)


def _ordered(features: pd.DataFrame, labels: npt.ArrayLike, clusters: Sequence[str]) -> pd.DataFrame:
    """Features with label and cluster in an order that does not depend on that of the rows; the index is their place.

    Raises:
        EvaluationError: see `fit_logistic`.
    """
    label = np.asarray(labels, dtype=np.float64)
    if len(features) != len(label) or len(label) != len(clusters):
        raise EvaluationError(f"{len(features)} rows of features, {len(label)} labels, {len(clusters)} clusters")
    if not np.isin(label, (0.0, 1.0)).all() or len(np.unique(label)) < 2:
        raise EvaluationError("a calibration needs labels 0 and 1, some of either")
    if not np.isfinite(features.to_numpy(np.float64)).all():
        raise EvaluationError("a feature holds a value that is not finite")
    if len(set(clusters)) < 2:
        raise EvaluationError("a calibration is checked on documents left out, so it needs two at least")
    whole = features.reset_index(drop=True).astype(np.float64).assign(_label=label, _cluster=list(clusters))
    return whole.sort_values(list(whole.columns), kind="stable")


def _cross_validated(table: pd.DataFrame, names: Sequence[str], strength: float, seed: int, n_folds: int) -> Fit:
    label = table["_label"].to_numpy(np.float64)
    rows = table[list(names)]
    folds = make_folds(list(table["_cluster"]), np.ones(len(table), dtype=np.bool_), n_folds, seed)
    found = np.empty(len(table))
    for fold in range(int(folds.max()) + 1):
        inside = folds != fold
        if len(np.unique(label[inside])) < 2:
            raise EvaluationError("too few documents to calibrate on: without some of them all labels are equal")
        found[~inside] = apply(_logistic(rows[inside], label[inside], strength), rows[~inside])
    place = np.empty(len(table))
    place[table.index.to_numpy()] = found
    return Fit(_logistic(rows, label, strength), place)


def _logistic(rows: pd.DataFrame, label: Floats, strength: float) -> Model:
    from sklearn.linear_model import LogisticRegression

    values = rows.to_numpy(np.float64)
    means, scales = values.mean(axis=0).round(PLACES), values.std(axis=0).round(PLACES)
    scales[scales == 0] = 1.0
    found = LogisticRegression(C=strength, tol=1e-9, max_iter=10_000).fit((values - means) / scales, label)
    columns = zip(rows.columns, means.tolist(), scales.tolist(), found.coef_[0].round(PLACES).tolist(), strict=True)
    features = {str(name): {"mean": mean, "scale": scale, "weight": weight} for name, mean, scale, weight in columns}
    return {"intercept": round(float(found.intercept_[0]), PLACES), "features": features}
