"""Generators side by side: means of a few metrics with intervals, a panel for each."""

from __future__ import annotations

import altair as alt
import pandas as pd

from evaluation.answers.findings import AnswerFindings
from evaluation.answers.tables import RETRIEVED
from evaluation.report.answer_tables import of_best, telling
from evaluation.report.drawing import hit

PANEL = 150  # pixels


def mean_rows(found: AnswerFindings) -> pd.DataFrame:
    """Columns name, generator, metric, n, mean, lo, hi, shown, text; answers from retrieval, best strategies first.

    `name` is the generator, with its strategy where there are several; `shown`: it is the generator that is drawn in
    the other charts.
    """
    rows = found.summary
    rows = rows[rows["metric"].isin(telling(found)) & (rows["context"] == RETRIEVED)]
    if not len(rows):
        return pd.DataFrame(columns=["name", "generator", "metric", "n", "mean", "lo", "hi", "shown", "text"])
    several = len(set(rows["strategy"])) > 1
    names = rows["generator"] + (" · " + rows["strategy"] if several else "")
    rows = rows.assign(name=names, shown=rows["generator"] == found.generator)
    rows = of_best(found, rows)
    text = [
        f"{row['name']}; {row['metric']} {row['mean']:.3f} [{row['lo']:.3f}, {row['hi']:.3f}]; {row['n']} questions"
        for row in rows.to_dict("records")
    ]
    columns = ["name", "generator", "metric", "n", "mean", "lo", "hi", "shown", "text"]
    return rows.assign(text=text)[columns].reset_index(drop=True)


def means_chart(found: AnswerFindings) -> alt.TopLevelMixin:
    """The drawing of `mean_rows`."""
    data = mean_rows(found)
    there = [metric for metric in telling(found) if metric in set(data["metric"])]
    names = list(dict.fromkeys(data["name"]))
    panels = [_panel(data[data["metric"] == metric], metric, names, first=metric == there[0]) for metric in there]
    return alt.hconcat(*panels, spacing=18)


def _panel(data: pd.DataFrame, metric: str, names: list[str], *, first: bool) -> alt.LayerChart | alt.FacetChart:
    rows = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labels=first), scale=alt.Scale(domain=names))
    base = alt.Chart(data).encode(y=rows)
    colour = alt.condition("datum.shown", alt.value("var(--top)"), alt.value("var(--none)"))
    scale = alt.Scale(domain=[0, 1], nice=False)
    across = alt.X("lo:Q", title=metric, axis=alt.Axis(tickCount=4, format="~g"), scale=scale)
    return alt.layer(
        base.mark_rule(strokeWidth=7, opacity=0.4, aria=False).encode(x=across, x2=alt.X2("hi:Q"), color=colour),
        base.mark_point(filled=True, size=60, opacity=1, aria=False).encode(x=alt.X("mean:Q"), color=colour),
        hit(base, PANEL),
    ).properties(width=PANEL, height=alt.Step(24))
