"""Differences with their intervals against 0 and the margin: the declared comparisons, or the leader's."""

from __future__ import annotations

import altair as alt
import pandas as pd

from evaluation.findings import Findings
from evaluation.report.charts.matrix import VERDICTS
from evaluation.report.comparisons import differences, is_declared
from evaluation.report.drawing import WIDTH, hit
from evaluation.report.view import margin

PLOT = WIDTH - 150  # pixels, without the figures beside it
BESIDE = {"number": "difference", "p": "p", "count": "better / equal / worse"}
SHAPES = {"higher": "circle", "lower": "circle", "equivalent": "square", "undecided": "diamond"}


def forest_chart(findings: Findings) -> alt.TopLevelMixin:
    """The drawing of `differences`; the band is the margin within which a difference does not matter."""
    data = differences(findings)
    of = "" if is_declared(findings) else f": {data['a'].iloc[0]} minus the strategy named on the left"
    data = data.assign(
        number=[f"{diff:+.3f}".replace("-", "−") for diff in data["diff"]],
        p=[_p(value) for value in data["p_adjusted"]],
        count=[f"{row['wins']} / {row['ties']} / {row['losses']}" for row in data.to_dict("records")],
    )[["name", "diff", "lo", "hi", "verdict", "text", *BESIDE]]
    there = [verdict for verdict in VERDICTS if verdict in set(data["verdict"])]
    colour = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=there, range=[f"var(--{verdict}-line)" for verdict in there]),
        legend=alt.Legend(symbolSize=90),
    )
    shapes = [SHAPES[verdict] for verdict in there]
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=there, range=shapes), legend=None)
    base = alt.Chart(data).encode(y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=330)))
    across = alt.X(
        "lo:Q",
        scale=alt.Scale(nice=True, padding=6),
        axis=alt.Axis(tickCount=8),
        title=f"difference of {findings.primary}{of}",
    )
    spans = base.mark_rule(strokeWidth=3, aria=False).encode(x=across, x2=alt.X2("hi:Q"), color=colour)
    points = base.mark_point(filled=True, size=70, opacity=1, aria=False).encode(
        x=alt.X("diff:Q"), color=colour, shape=shape
    )
    layers = [*_margin(findings), _zero(), spans, points, *_beside(base), hit(base, PLOT)]
    return alt.layer(*layers).properties(width=PLOT, height=alt.Step(24))


def _p(value: float) -> str:
    return "–" if value != value else "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _beside(base: alt.Chart) -> list[alt.Chart]:
    """Columns of figures on the right, with their heads."""
    places = dict(zip(BESIDE, (PLOT + 60, PLOT + 108, PLOT + 236), strict=True))
    layers = []
    for column, place in places.items():
        head = alt.Chart(pd.DataFrame({"head": [BESIDE[column]]})).mark_text(
            align="right", color="var(--muted)", aria=False
        )
        layers.append(
            base.mark_text(align="right", aria=False).encode(x=alt.value(place), text=alt.Text(f"{column}:N"))
        )
        layers.append(head.encode(x=alt.value(place), y=alt.value(-9), text=alt.Text("head:N")))
    return layers


def _margin(findings: Findings) -> list[alt.Chart]:
    size = margin(findings)
    if size is None:
        return []
    ends = alt.Chart(pd.DataFrame({"from": [-size], "to": [size]}))
    band: alt.Chart = ends.mark_rect(color="var(--band)", aria=False).encode(x=alt.X("from:Q"), x2=alt.X2("to:Q"))
    return [band]


def _zero() -> alt.Chart:
    at = alt.Chart(pd.DataFrame({"zero": [0.0]}))
    line: alt.Chart = at.mark_rule(color="var(--muted)", strokeWidth=1, aria=False).encode(x=alt.X("zero:Q"))
    return line
