"""What the gate found, as people read it: a table, a line for every alarm, the bounds, and how to accept a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import pandas as pd

from evaluation.regression import changes, decline
from evaluation.regression.changes import Change, Place
from evaluation.regression.ruling import Ruling
from evaluation.regression.settings import Gate
from evaluation.regression.snapshot import Snapshot
from evaluation.table import as_markdown, as_text

CHANGED, WORSE, COST = "did anything change?", "worse beyond noise?", "bigger or slower?"
ACCEPT = "if the change is meant, accept it: the same command with baseline=update, then commit the baseline"


def as_lines(
    ruling: Ruling, now: Snapshot, then: Snapshot, gate: Gate, where: Mapping[str, str], markdown: bool = False
) -> list[str]:
    """The whole report of the gate; `where` says of chunk ids in which document and on which page they are."""
    said = [*_alarms(ruling, gate, where), *_notes(ruling, where)]
    table = cells(ruling, str(now.identity["primary"]))
    head = f"gate: {now.name} against its baseline of {then.about['time'][:10]} (code {then.about['code'][:12]})"
    if markdown:
        body = [f"# {head}", "", f"**{verdict(ruling)}**", "", as_markdown(table), ""]
        return [*body, *(f"- {line}" for line in [*said, *_causes(ruling), *_bounds(ruling, now, gate)])]
    return [head, as_text(table), *said, *_causes(ruling), *_bounds(ruling, now, gate), verdict(ruling)]


def cells(ruling: Ruling, primary: str) -> pd.DataFrame:
    """One row per strategy, all cells as text."""
    tested = ruling.declined.set_index("strategy").to_dict("index")
    costs = ruling.costs.set_index("strategy").to_dict("index")
    return pd.DataFrame(
        [_row(change, tested.get(change.strategy), costs.get(change.strategy), primary) for change in ruling.changed]
    )


def verdict(ruling: Ruling) -> str:
    """The whole in one sentence."""
    counts = {
        "changed": sum(change.state == "changed" for change in ruling.changed),
        "did not run": sum(change.state == "missing" for change in ruling.changed),
        "worse beyond noise": int((ruling.declined["state"] == "worse").sum()),
        "with a bigger index": int(ruling.costs["bigger"].sum()),
        "slower": int(ruling.costs["slower"].sum()),
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    if ruling.code:
        return f"gate: of {len(ruling.changed)} strategies {said}"
    return f"gate: {len(ruling.changed)} strategies, nothing changed and nothing is worse"


def _row(change: Change, tested: Any, costs: Any, primary: str) -> dict[str, str]:
    row = {"strategy": change.strategy, CHANGED: change.state}
    if tested is None or costs is None:
        blank = (f"{primary} then", "now", "diff", WORSE, "p worse", "p inferior", "index", "latency")
        return row | dict.fromkeys(blank, "-")
    open_test = tested["state"] == "same" or tested["note"]
    return {
        **row,
        f"{primary} then": _figure(tested["then"], ".3f"),
        "now": _figure(tested["now"], ".3f"),
        "diff": _figure(tested["diff"], "+.4f"),
        WORSE: tested["state"] + (f" ({tested['note']})" if tested["note"] else ""),
        "p worse": "-" if open_test else f"{tested['p_worse']:.4f}",
        "p inferior": "-" if open_test else f"{tested['p_inferior']:.4f}",
        "index": _figure(costs["size"], ".2f", "x"),
        "latency": _between(costs["least"], costs["most"]),
    }


def _between(least: float, most: float) -> str:
    """A ratio, or from where to where it may lie because the processor was busy."""
    if pd.isna(least) or least > 0.9 * most:
        return _figure(most, ".2f", "x")
    return f"{least:.2f}-{most:.2f}x"


def _figure(value: float, form: str, unit: str = "") -> str:
    return "-" if pd.isna(value) else f"{value:{form}}{unit}"


def _alarms(ruling: Ruling, gate: Gate, where: Mapping[str, str]) -> list[str]:
    """A line for everything that makes the exit code 1, with the question that it answers."""
    lines = [
        f"{CHANGED} {change.strategy}: {_story(change, where)}"
        for change in ruling.changed
        if change.state in changes.ALARMS
    ]
    rows: Any = ruling.declined[ruling.declined["state"].isin(decline.ALARMS)].itertuples()
    lines += [
        f"{WORSE} {row.strategy}: {row.then:.4f} -> {row.now:.4f} over {row.n} questions of {row.clusters} documents "
        f"(p {row.p_worse:.4f})" + (f"; within the margin of {gate.margin:g}" if row.p_inferior <= gate.alpha else "")
        for row in rows
    ]
    costs: Any = ruling.costs.itertuples()
    for row in costs:
        if row.bigger:
            lines.append(f"{COST} {row.strategy}: index {row.size:.2f} times as big (bound {gate.size_ratio:g})")
        if row.slower:
            lines.append(
                f"{COST} {row.strategy}: {row.least:.1f} times as slow, in units of the calibration loop and "
                f"measured again {gate.remeasure} times (bound {gate.latency_ratio:g})"
            )
    return lines


def _notes(ruling: Ruling, where: Mapping[str, str]) -> list[str]:
    """What is worth knowing and no alarm: drift within the bound, new arms, parameters that changed nothing."""
    return [
        f"no alarm: {change.strategy}: {_story(change, where)}"
        for change in ruling.changed
        if change.state not in changes.ALARMS and change.details
    ]


def _story(change: Change, where: Mapping[str, str]) -> str:
    first = [] if change.first is None else [_first(change.first, where)]
    return "; ".join([*change.details[:1], *first, *change.details[1:]])


def _first(place: Place, where: Mapping[str, str]) -> str:
    then, now = (_chunk(chunk, where) for chunk in (place.then, place.now))
    return f"first: question {place.qid}, rank {place.rank}: {then} -> {now}"


def _chunk(chunk: str, where: Mapping[str, str]) -> str:
    name = unquote(chunk)
    return (f"{name} ({where[name]})" if where.get(name) else name) or "none"


def _causes(ruling: Ruling) -> list[str]:
    """What may be the reason; without an alarm it is no news."""
    if not ruling.code or not ruling.causes:
        return []
    return [f"what else differs: {', '.join(ruling.causes)}"]


def _bounds(ruling: Ruling, now: Snapshot, gate: Gate) -> list[str]:
    """The bounds that were applied, and what to do with a change that is meant."""
    lines = [
        "changed: any rank, or any value by more than 1e-9; neural arms may differ in "
        f"{gate.drift_places:.1%} of top-{changes.COMPARED} places and by {gate.drift_mean:g} in any mean",
        f"worse: {now.identity['primary']}, paired, one-sided, {gate.flips} sign flips of whole documents, Holm over "
        f"{len(ruling.declined)} strategies at {gate.alpha:g}; not inferior: a fall of {gate.margin:g} is ruled out",
        f"cost: index up to {gate.size_ratio:g} times, latency up to {gate.latency_ratio:g} times the baseline's",
    ]
    return lines + ([ACCEPT] if ruling.code and gate.baseline == "compare" else [])
