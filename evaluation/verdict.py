"""What the comparisons of a suite say in one sentence: a winner, a top group, or no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from evaluation.compare import DECLARED, HIGHER, LOWER, VERDICTS, family_size
from evaluation.rules import Rules
from evaluation.sentences import documents, sentence, turned
from evaluation.stats import MIN_CLUSTERS

State = Literal["winner", "top group", "no verdict"]
MOST_REASONS = 3  # comparisons of a kind that are told beside the verdict


@dataclass(frozen=True)
class Verdict:
    """The verdict on a suite, on its primary metric.

    `leader` has the best mean. `group` holds the leader and every arm that it does not beat after correction, best
    mean first; `beaten` the others. `winner` means that the group is the leader alone. `reasons`: sentences that say
    why, and what would settle what is open.
    """

    state: State
    sentence: str
    leader: str = ""
    group: tuple[str, ...] = ()
    beaten: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def suite_verdict(comparisons: pd.DataFrame, summary: pd.DataFrame, rules: Rules, same: Mapping[str, str]) -> Verdict:
    """Who leads, and whom that leader beats after correction for all pairs.

    The leader is chosen after looking, so a declared family that is smaller than all pairs does not count here.

    Args:
        comparisons: as `compare` makes them.
        summary: means with intervals of every arm.
        rules: of the comparisons.
        same: the arm whose ranking an arm repeats; it shares the fate of that arm and is not named.
    """
    means = _means(summary, rules, same)
    if not means:
        return Verdict("no verdict", "No verdict: no strategy ran.")
    leader = next(iter(means))
    rows = comparisons[comparisons["metric"] == rules.primary] if len(comparisons) else comparisons
    if len(means) < 2 or not len(rows):
        return Verdict("no verdict", f"No verdict: {leader} is alone; nothing to compare it with.", leader, (leader,))
    first = rows.iloc[0]
    on = f"{first['n']} questions from {first['clusters']} documents"
    if first["clusters"] < MIN_CLUSTERS:
        said = f"No verdict: {first['clusters']} documents are too few ({MIN_CLUSTERS} are needed). {_best(means)}"
        return Verdict("no verdict", said, leader, tuple(means), (), ())
    against = _against(rows, leader, rules.alpha)
    group = tuple(name for name in means if name == leader or not against[name]["beaten"])
    beaten = tuple(name for name in means if name not in group)
    said_of = partial(_said, against, rules, rows)
    reasons = [_best(means), *_declared(rows), *_shared(same), *said_of(beaten), *said_of(group[1:])]
    reasons += _needed(against, group[1:])
    if len(group) == 1:
        rivals = f"all {len(beaten)} rivals" if len(beaten) > 1 else beaten[0]
        said = f"{leader} wins: it beats {rivals} on {rules.primary} ({on}{_correction(rows)})."
        return Verdict("winner", said, leader, group, beaten, tuple(reasons))
    if not beaten:
        said = f"No winner: {on} do not tell these {len(group)} strategies apart on {rules.primary}."
    else:
        which = f"{len(group)} of {len(means)} strategies share the top group on {rules.primary}"
        said = f"No winner: {which} ({on}{_correction(rows)})."
    return Verdict("top group", said, leader, group, beaten, tuple(reasons))


def _means(summary: pd.DataFrame, rules: Rules, same: Mapping[str, str]) -> dict[str, str]:
    """The rivals with mean and interval as text, best mean first (ties by name)."""
    if not len(summary):
        return {}
    rows = summary[(summary["metric"] == rules.primary) & ~summary["strategy"].isin({*same, *rules.bounds})]
    rows = rows.sort_values(["mean", "strategy"], ascending=[False, True])
    return {
        str(row.strategy): f"{row.mean:.3f} {rules.primary} [{row.lo:.3f}, {row.hi:.3f}]" for row in rows.itertuples()
    }


def _against(rows: pd.DataFrame, leader: str, alpha: float) -> dict[str, dict[Any, Any]]:
    """The leader's comparison with every rival, seen from the leader, corrected over all pairs."""
    found: dict[str, dict[Any, Any]] = {}
    for row in rows.to_dict("records"):
        if leader in (row["a"], row["b"]):
            seen: dict[Any, Any] = row if row["a"] == leader else turned(row)
            found[str(seen["b"])] = {**seen, "beaten": bool(row["p_all_pairs"] < alpha and seen["diff"] > 0)}
    return found


def _best(means: Mapping[str, str]) -> str:
    leader = next(iter(means))
    return f"{leader} has the best mean: {means[leader]}."


def _declared(rows: pd.DataFrame) -> list[str]:
    """How the declared comparisons ended, and those that were decided."""
    declared = rows[rows["family"] == DECLARED]
    if not len(declared):
        return []
    counts = declared["verdict"].value_counts()
    ended = ", ".join(f"{counts[name]} {name}" for name in VERDICTS if name in counts)
    decided = declared.loc[declared["verdict"].isin([HIGHER, LOWER]), "sentence"]
    return [f"{len(declared)} declared comparisons: {ended}.", *(f"{line}." for line in decided[:MOST_REASONS])]


def _shared(same: Mapping[str, str]) -> list[str]:
    return [f"{name} ranks exactly as {original} and is counted once." for name, original in same.items()]


def _said(
    against: Mapping[str, Mapping[Any, Any]], rules: Rules, rows: pd.DataFrame, names: Sequence[str]
) -> list[str]:
    """How the leader stands to the first of these."""
    first = [against[name] for name in names[:MOST_REASONS]]
    return [f"{sentence(row, rules.margin, family_size(rows, row['family']))}." for row in first]


def _needed(against: Mapping[str, Mapping[Any, Any]], group: Sequence[str]) -> list[str]:
    """What would settle all that is open, where more is open than is told one by one."""
    open_ = [against[name] for name in group if np.isfinite(against[name]["needed"])]
    if len(group) <= MOST_REASONS or not open_:
        return []
    most = max(open_, key=lambda row: float(row["needed"]))
    return [f"To settle every comparison of the leader takes about {documents(most['needed'], most)}."]


def _correction(rows: pd.DataFrame) -> str:
    return f", corrected for {len(rows)} comparisons" if len(rows) > 1 else ""
