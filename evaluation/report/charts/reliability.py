"""The reliability diagram: how often claims of each probability are right, and how many claims that rests on."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from evaluation.answers.findings import AnswerFindings

SIDE, BELOW = 320, 80  # pixels
HELD = 10  # bars of counts
UNIT = [0.0, 1.0]
RIGHT, WRONG = "right", "not right"


def bin_rows(found: AnswerFindings) -> pd.DataFrame:
    """The bins of about equal numbers of what is drawn: columns as in `reliability.BINS`, and text."""
    rows = found.of_shown(found.bins)
    rows = rows[rows["binning"] == "mass"].reset_index(drop=True)
    text = [
        f"probability {row['low']:.2f} to {row['high']:.2f}, mean {row['probability']:.2f}; {row['n']} claims, "
        f"{row['rate']:.2f} of them right [{row['lo']:.2f}, {row['hi']:.2f}]; "
        f"if calibrated {row['null_lo']:.2f} to {row['null_hi']:.2f}"
        for row in rows.to_dict("records")
    ]
    return rows.assign(text=text)


def counts(found: AnswerFindings) -> pd.DataFrame:
    """Labelled claims by tenths of probability: columns start, end, label, low, high (stacked), text."""
    claims = found.of_shown(found.claims)
    claims = claims[(claims["context"] == "retrieved") & claims["right"].notna()]
    probability = pd.to_numeric(claims["probability"], errors="coerce").to_numpy(np.float64)
    edges = np.linspace(0, 1, HELD + 1)
    good = claims["right"].to_numpy(np.float64) == 1
    first, rest = (np.histogram(probability[own & ~np.isnan(probability)], edges)[0] for own in (good, ~good))
    rows = []
    for at, (right, wrong) in enumerate(zip(first.tolist(), rest.tolist(), strict=True)):
        said = f"probability {edges[at]:.1f} to {edges[at + 1]:.1f}; {right + wrong} claims, {right} of them right"
        for label, low, high in ((RIGHT, 0, right), (WRONG, right, right + wrong)):
            if high > low:
                rows.append((edges[at], edges[at + 1], label, low, high, said))
    return pd.DataFrame(rows, columns=["start", "end", "label", "low", "high", "text"])


def reliability_chart(found: AnswerFindings) -> alt.TopLevelMixin:
    """The drawing of `bin_rows` over that of `counts`; the shaded band holds 95 % of a calibrated model's bins."""
    data = bin_rows(found)
    x = alt.X("probability:Q", title=None, scale=alt.Scale(domain=UNIT, nice=False), axis=alt.Axis(labels=False))
    up = alt.Scale(domain=UNIT, nice=False)
    base = alt.Chart(data).encode(x=x)
    diagonal = alt.Chart(pd.DataFrame({"x": UNIT, "y": UNIT})).mark_line(
        color="var(--muted)", strokeDash=[4, 3], strokeWidth=1.2, aria=False
    )
    diagram = alt.layer(
        base.mark_area(color="var(--band)", aria=False).encode(
            y=alt.Y("null_lo:Q", scale=up, title="share of claims that are right"), y2=alt.Y2("null_hi:Q")
        ),
        diagonal.encode(x=alt.X("x:Q", scale=alt.Scale(domain=UNIT, nice=False)), y=alt.Y("y:Q", scale=up)),
        base.mark_rule(color="var(--top)", strokeWidth=3, opacity=0.45, aria=False).encode(
            y=alt.Y("lo:Q", scale=up), y2=alt.Y2("hi:Q")
        ),
        base.mark_point(color="var(--top)", filled=True, size=70, opacity=1).encode(
            y=alt.Y("rate:Q", scale=up), description=alt.Description("text:N")
        ),
    ).properties(width=SIDE, height=SIDE)
    return alt.vconcat(diagram, _bars(counts(found)), spacing=8)


def _bars(data: pd.DataFrame) -> alt.Chart:
    fill = alt.Color(
        "label:N",
        scale=alt.Scale(domain=[RIGHT, WRONG], range=["var(--top)", "var(--hollow)"]),
        legend=alt.Legend(symbolType="square", symbolSize=140, orient="bottom"),
    )
    bars: alt.Chart = (
        alt.Chart(data)
        .mark_bar(stroke="var(--paper)", strokeWidth=1)
        .encode(
            x=alt.X("start:Q", title="probability of a claim", scale=alt.Scale(domain=UNIT, nice=False)),
            x2=alt.X2("end:Q"),
            y=alt.Y("low:Q", title="claims", axis=alt.Axis(tickCount=3)),
            y2=alt.Y2("high:Q"),
            color=fill,
            description=alt.Description("text:N"),
        )
        .properties(width=SIDE, height=BELOW)
    )
    return bars
