"""Refusals: the whole trade-off with the chosen point, and risk against coverage."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from evaluation.answers.findings import AnswerFindings

SIDE = 320  # pixels
MOST = 4  # lines that have a colour of their own
UNIT = [0.0, 1.0]


def lines(found: AnswerFindings) -> list[str]:
    """The generators that are drawn: over the shown strategy, the shown one first, at most four."""
    there = found.refusals[found.refusals["strategy"] == found.strategy]["generator"].astype(str)
    return sorted(dict.fromkeys(there), key=lambda name: (name != found.generator, name))[:MOST]


def tradeoff_rows(found: AnswerFindings) -> pd.DataFrame:
    """Columns generator, threshold, wrong, right: the curves that differ of the generators that are drawn."""
    rows = _drawn(found, found.tradeoff)
    curves: dict[frozenset[tuple[float, float]], str] = {}
    for name in lines(found):
        own = rows[rows["generator"] == name]
        curves.setdefault(frozenset(zip(own["wrong"], own["right"], strict=True)), name)
    return rows[rows["generator"].isin(curves.values())].reset_index(drop=True)


def chosen_rows(found: AnswerFindings) -> pd.DataFrame:
    """Where each of them stands: generator, right and wrong with their intervals, text."""
    rows = _drawn(found, found.refusals)
    text = [
        f"{row['generator']}; refuses {row['right']:.0%} of {row['unanswerable']} unanswerable questions "
        f"[{row['right_lo']:.0%}, {row['right_hi']:.0%}]; and {row['wrong']:.0%} of {row['answerable']} answerable "
        f"ones [{row['wrong_lo']:.0%}, {row['wrong_hi']:.0%}]"
        for row in rows.to_dict("records")
    ]
    return rows.assign(text=text)


def risk_rows(found: AnswerFindings) -> pd.DataFrame:
    """Columns generator, threshold, coverage, risk of the generators that are drawn."""
    return _drawn(found, found.coverage)


def tradeoff_chart(found: AnswerFindings) -> alt.TopLevelMixin:
    """The drawing of `tradeoff_rows`; a dot is what a generator refused, the dashed line is chance.

    Generators that judge the evidence alike share a curve, which has the colour of the first of them.
    """
    names = lines(found)
    percent = alt.Axis(format="%", tickCount=5)
    scale = alt.Scale(domain=UNIT, nice=False)
    x = alt.X("wrong:Q", title="answerable questions refused", scale=scale, axis=percent)
    y = alt.Y("right:Q", title="unanswerable questions refused", scale=scale, axis=percent)
    curves = alt.Chart(tradeoff_rows(found)).encode(x=x, y=y, color=_colour(names))
    points = alt.Chart(chosen_rows(found)).encode(x=x, y=y, color=_colour(names))
    chance = alt.Chart(pd.DataFrame({"x": UNIT, "y": UNIT})).mark_line(
        color="var(--muted)", strokeDash=[4, 3], strokeWidth=1.2, aria=False
    )
    return alt.layer(
        chance.encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale)),
        curves.mark_line(strokeWidth=2, aria=False).encode(order=alt.Order("threshold:Q")),
        points.mark_rule(opacity=0.4, strokeWidth=2, aria=False).encode(
            y=alt.Y("right_lo:Q", scale=scale), y2=alt.Y2("right_hi:Q")
        ),
        points.mark_rule(opacity=0.4, strokeWidth=2, aria=False).encode(
            x=alt.X("wrong_lo:Q", scale=scale), x2=alt.X2("wrong_hi:Q")
        ),
        points.mark_point(filled=True, size=110, opacity=1).encode(description=alt.Description("text:N")),
    ).properties(width=SIDE, height=SIDE)


def risk_chart(found: AnswerFindings) -> alt.TopLevelMixin:
    """The drawing of `risk_rows`: a good confidence rises from left to right."""
    names = [name for name in lines(found) if name in set(risk_rows(found)["generator"])]
    percent = alt.Axis(format="%", tickCount=5)
    scale = alt.Scale(domain=UNIT, nice=False)
    curves = alt.Chart(risk_rows(found)).encode(
        x=alt.X("coverage:Q", title="answers, most confident first", scale=scale, axis=percent),
        y=alt.Y("risk:Q", title="citations that are not relevant", scale=scale, axis=percent),
        color=_colour(names),
    )
    steps: alt.Chart = curves.mark_line(strokeWidth=2, aria=False).encode(order=alt.Order("coverage:Q"))
    return steps.properties(width=SIDE, height=SIDE)


def _drawn(found: AnswerFindings, table: pd.DataFrame) -> pd.DataFrame:
    own = (table["strategy"] == found.strategy) & table["generator"].isin(lines(found))
    return table[own].replace([float("inf"), -float("inf")], [2.0, -1.0]).reset_index(drop=True)


def _colour(names: Sequence[str]) -> alt.Color:
    return alt.Color(
        "generator:N",
        scale=alt.Scale(domain=list(names), range=[f"var(--line-{at})" for at in range(len(names))]),
        legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=200, symbolOpacity=1),
    )
