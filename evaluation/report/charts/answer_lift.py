"""What retrieval adds to no evidence, and judged evidence to retrieval: paired differences around a line at 0."""

from __future__ import annotations

import altair as alt
import pandas as pd

from evaluation.answers.compared import LIFTS, decides
from evaluation.answers.findings import AnswerFindings
from evaluation.report.answer_tables import of_best
from evaluation.report.charts.forest import SHAPES
from evaluation.report.charts.matrix import VERDICTS
from evaluation.report.drawing import hit

PANEL = 260  # pixels


def lift_rows(found: AnswerFindings) -> pd.DataFrame:
    """Columns name, step, diff, lo, hi, verdict, text of the lift on the metric that decides; `step` is a - b."""
    columns = ["name", "step", "diff", "lo", "hi", "verdict", "text"]
    rows = of_best(found, found.lift[found.lift["metric"] == decides(found.primary)])
    if not len(rows):
        return pd.DataFrame(columns=columns)
    several = len(set(rows["strategy"])) > 1
    name = rows["generator"] + (" · " + rows["strategy"] if several else "")
    step = rows["a"] + " − " + rows["b"]
    text = [
        f"{row['name']}; {row['step']}: {row['diff']:+.3f} {row['metric']} [{row['lo']:+.3f}, {row['hi']:+.3f}], "
        f"{row['verdict']}; better on {row['wins']} questions, equal on {row['ties']}, worse on {row['losses']}"
        for row in rows.assign(name=name, step=step).to_dict("records")
    ]
    return rows.assign(name=name, step=step, text=text)[columns].reset_index(drop=True)


def lift_chart(found: AnswerFindings) -> alt.TopLevelMixin:
    """The drawing of `lift_rows`, a panel for each step."""
    data = lift_rows(found)
    steps = [step for step in (f"{a} − {b}" for a, b in LIFTS) if step in set(data["step"])]
    names = list(dict.fromkeys(data["name"]))
    ends = [min(0.0, float(data["lo"].min())), max(0.0, float(data["hi"].max()))]
    there = [verdict for verdict in VERDICTS if verdict in set(data["verdict"])]
    panels = [
        _panel(
            data[data["step"] == step],
            f"{decides(found.primary)}, {step}",
            names,
            ends,
            there,
            first=step == steps[0],
        )
        for step in steps
    ]
    return alt.hconcat(*panels, spacing=18)


def _panel(
    data: pd.DataFrame, title: str, names: list[str], ends: list[float], there: list[str], *, first: bool
) -> alt.LayerChart | alt.FacetChart:
    rows = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labels=first), scale=alt.Scale(domain=names))
    base = alt.Chart(data).encode(y=rows)
    colour = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=there, range=[f"var(--{verdict}-line)" for verdict in there]),
        legend=alt.Legend(symbolSize=90) if there else None,
    )
    shapes = [SHAPES[verdict] for verdict in there]
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=there, range=shapes), legend=None)
    across = alt.X("lo:Q", title=title, axis=alt.Axis(tickCount=5), scale=alt.Scale(domain=ends, padding=6))
    zero = alt.Chart(pd.DataFrame({"zero": [0.0]}))
    return alt.layer(
        zero.mark_rule(color="var(--muted)", aria=False).encode(x=alt.X("zero:Q")),
        base.mark_rule(strokeWidth=3, aria=False).encode(x=across, x2=alt.X2("hi:Q"), color=colour),
        base.mark_point(filled=True, size=64, opacity=1, aria=False).encode(
            x=alt.X("diff:Q"), color=colour, shape=shape
        ),
        hit(base, PANEL),
    ).properties(width=PANEL, height=alt.Step(24))
