"""The share of right claims by level: the calibrated one, and beside it that of the fixed rule."""

from __future__ import annotations

import altair as alt
import pandas as pd

from evaluation.answers.findings import AnswerFindings
from generation.schema import LEVELS

PLOT = 420  # pixels
BY = {"level": "calibrated", "rule": "fixed rule"}


def level_rows(found: AnswerFindings) -> pd.DataFrame:
    """Levels with claims: by, level, n, rate, Wilson's and the documents' interval, name, number, text."""
    rows = found.of_shown(found.levels)
    rows = rows[rows["n"] > 0].reset_index(drop=True)
    by = rows["by"].map(BY)
    rows = rows.assign(by=by, name=[f"{level}, {kind}" for level, kind in zip(rows["level"], by, strict=True)])
    place = {level: at for at, level in enumerate(LEVELS)}
    rows = rows.assign(place=rows["level"].map(place)).sort_values(["by", "place"]).drop(columns="place")
    number = [f"{row['right']} of {row['n']}" for row in rows.to_dict("records")]
    text = [
        f"{row['name']}; {row['right']} of {row['n']} labelled claims are right, {row['rate']:.3f} "
        f"[{row['lo']:.3f}, {row['hi']:.3f}]; by documents [{row['clustered_lo']:.3f}, {row['clustered_hi']:.3f}]"
        for row in rows.to_dict("records")
    ]
    return rows.assign(number=number, text=text).reset_index(drop=True)


def levels_chart(found: AnswerFindings) -> alt.TopLevelMixin:
    """The drawing of `level_rows`: Wilson's interval thick, the one by documents thin."""
    data = level_rows(found)
    there = [kind for kind in BY.values() if kind in set(data["by"])]
    colours = dict(zip(BY.values(), ("var(--top)", "var(--beaten)"), strict=True))
    colour = alt.Color("by:N", scale=alt.Scale(domain=there, range=[colours[kind] for kind in there]), legend=None)
    base = alt.Chart(data).encode(y=alt.Y("name:N", sort=None, title=None))
    scale = alt.Scale(domain=[0, 1], nice=False)
    across = alt.X("lo:Q", title="share of claims that are right", scale=scale, axis=alt.Axis(format="%"))
    return alt.layer(
        base.mark_rule(strokeWidth=8, opacity=0.35, aria=False).encode(x=across, x2=alt.X2("hi:Q"), color=colour),
        base.mark_rule(strokeWidth=2, aria=False).encode(
            x=alt.X("clustered_lo:Q"), x2=alt.X2("clustered_hi:Q"), color=colour
        ),
        base.mark_point(filled=True, size=70, opacity=1, aria=False).encode(x=alt.X("rate:Q"), color=colour),
        base.mark_text(align="left", aria=False).encode(x=alt.value(PLOT + 8), text=alt.Text("number:N")),
        base.mark_bar(color="transparent", height=22).encode(
            x=alt.value(0), x2=alt.value(PLOT), description=alt.Description("text:N")
        ),
    ).properties(width=PLOT, height=alt.Step(24))
