"""A fitted calibration as plain data, and what it says: numbers in, probabilities out, by NumPy alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.errors import EvaluationError
from retrieval.schema import Floats


def apply(model: Mapping[str, Any], columns: Mapping[str, npt.ArrayLike]) -> Floats:
    """Probabilities by a fitted model, float64 [n].

    Args:
        model: as `fitting` returns it, JSON-able: `intercept` and `features`, by name `mean`, `scale` and `weight`;
            z = intercept + sum of weight * (value - mean) / scale, 1 / (1 + exp(-z)).
        columns: [n] each, by name; others than the model's are not looked at. A data frame serves too.

    Raises:
        EvaluationError: a column is missing, or a value in it is not finite.
    """
    names = list(model["features"])
    missing = [name for name in names if name not in columns]
    if missing:
        raise EvaluationError(f"the calibration needs {missing[0]!r}; fit it again with the features there are")
    values = np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in names])
    broken = np.flatnonzero(~np.isfinite(values).all(axis=0))
    if len(broken):
        raise EvaluationError(f"feature {str(names[broken[0]])!r} holds a value that is not finite")
    rows = model["features"].values()
    mean, scale, weight = (np.asarray([row[key] for row in rows]) for key in ("mean", "scale", "weight"))
    return logistic((values - mean) / scale @ weight + float(model["intercept"]))


def logistic(z: Floats) -> Floats:
    """1 / (1 + exp(-z)) without overflow."""
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1 + small))
