"""From values of questions to a verdict on a claim: holds, refuted, undecided, or not tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from evaluation.beliefs.claims import Claim
from evaluation.families import holm
from evaluation.randomise import sign_flips
from evaluation.stats import MIN_CLUSTERS, Bools, intervals
from retrieval.schema import Floats

HOLDS, REFUTED, UNDECIDED, NOT_TESTED = "holds", "refuted", "undecided", "not tested"
ALPHA, MARGIN, FLIPS = 0.05, 0.02, 100_000


@dataclass(frozen=True)
class Ruling:
    """A claim on one collection.

    Of several contrasts `contrast`, `diff` (with its 95 % interval) and `p` (two-sided) are those of the least one,
    and where some refute, of the least of these. `why` says what is missing where nothing was tested.
    """

    verdict: str
    n: int = 0
    documents: int = 0
    contrast: str = ""
    diff: float = float("nan")
    lo: float = float("nan")
    hi: float = float("nan")
    p: float = float("nan")
    why: str = ""


def rule(claim: Claim, values: pd.DataFrame, clusters: pd.Series, seed: int, flips: int = FLIPS) -> Ruling:
    """The ruling on one claim.

    Args:
        claim: what is asserted.
        values: of the claim's metric, questions (index) by arms; only the questions that it is about.
        clusters: source document of every question, by qid.
        seed: of resampling and flips.
        flips: how many.
    """
    arms = sorted({arm for contrast in claim.contrasts.values() for arm in contrast})
    missing = [arm for arm in arms if arm not in values.columns]
    if missing:
        return Ruling(NOT_TESTED, why=f"{', '.join(missing)} did not run")
    whole = values[arms].dropna()
    groups = clusters.loc[whole.index].astype(str).to_numpy()
    n, documents = len(whole), len(set(groups))
    if documents < MIN_CLUSTERS:
        return Ruling(NOT_TESTED, n, documents, why=f"{n} questions from {documents} documents")
    names = list(claim.contrasts)
    series = np.stack([sum(w * whole[arm].to_numpy() for arm, w in claim.contrasts[name].items()) for name in names])
    series = np.round(series, 12)
    found = intervals(series, groups, seed)
    two_sided, above, below = tests(series, groups, seed, flips)
    holds, refuted = _each(claim.expect, found.mean, two_sided, above, below)
    verdict = HOLDS if holds.all() else REFUTED if refuted.any() else UNDECIDED
    least = int(np.argmin(np.where(refuted | ~refuted.any(), found.mean, np.inf)))
    diff, lo, hi, p = (float(column[least]) for column in (found.mean, found.lo, found.hi, two_sided))
    return Ruling(verdict, n, documents, names[least], diff, lo, hi, p)


def tests(
    series: Floats, clusters: Sequence[str] | npt.NDArray[np.generic], seed: int, flips: int
) -> tuple[Floats, Floats, Floats]:
    """p-values of every series [n_series, n]: of mean 0, of a mean at or below -margin, of one at or above margin."""
    against = np.vstack([series, np.zeros(series.shape[1])])
    pairs = np.asarray([(row, len(series)) for row in range(len(series))])
    return (
        sign_flips(against, pairs, clusters, seed, flips),
        sign_flips(against, pairs, clusters, seed, flips, MARGIN, "greater"),
        sign_flips(against, pairs[:, ::-1], clusters, seed, flips, MARGIN, "greater"),
    )


def _each(expect: str, mean: Floats, two_sided: Floats, above: Floats, below: Floats) -> tuple[Bools, Bools]:
    """Which contrasts hold, each at the level (all must: an intersection-union test), and which refute after Holm's.

    `above` holds where the mean is shown to be above 0, and is refuted where it is shown to lie below the margin.
    `not below` holds where it is shown to lie above minus the margin, and is refuted where it is shown to be below 0.
    """
    if expect == "above":
        holds = (two_sided < ALPHA) & (mean > 0)
        refuted = ((holm(two_sided) < ALPHA) & (mean < 0)) | (holm(below) < ALPHA)
    else:
        holds = above < ALPHA
        refuted = (holm(two_sided) < ALPHA) & (mean < 0)
    return holds, refuted & ~holds


def together(verdicts: Sequence[str]) -> str:
    """The verdict on a belief from those on its claims: what was not tested leaves it undecided at best."""
    if REFUTED in verdicts:
        return REFUTED
    if all(verdict == HOLDS for verdict in verdicts):
        return HOLDS
    return NOT_TESTED if all(verdict == NOT_TESTED for verdict in verdicts) else UNDECIDED
