"""The effects of a factorial, a panel for each metric, around a line at 0."""

from __future__ import annotations

import altair as alt
import pandas as pd

from evaluation import table
from evaluation.findings import Findings
from evaluation.report.drawing import hit

PANEL = 150  # pixels


def effect_rows(findings: Findings) -> pd.DataFrame:
    """Columns effect, metric, diff, lo, hi, clear (the interval leaves out 0), text; the metrics that are printed."""
    rows = findings.effects
    rows = rows[rows["metric"].isin(table.effect_metrics(rows, findings.primary))]
    clear = (rows["lo"] > 0) | (rows["hi"] < 0)
    text = [
        f"{row['effect']}; {row['metric']} {row['diff']:+.3f} [{row['lo']:+.3f}, {row['hi']:+.3f}]"
        for row in rows.to_dict("records")
    ]
    return rows.assign(clear=clear, text=text)[["effect", "metric", "diff", "lo", "hi", "clear", "text"]]


def effects_chart(findings: Findings) -> alt.TopLevelMixin:
    """The drawing of `effect_rows`."""
    data = effect_rows(findings)
    metrics = table.effect_metrics(findings.effects, findings.primary)
    ends = [min(0.0, float(data["lo"].min())), max(0.0, float(data["hi"].max()))]
    panels = [_panel(data[data["metric"] == metric], metric, ends, first=metric == metrics[0]) for metric in metrics]
    return alt.hconcat(*panels, spacing=18)


def _panel(data: pd.DataFrame, metric: str, ends: list[float], *, first: bool) -> alt.LayerChart | alt.FacetChart:
    labels = alt.Axis() if first else alt.Axis(labels=False)
    base = alt.Chart(data).encode(y=alt.Y("effect:N", sort=None, title=None, axis=labels))
    colour = alt.condition("datum.clear", alt.value("var(--top)"), alt.value("var(--undecided-line)"))
    scale = alt.Scale(domain=ends, padding=4)
    across = alt.X("lo:Q", title=f"effect on {metric}", axis=alt.Axis(tickCount=4), scale=scale)
    zero = alt.Chart(pd.DataFrame({"zero": [0.0]}))
    return alt.layer(
        zero.mark_rule(color="var(--muted)", aria=False).encode(x=alt.X("zero:Q")),
        base.mark_rule(strokeWidth=3, aria=False).encode(x=across, x2=alt.X2("hi:Q"), color=colour),
        base.mark_point(filled=True, size=60, opacity=1, aria=False).encode(x=alt.X("diff:Q"), color=colour),
        hit(base, PANEL),
    ).properties(width=PANEL, height=alt.Step(24))
