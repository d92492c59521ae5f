"""The primary metric by kind of question: described, with the number of questions behind every cell."""

from __future__ import annotations

import altair as alt
import pandas as pd

from evaluation.findings import Findings
from evaluation.report.view import order, ordering, spelled

FEW = 50  # questions of a kind below which nothing is tested


def kind_cells(findings: Findings) -> pd.DataFrame:
    """Columns strategy, kind, n, mean, lo, hi, share (0 lowest, 1 highest), label (kind with n), value, text."""
    rows = findings.kinds
    if not len(rows):
        return rows
    rows = rows[rows["metric"] == ordering(findings)]
    place = {name: at for at, name in enumerate(order(findings))}
    rows = rows.assign(place=rows["strategy"].map(place)).sort_values(["kind", "place"]).drop(columns="place")
    low, high = rows["mean"].min(), rows["mean"].max()
    most = rows.groupby("kind")["n"].max()
    return rows.assign(
        share=(rows["mean"] - low) / ((high - low) or 1),
        label=[f"{kind}|n = {most[kind]}{'*' if most[kind] < FEW else ''}" for kind in rows["kind"]],
        value=[f"{mean:.2f}".replace("0.", ".", 1) for mean in rows["mean"]],
        text=[
            f"{row['strategy']}; {row['kind']}: {spelled(row)}; {row['n']} questions"
            for row in rows.to_dict("records")
        ],
    ).reset_index(drop=True)


def kinds_chart(findings: Findings) -> alt.TopLevelMixin:
    """The drawing of `kind_cells`; the deeper the colour, the higher the mean."""
    data = kind_cells(findings)[["strategy", "label", "share", "value", "text"]]
    head = alt.Axis(orient="top", labelAngle=0, ticks=False, labelPadding=19, labelExpr="split(datum.label, '|')")
    base = alt.Chart(data).encode(
        x=alt.X("label:N", sort=None, title=None, axis=head), y=alt.Y("strategy:N", sort=None, title=None)
    )
    depth = alt.FillOpacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.03, 0.62]), legend=None)
    boxes = base.mark_rect(fill="var(--heat)", stroke="var(--paper)", strokeWidth=2)
    return alt.layer(
        boxes.encode(fillOpacity=depth, description=alt.Description("text:N")),
        base.mark_text(aria=False).encode(text=alt.Text("value:N")),
    ).properties(width=alt.Step(104), height=alt.Step(24))
