"""The summary as people read it: a terminal table, and the same in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from evaluation.findings import Findings

COLUMNS = ("nDCG@5", "RR", "R@5", "Judged@5")
# Columns that are words:
LEFT = (
    "strategy",
    "effect",
    "comparison",
    "verdict",
    "most lost at",
    "note",
    "question",
    "became",
    "kind",
    "leader",
    "source",
    "belief",
    "claim",
    "collection",
    "generator",
    "context",
    "level",
)
MOST_NAMED = 5  # arms that a sentence lists by name
TOO_FEW = "too few documents"


def shown_metrics(summary: pd.DataFrame, primary: str) -> list[str]:
    """The metrics that have a column: the primary first, then the usual ones that were computed."""
    there = list(dict.fromkeys(summary["metric"]))
    wanted = [primary, *COLUMNS]
    found = [name for name in dict.fromkeys(wanted) if name in there]
    return found if len(found) > 1 else list(dict.fromkeys([*found, *there]))[:4]


def leaderboard(summary: pd.DataFrame, arms: Mapping[str, Mapping[str, Any]], primary: str) -> pd.DataFrame:
    """One row per arm that ran, best mean of the primary metric first (ties by name), all cells as text."""
    metrics = shown_metrics(summary, primary)
    first = summary[summary["metric"] == metrics[0]].sort_values(["mean", "strategy"], ascending=[False, True])
    rows = [
        _row(str(name), summary[summary["strategy"] == name], arms[str(name)], metrics) for name in first["strategy"]
    ]
    return pd.DataFrame(rows)


def effect_metrics(found: pd.DataFrame, primary: str) -> list[str]:
    """The metrics whose effects are printed: the primary first, then the usual ones and what the graph adds."""
    there = list(dict.fromkeys(found["metric"]))
    wanted = [primary, "RR", "R@5", "EntCov@5", "RelCov@5"]
    return [name for name in dict.fromkeys(wanted) if name in there][:5]


def effect_cells(found: pd.DataFrame, primary: str) -> pd.DataFrame:
    """One row per effect, one column per metric: the effect with its interval, all cells as text."""
    metrics = effect_metrics(found, primary)
    cells = {(str(row.effect), str(row.metric)): _effect(row) for row in found.itertuples()}
    names = list(dict.fromkeys(found["effect"]))
    return pd.DataFrame([{"effect": name, **{m: cells[name, m] for m in metrics}} for name in names])


def _effect(row: Any) -> str:
    """An effect with its interval; a star where the interval leaves out 0."""
    star = "*" if row.lo > 0 or row.hi < 0 else ""
    return f"{row.diff:+.3f} [{row.lo:+.3f} {row.hi:+.3f}]{star}"


def effect_notes(found: pd.DataFrame, primary: str) -> list[str]:
    """What must be said beside the effects."""
    row = found[found["metric"] == primary].iloc[0]
    lines = [
        f"paired over {row['n']} questions of {row['clusters']} documents; main effect: cells with the part minus "
        "cells without; interaction: half the difference of one effect with and without the other",
        "* leaves out 0, without a correction for looking at many effects",
    ]
    return lines + ([f"{TOO_FEW}: no verdict may rest on these intervals"] if row["note"] else [])


def _row(name: str, rows: pd.DataFrame, arm: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, str]:
    by_metric = rows.set_index("metric")
    values = by_metric.to_dict("index")
    cells = {"strategy": name, "N": str(values[metrics[0]]["n"])}
    for number, metric in enumerate(metrics):
        value = values[metric]
        cells[metric] = f"{value['mean']:.3f}"
        if number < 2:
            cells[f"{metric} 95 %"] = f"{value['lo']:.3f}-{value['hi']:.3f}"
    cells["p50 ms"] = _number(arm.get("latency_p50_ms"), "{:.1f}")
    cells["p95 ms"] = _number(arm.get("latency_p95_ms"), "{:.1f}")
    size = arm.get("index_bytes")
    cells["index MB"] = _number(None if size is None else size / 1e6, "{:.1f}")
    cells["note"] = "; ".join(str(note) for note in arm.get("notes", []))
    return cells


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def as_text(table: pd.DataFrame) -> str:
    """Columns padded with blanks; names and notes left-aligned; an empty note column is left out."""
    columns = [str(column) for column in table.columns if column != "note" or table["note"].str.len().max()]
    rows = [columns, *([str(cell) for cell in row] for row in table[columns].to_numpy())]
    widths = [max(len(row[at]) for row in rows) for at in range(len(columns))]
    left = [column in LEFT for column in columns]
    lines = [
        "  ".join(
            cell.ljust(w) if is_left else cell.rjust(w) for cell, w, is_left in zip(row, widths, left, strict=True)
        )
        for row in rows
    ]
    return "\n".join([lines[0].rstrip(), "-" * max(map(len, lines)), *(line.rstrip() for line in lines[1:])])


def as_markdown(table: pd.DataFrame) -> str:
    """A Markdown table; `|` in a cell is escaped."""
    head = "| " + " | ".join(table.columns) + " |"
    rule = "|" + "|".join(" --- " if column in LEFT else " ---: " for column in table.columns) + "|"
    rows = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in table.to_numpy()]
    return "\n".join([head, rule, *rows])


def caveats(manifest: Mapping[str, Any], summary: pd.DataFrame, primary: str) -> list[str]:
    """Sentences that must stand beside the table: what N is, what was left out, what the intervals can bear."""
    benchmark = manifest["benchmark"]
    lines = [
        f"split {manifest['split']}: {benchmark['queries']} questions, {benchmark['judged']} of them with a relevant "
        f"judgment, from {benchmark['clusters']} source documents; depth {manifest['depth']}; "
        f"credit={manifest['credit']}"
    ]
    if benchmark["unjudged"]:
        lines.append(f"{benchmark['unjudged']} questions without a relevant judgment are left out of relevance means")
    if benchmark["orphans"]:
        lines.append(f"{benchmark['orphans']} judged spans were not found in the corpus")
    if benchmark["uncovered"]:
        lines.append(f"{benchmark['uncovered']} judged spans are in no indexed chunk (a reference list, say)")
    ordering = summary[summary["metric"] == primary]
    if (ordering["note"] == TOO_FEW).any():
        few = int(ordering["clusters"].min())
        lines.append(f"{TOO_FEW} ({few} < 10): the intervals are shown, no verdict may rest on them")
    judged = summary[summary["metric"].str.startswith("Judged@") & (summary["mean"] < 0.8)]
    if len(judged):
        low = list(dict.fromkeys(judged["strategy"]))
        n_arms = summary["strategy"].nunique()
        which = ", ".join(low) if len(low) <= MOST_NAMED else f"{len(low)} of {n_arms} arms"
        lines.append(f"few retrieved chunks are judged (below .8) for {which}: their scores are lower bounds")
    if manifest["split"] == "all":
        lines.append("split=all mixes dev and test: contaminated if anything was tuned")
    return lines


def ledger_line(findings: Findings) -> list[str]:
    """How often this split was read, and what that is worth; empty where it does not count yet."""
    if findings.readings < 2:
        return []
    many = f"{findings.readings} configurations have read this {findings.manifest['split']} split"
    if findings.chance <= 0:
        return [many]
    best = f"the best of {findings.readings} equal strategies would lead the average one by {findings.chance:.3f}"
    return [f"{many}: {best} {findings.primary} by chance"]


def shown_text(findings: Findings) -> str:
    """What a run prints: table, verdict, effects of a factorial, what must be said beside them, who is missing."""
    summary, effects, primary = findings.summary, findings.effects, findings.primary
    blocks = []
    if len(summary):
        blocks.append(as_text(leaderboard(summary, findings.arms, primary)))
    blocks.append("\n".join([findings.verdict.sentence, *(f"  {line}" for line in findings.verdict.reasons)]))
    if len(effects):
        blocks.append("\n".join([as_text(effect_cells(effects, primary)), *effect_notes(effects, primary)]))
    said = [*caveats(findings.manifest, summary, primary), *ledger_line(findings), *not_run(findings.arms)]
    return "\n\n".join([*blocks, "\n".join(said)])


def not_run(arms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Who is absent or failed, and why; arms with one reason share a line."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, arm in arms.items():
        if arm["state"] != "ran":
            reasons.setdefault((str(arm["state"]), str(arm["reason"])), []).append(name)
    return [f"{state}: {', '.join(names)}: {reason}" for (state, reason), names in reasons.items()]
