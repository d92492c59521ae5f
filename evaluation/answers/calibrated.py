"""Calibration of every strategy and generator: scores, bins, levels and their order, for answers from retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from evaluation.answers import levels, reliability
from evaluation.answers.tables import RETRIEVED
from evaluation.stats import MIN_CLUSTERS

OF = ["strategy", "generator"]
CALIBRATION = [*OF, "binning", "bins", "n", "clusters", "rate", "brier", "reliability", "resolution", "uncertainty"]
CALIBRATION += ["within", "skill", "ece", "ece_null", "ece_null_hi", "ece_p", "note"]
BINS = [*OF, "binning", *reliability.BINS]
LEVELS, ORDER = [*OF, "by", *levels.COLUMNS], [*OF, "by", *levels.ORDER]
BY = ("level", "rule")  # the calibrated level, and that of the fixed rule
BINNINGS: tuple[reliability.Binning, ...] = ("mass", "width")


def calibration(claims: pd.DataFrame, seed: int, n_bins: int = reliability.N_BINS) -> pd.DataFrame:
    """Brier score with its parts and calibration error with its null, columns `CALIBRATION`.

    `claims`: as `labels.label_claims` returns them; those with a probability and a label count. A row for each way
    of binning, equal `mass` and equal `width`.
    """
    rows = []
    for group, own in _groups(_known(claims)):
        probability, label = (own[name].to_numpy(np.float64) for name in ("probability", "right"))
        clusters = own["cluster"].nunique()
        for binning in BINNINGS:
            member = reliability.members(probability, n_bins, binning)
            found = reliability.brier(probability, label, member)
            error = reliability.calibration_error(probability, label, member, seed)
            rows.append(
                (
                    *(*group, binning, int(member.max()) + 1, len(own), clusters, float(label.mean()), found.score),
                    *(found.reliability, found.resolution, found.uncertainty, found.within, found.skill),
                    *(error.error, error.null_mean, error.null_high, error.p),
                    "too few documents" if clusters < MIN_CLUSTERS else "",
                )
            )
    return pd.DataFrame(rows, columns=CALIBRATION)


def bins(claims: pd.DataFrame, seed: int, confidence: float = 0.95, n_bins: int = reliability.N_BINS) -> pd.DataFrame:
    """The bins behind `calibration`, columns `BINS`."""
    parts = []
    for group, own in _groups(_known(claims)):
        probability, label = (own[name].to_numpy(np.float64) for name in ("probability", "right"))
        for binning in BINNINGS:
            member = reliability.members(probability, n_bins, binning)
            found = reliability.bins(probability, label, member, seed, confidence)
            parts.append(found.assign(strategy=group[0], generator=group[1], binning=binning)[BINS])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=BINS)


def by_level(claims: pd.DataFrame, seed: int, resamples: int, confidence: float) -> pd.DataFrame:
    """Rates of the levels, calibrated and by the fixed rule, columns `LEVELS`."""
    return _each(claims, LEVELS, lambda own, by: levels.by_level(own, by, seed, resamples, confidence))


def order(claims: pd.DataFrame, seed: int, resamples: int, confidence: float) -> pd.DataFrame:
    """Whether neighbouring levels are in order, columns `ORDER`."""
    return _each(claims, ORDER, lambda own, by: levels.order(own, by, seed, resamples, confidence))


def _each(
    claims: pd.DataFrame, columns: list[str], make: Callable[[pd.DataFrame, str], pd.DataFrame]
) -> pd.DataFrame:
    parts = [
        make(own, by).assign(strategy=group[0], generator=group[1], by=by)[columns]
        for group, own in _groups(claims)
        for by in BY
    ]
    kept = [part for part in parts if len(part)]
    return pd.concat(kept, ignore_index=True) if kept else pd.DataFrame(columns=columns)


def _known(claims: pd.DataFrame) -> pd.DataFrame:
    """Claims with a label and a probability: None and NaN are none."""
    probability = pd.to_numeric(claims["probability"], errors="coerce")
    return claims[claims["right"].notna() & probability.notna()]


def _groups(claims: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    own = claims[claims["context"] == RETRIEVED]
    for (strategy, generator), rows in own.groupby(OF, sort=True):
        yield (str(strategy), str(generator)), rows
