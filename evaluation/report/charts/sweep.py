"""Metrics over the values of the parameter that an ablation varies, with their intervals as bands."""

from __future__ import annotations

import altair as alt
import pandas as pd

from evaluation import table
from evaluation.findings import Findings
from evaluation.report.drawing import WIDTH
from evaluation.report.view import spelled

MOST_METRICS = 4
WIDE = 100  # a parameter that spans more than this factor gets a logarithmic axis


def sweep_rows(findings: Findings) -> pd.DataFrame:
    """Columns strategy, value (of the parameter), metric, mean, lo, hi, text; empty where the run is no sweep."""
    ablation, summary = findings.ablation, findings.summary
    if ablation is None or not ablation.values or not set(ablation.values) <= set(summary["strategy"]):
        return pd.DataFrame()
    metrics = [name for name in table.shown_metrics(summary, findings.primary) if not name.startswith("Judged")]
    rows = summary[summary["strategy"].isin(ablation.values) & summary["metric"].isin(metrics[:MOST_METRICS])]
    rows = rows.assign(value=rows["strategy"].map(dict(ablation.values)))
    text = [f"{row['strategy']}; {spelled(row)}" for row in rows.to_dict("records")]
    return rows.assign(text=text)[["strategy", "value", "metric", "mean", "lo", "hi", "text"]]


def sweep_chart(findings: Findings) -> alt.TopLevelMixin:
    """The drawing of `sweep_rows`."""
    data = sweep_rows(findings)
    metrics = list(dict.fromkeys(data["metric"]))
    values = sorted(set(data["value"]))
    wide = len(values) > 2 and values[-1] > WIDE * (values[1] or 1)
    scale = alt.Scale(type="symlog" if wide else "linear", zero=False)
    parameter = findings.ablation.parameter if findings.ablation else ""
    colour = alt.Color(
        "metric:N",
        scale=alt.Scale(domain=metrics, range=[f"var(--line-{at})" for at in range(len(metrics))]),
        legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=200, symbolOpacity=1),
    )
    base = alt.Chart(data).encode(x=alt.X("value:Q", title=parameter, scale=scale, axis=alt.Axis(values=values)))
    height = alt.Y("lo:Q", title="mean with its 95 % interval", scale=alt.Scale(zero=False))
    dash = alt.StrokeDash("metric:N", scale=alt.Scale(domain=metrics), legend=None)
    return alt.layer(
        base.mark_area(opacity=0.14, aria=False).encode(y=height, y2=alt.Y2("hi:Q"), color=colour),
        base.mark_line(strokeWidth=2, aria=False).encode(y=alt.Y("mean:Q"), color=colour, strokeDash=dash),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            y=alt.Y("mean:Q"), color=colour, description=alt.Description("text:N")
        ),
    ).properties(width=WIDTH, height=260)
