"""Grouped cross-validation of tuned parameters: folds of whole clusters, and what tuning gains out of fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.stats import Bools, Method, intervals
from retrieval.schema import Floats, Ints

PLACES = 12  # equal rankings leave no dust in sums, so ties are ties
OUTSIDE = -1  # the fold of a question without a value


def make_folds(clusters: Sequence[str], counted: Bools, n_folds: int, seed: int) -> Ints:
    """The fold of every question, int32 [n_queries], `OUTSIDE` where it does not count.

    A cluster's questions stay together. Clusters are dealt largest first, equal sizes in seeded order, each to the
    fold with the fewest questions so far (ties: the first). The order of the questions does not matter. There are at
    most as many folds as clusters.

    Args:
        clusters: [n_queries], the source document of each question.
        counted: bool [n_queries], the questions that have a value.
        n_folds: how many are wanted.
        seed: of the order of equal clusters.
    """
    folds = np.full(len(clusters), OUTSIDE, dtype=np.int32)
    _, place, sizes = np.unique(np.asarray(clusters)[counted], return_inverse=True, return_counts=True)
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    fold_of = np.zeros(len(sizes), dtype=np.int32)
    load = np.zeros(min(n_folds, len(sizes)), dtype=np.int64)
    for cluster in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold_of[cluster] = np.argmin(load)
        load[fold_of[cluster]] += sizes[cluster]
    folds[counted] = fold_of[place]
    return folds


def fold_means(values: Floats, folds: Ints) -> Floats:
    """Mean value per fold, float64 [n_trials, n_folds], of values [n_trials, n_queries]."""
    wanted = np.arange(folds.max(initial=OUTSIDE) + 1)
    return np.stack([np.round(values[:, folds == fold].mean(axis=1), PLACES) for fold in wanted], axis=1)


def objective(means: Floats) -> Floats:
    """What is maximised: the mean over folds, float64 [n_trials]."""
    return np.asarray(np.round(means.mean(axis=1), PLACES))


def best_of_others(means: Floats) -> Ints:
    """For each fold the trial with the highest mean over the other folds (ties: the first), int32 [n_folds]."""
    others = means.sum(axis=1, keepdims=True) - means
    return np.asarray(np.argmax(np.round(others, PLACES), axis=0), dtype=np.int32)


@dataclass(frozen=True)
class Mean:
    """A mean over questions with its interval."""

    mean: float
    lo: float
    hi: float

    def wider(self, factor: float) -> Mean:
        """The same mean with both arms of the interval longer."""
        return Mean(self.mean, self.mean - factor * (self.mean - self.lo), self.mean + factor * (self.hi - self.mean))

    def text(self, signed: bool = False) -> str:
        """`0.512 [0.401, 0.620]`."""
        form = "+.3f" if signed else ".3f"
        return f"{self.mean:{form}} [{self.lo:{form}}, {self.hi:{form}}]"


@dataclass(frozen=True)
class OutOfFold:
    """Tuning as it works on documents that it has not seen: every fold scored by the best trial of the others.

    `chosen` int32 [n_folds]: those trials; `tuned`, `default`: means over questions; `gain`: their paired difference,
    its interval widened by `widening`.
    """

    chosen: Ints
    tuned: Mean
    default: Mean
    gain: Mean
    n: int
    clusters: int
    too_few: bool

    def sentence(self, strategy: str) -> str:
        """What to do with the tuned parameters."""
        keep = f"keep {strategy}"
        if self.too_few:
            return f"too few documents ({self.clusters} < 10) to tell a gain from noise: {keep}"
        if self.gain.lo > 0:
            return f"better than {strategy} beyond noise, out of fold; `test` has yet to confirm it"
        if self.gain.hi < 0:
            return f"worse than {strategy} out of fold: {keep}"
        return f"no gain beyond noise: {keep}"


def out_of_fold(
    values: Floats,
    folds: Ints,
    clusters: Sequence[str],
    seed: int,
    resamples: int = 10_000,
    confidence: float = 0.95,
    method: Method = "bca",
) -> OutOfFold:
    """Compare tuning with the default out of fold; intervals resample clusters.

    The trials themselves were proposed with all folds in sight; only the choice among them is out of fold.

    Args:
        values: float64 [n_trials, n_queries], the default first; NaN where a question has no value.
        folds: of `make_folds`.
        clusters: [n_queries].
        seed: of the resampling.
        resamples: how many.
        confidence: .95 for 95 %.
        method: of the interval.
    """
    chosen = best_of_others(fold_means(values, folds))
    counted = folds != OUTSIDE
    tuned = np.full(values.shape[1], np.nan)
    tuned[counted] = values[chosen[folds[counted]], np.flatnonzero(counted)]
    default = np.where(counted, values[0], np.nan)
    series = np.stack([tuned, default, np.round(tuned - default, PLACES)])
    found = intervals(series, clusters, seed, resamples, confidence, method)
    ends = zip(found.mean.tolist(), found.lo.tolist(), found.hi.tolist(), strict=True)
    tuned_mean, default_mean, gain = (Mean(*row) for row in ends)
    gain = gain.wider(widening(len(chosen)))
    return OutOfFold(
        chosen, tuned_mean, default_mean, gain, int(found.n[2]), int(found.n_clusters[2]), bool(found.too_few[2])
    )


def widening(n_folds: int) -> float:
    """By what the interval of a cross-validated difference is widened: sqrt(1 + n_folds / (n_folds - 1)).

    The choices of two folds rest on mostly the same questions, so their errors go together and an interval that takes
    questions for independent is too narrow: of pure noise it calls 5 to 15 % a gain instead of 2.5 %. With the
    correction it is at most 4 % at five folds (simulated, five kinds of noise). Nadeau and Bengio, "Inference for the
    Generalization Error", Machine Learning 52 (2003), section 3.
    """
    return float(np.sqrt(1 + n_folds / (n_folds - 1)))
