"""Interval bars of one metric: mean and interval of every strategy, coloured by what the verdict says."""

from __future__ import annotations

import altair as alt
import pandas as pd

from evaluation.findings import Findings
from evaluation.report.drawing import WIDTH, hit
from evaluation.report.view import BEATEN, OPEN, OTHER, TOP, WINNER, order, roles

COLOURS = {WINNER: "top", TOP: "top", BEATEN: "beaten", OPEN: "none", OTHER: "hollow"}


def bars(findings: Findings, metric: str) -> pd.DataFrame:
    """Columns strategy, n, mean, lo, hi, role, text, value; strategies in the order of the primary metric."""
    role = roles(findings)
    rows = findings.summary[findings.summary["metric"] == metric].set_index("strategy")
    rows = rows.loc[[name for name in order(findings) if name in rows.index]].reset_index()
    rows["role"] = rows["strategy"].map(role)
    rows["value"] = [f"{mean:.3f}" for mean in rows["mean"]]
    rows["text"] = [
        f"{row['strategy']}; {metric} {row['mean']:.3f} [{row['lo']:.3f}, {row['hi']:.3f}]; {row['n']} questions, "
        f"{row['clusters']} documents; {row['role']}"
        for row in rows.to_dict("records")
    ]
    return rows[["strategy", "n", "mean", "lo", "hi", "role", "text", "value"]]


def axis_title(metric: str) -> str:
    """What stands below the bars."""
    return f"{metric}, mean with its 95 % interval"


def interval_chart(findings: Findings, metric: str) -> alt.TopLevelMixin:
    """The drawing of `bars`."""
    data = bars(findings, metric)
    there = [role for role in COLOURS if role in set(data["role"])]
    colour = alt.Color(
        "role:N",
        scale=alt.Scale(domain=there, range=[f"var(--{COLOURS[role]})" for role in there]),
        legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=7, symbolSize=200, symbolOpacity=1)
        if len(there) > 1
        else None,
    )
    across = alt.Scale(zero=False, nice=True, padding=6)
    base = alt.Chart(data).encode(y=alt.Y("strategy:N", sort=None, title=None))
    spans = base.mark_rule(strokeWidth=7, opacity=0.45, strokeCap="round", aria=False).encode(
        x=alt.X("lo:Q", scale=across, axis=alt.Axis(tickCount=8), title=axis_title(metric)),
        x2=alt.X2("hi:Q"),
        color=colour,
    )
    means = base.mark_point(filled=True, size=64, opacity=1, aria=False).encode(x=alt.X("mean:Q"), color=colour)
    numbers = base.mark_text(align="left", aria=False).encode(x=alt.value(WIDTH + 8), text=alt.Text("value:N"))
    return alt.layer(spans, means, numbers, hit(base, WIDTH)).properties(width=WIDTH, height=alt.Step(24))
