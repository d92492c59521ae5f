"""What several parts of a report ask of the findings: orders, roles, and the sentences that stand beside figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evaluation import table
from evaluation.findings import Findings
from evaluation.sentences import turned

WINNER, TOP, BEATEN, OTHER, OPEN = "winner", "top group", "beaten", "not compared", "no verdict"


def title(manifest: Mapping[str, Any]) -> str:
    """Name of the run, its benchmark, split and time."""
    return f"{manifest['name']} on {manifest['benchmark']['name']} ({manifest['split']}), {manifest['time']}"


def ordering(findings: Findings) -> str:
    """The metric that orders strategies: the primary one, or the first that was computed."""
    return table.shown_metrics(findings.summary, findings.primary)[0]


def order(findings: Findings) -> list[str]:
    """The strategies that ran, best mean of the ordering metric first, ties by name."""
    if not len(findings.summary):
        return []
    rows = findings.summary[findings.summary["metric"] == ordering(findings)]
    return [str(name) for name in rows.sort_values(["mean", "strategy"], ascending=[False, True])["strategy"]]


def roles(findings: Findings) -> dict[str, str]:
    """What the verdict says of every strategy that ran, best first: top group (or winner), beaten, or neither.

    A strategy that ranks exactly as one of these shares its role.
    """
    verdict = findings.verdict
    if verdict.state == "no verdict":
        return dict.fromkeys(order(findings), OPEN)
    first = WINNER if verdict.state == "winner" else TOP
    known = dict.fromkeys(verdict.group, first) | dict.fromkeys(verdict.beaten, BEATEN)
    ranking = {name: findings.arms[name].get("fingerprint") or name for name in order(findings)}
    shared = {ranking[name]: role for name, role in known.items() if name in ranking}
    return {name: known.get(name, shared.get(ranking[name], OTHER)) for name in ranking}


def notes(findings: Findings) -> list[str]:
    """What the arms say about themselves, in the order of the leaderboard."""
    said = {name: findings.arms[name].get("notes") or [] for name in order(findings)}
    return [f"{name}: {'; '.join(str(note) for note in lines)}" for name, lines in said.items() if lines]


def means(findings: Findings, metric: str) -> dict[str, tuple[float, float, float]]:
    """Mean and the ends of its interval, by strategy."""
    rows = findings.summary[findings.summary["metric"] == metric]
    columns = (rows[name].astype(float) for name in ("mean", "lo", "hi"))
    return dict(zip(rows["strategy"].astype(str), zip(*columns, strict=True), strict=True))


def spelled(row: Mapping[Any, Any]) -> str:
    """`nDCG@5 0.612 [0.580, 0.640]` of a row of a summary."""
    return f"{row['metric']} {row['mean']:.3f} [{row['lo']:.3f}, {row['hi']:.3f}]"


def margin(findings: Findings) -> float | None:
    """Differences of the primary metric up to this do not matter; None where no margin is set."""
    settings = findings.manifest.get("config", {}).get("eval", {})
    value = settings.get("margin") if isinstance(settings, Mapping) else None
    return None if value is None else float(value)


def pairs(findings: Findings) -> pd.DataFrame:
    """The comparisons on the primary metric; empty where there is none."""
    rows = findings.comparisons
    return rows[rows["metric"] == findings.primary].reset_index(drop=True) if len(rows) else rows


def flipped(rows: pd.DataFrame) -> pd.DataFrame:
    """The same comparisons seen from `b`."""
    seen = [turned(row) for row in rows.to_dict("records")]
    return pd.DataFrame(seen, index=rows.index, columns=rows.columns) if seen else rows


def said(findings: Findings) -> list[str]:
    """What must stand beside the figures: caveats, and who did not run and why."""
    return [*table.caveats(findings.manifest, findings.summary, findings.primary), *table.not_run(findings.arms)]
