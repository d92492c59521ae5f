"""A comparison in one sentence: what was found, how sure that is, and what would settle what is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evaluation.stats import MIN_CLUSTERS


def sentence(row: Mapping[Any, Any], margin: float, family: int) -> str:
    """What one row of the comparisons says.

    Args:
        row: a row of `compare.COLUMNS` on the primary metric.
        margin: differences up to this do not matter.
        family: how many comparisons were corrected together.
    """
    a, b, found = row["a"], row["b"], f"{row['diff']:+.3f} {row['metric']} [{row['lo']:+.3f}, {row['hi']:+.3f}]"
    if row["clusters"] < MIN_CLUSTERS:
        few = f"too few documents for a verdict ({row['clusters']}, {MIN_CLUSTERS} are needed)"
        return f"{a} against {b}: {found}; {few}"
    if row["verdict"] in ("higher", "lower"):
        small = f", less than the margin of {margin:g}" if abs(row["diff"]) < margin else ""
        return f"{a} is {row['verdict']} than {b}: {found}{small} ({_p(row['p_adjusted'])}{_after(family)})"
    if row["verdict"] == "equivalent":
        return f"{a} and {b} are equivalent within {margin:g}: {found} ({_p(row['p_equivalent'])}{_after(family)})"
    return f"{a} against {b} is undecided: {found}{_yet(row, family)}; {_open(row)}"


def turned(row: Mapping[Any, Any]) -> dict[Any, Any]:
    """The same comparison seen from b."""
    other = {"higher": "lower", "lower": "higher"}
    return {
        **row,
        "a": row["b"],
        "b": row["a"],
        "diff": -row["diff"],
        "lo": -row["hi"],
        "hi": -row["lo"],
        "wins": row["losses"],
        "losses": row["wins"],
        "effect": -row["effect"],
        "verdict": other.get(row["verdict"], row["verdict"]),
    }


def documents(questions: float, row: Mapping[Any, Any]) -> str:
    """A number of questions with the number of documents like these that bears them."""
    return f"{round_up(questions):,} questions ({round_up(questions * row['clusters'] / row['n']):,} documents)"


def round_up(value: float) -> int:
    """Two leading digits: a planning figure is no more exact than that."""
    if value < 10:
        return int(np.ceil(value))
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return int(np.ceil(value / unit) * unit)


def _yet(row: Mapping[Any, Any], family: int) -> str:
    """An interval that leaves out 0 while the verdict is open needs a word."""
    if family > 1 and (row["lo"] > 0 or row["hi"] < 0):
        return f", which leaves out 0, but not after correction for {family} comparisons ({_p(row['p_adjusted'])})"
    return ""


def _open(row: Mapping[Any, Any]) -> str:
    seen = f"a true difference below {row['detectable']:.3f} would mostly stay unseen here"
    if not np.isfinite(row["needed"]):
        return f"{seen}, and no number of such questions would settle a difference that small"
    return f"{seen}; about {documents(row['needed'], row)} like these would settle it"


def _p(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.001 else f"p = {value:.1g}"


def _after(family: int) -> str:
    return f", corrected for {family} comparisons" if family > 1 else ""
