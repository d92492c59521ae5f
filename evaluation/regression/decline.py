"""The gate's second question: is a strategy worse than its baseline beyond noise? Paired over the same questions.

Two one-sided tests by sign flips of whole documents, each with Holm's correction over the strategies: lower at all,
and not lower by the margin (non-inferiority: the null hypothesis is that the mean fell by the margin or more).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from evaluation.families import holm
from evaluation.qrels import Names
from evaluation.randomise import check_flips, sign_flips
from evaluation.regression.changes import SAME_WITHIN
from evaluation.regression.settings import Gate
from evaluation.regression.snapshot import KEYS, Snapshot
from evaluation.stats import MIN_CLUSTERS
from retrieval.schema import Floats

State = Literal["same", "better", "changed, not inferior", "changed, undecided", "worse"]
ALARMS = ("worse",)
TOO_FEW = "too few documents"
COLUMNS = [
    "strategy", "n", "clusters", "then", "now", "diff", "p_worse", "p_better", "p_inferior", "state", "note",
]  # fmt: skip


def declines(now: Snapshot, then: Snapshot, gate: Gate) -> pd.DataFrame:
    """One row per strategy that both have, on the primary metric, by name; columns `COLUMNS`.

    `diff` = `now` - `then`, means over the `n` questions that both sides have a value for, of `clusters` documents.
    `p_worse`, `p_better`: of a fall, of a gain; `p_inferior`: of a fall by the margin or more; all corrected.
    `state`: `same`: no value differs; `worse` and `better`: significantly so; `changed, not inferior`: neither, and a
    fall by the margin is ruled out; else `changed, undecided`. Below 10 documents nothing is tested.

    Raises:
        EvaluationError: the flips cannot resolve the corrected level.
    """
    names = sorted(now.arms.keys() & then.arms.keys())
    check_flips(gate.flips, len(names), gate.alpha)
    new, old, clusters = _series(now, then, names)
    both = ~(np.isnan(new) | np.isnan(old))
    changed = np.any(both & (np.abs(new - old) > SAME_WITHIN), axis=1)
    counted = np.asarray([len(set(clusters[row])) for row in both], dtype=np.int64)
    tested = changed & (counted >= MIN_CLUSTERS)
    worse, better, inferior = _tests(new, old, clusters, tested, gate, int(now.identity["seed"]))
    n = both.sum(axis=1)
    sums = [np.where(both, side, 0.0).sum(axis=1) for side in (old, new)]
    means = [np.divide(total, n, out=np.full(len(names), np.nan), where=n > 0) for total in sums]
    table = pd.DataFrame({"strategy": names, "n": n, "clusters": counted, "then": means[0], "now": means[1]})
    table["diff"] = table["now"] - table["then"]
    table["p_worse"], table["p_better"], table["p_inferior"] = worse, better, inferior
    states = [_state(*row, gate.alpha) for row in zip(changed, worse, better, inferior, strict=True)]
    table["state"] = np.asarray(states, dtype=object)
    table["note"] = np.where(changed & ~tested, TOO_FEW, "")
    return table[COLUMNS]


def _series(now: Snapshot, then: Snapshot, names: list[str]) -> tuple[Floats, Floats, Names]:
    """Primary values now and then, float64 [n_strategies, n_questions], and the document of each question."""
    primary, qids = str(now.identity["primary"]), sorted(now.clusters)
    cells = pd.MultiIndex.from_product([names, qids], names=KEYS)
    sides = [
        side.values.reindex(index=cells, columns=[primary]).to_numpy(np.float64).reshape(len(names), len(qids))
        for side in (now, then)
    ]
    return sides[0], sides[1], np.asarray([now.clusters[qid] for qid in qids], dtype=object)


def _tests(
    new: Floats, old: Floats, clusters: Names, tested: npt.NDArray[np.bool_], gate: Gate, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Corrected p-values of worse, better and inferior, [n_strategies]; an untested strategy has 1, and counts."""
    rows = np.flatnonzero(tested)
    values = np.vstack([new[rows], old[rows]])
    after = np.column_stack([np.arange(len(rows)), np.arange(len(rows)) + len(rows)])
    found = []
    for pairs, shift in ((after[:, ::-1], 0.0), (after, 0.0), (after, gate.margin)):
        p = np.ones(len(new))
        if len(rows):
            p[rows] = sign_flips(values, pairs, clusters, seed, gate.flips, shift, "greater")
        found.append(holm(p))
    return found[0], found[1], found[2]


def _state(changed: bool, worse: float, better: float, inferior: float, alpha: float) -> State:
    if not changed:
        return "same"
    if worse <= alpha:
        return "worse"
    if better <= alpha:
        return "better"
    return "changed, not inferior" if inferior <= alpha else "changed, undecided"
