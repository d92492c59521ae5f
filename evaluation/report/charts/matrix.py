"""All pairs: a cell is the difference of its row to its column, coloured by the verdict on it."""

from __future__ import annotations

import altair as alt

from evaluation.findings import Findings
from evaluation.report.comparisons import cells

VERDICTS = ("higher", "lower", "equivalent", "undecided")
WIDEST, LARGEST, SMALLEST, LEGIBLE = 760, 50, 18, 34  # pixels


def matrix_chart(findings: Findings) -> alt.TopLevelMixin:
    """The drawing of `cells`."""
    data = cells(findings)[["a", "b", "row", "column", "verdict", "cell", "text"]]
    step = min(LARGEST, max(SMALLEST, WIDEST // data["a"].nunique()))
    by_row, by_column = (alt.EncodingSortField(name, op="min") for name in ("row", "column"))
    there = [verdict for verdict in VERDICTS if verdict in set(data["verdict"])]
    base = alt.Chart(data).encode(
        x=alt.X("b:N", sort=by_column, title=None, axis=alt.Axis(orient="top", labelAngle=-40, ticks=False)),
        y=alt.Y("a:N", sort=by_row, title=None),
    )
    fill = alt.Fill(
        "verdict:N",
        scale=alt.Scale(domain=there, range=[f"var(--{verdict})" for verdict in there]),
        legend=alt.Legend(symbolType="square", symbolSize=180, orient="bottom"),
    )
    boxes = base.mark_rect(stroke="var(--paper)", strokeWidth=2).encode(
        fill=fill, description=alt.Description("text:N")
    )
    layers: list[alt.Chart] = [boxes]
    if step >= LEGIBLE:
        quiet = alt.condition("datum.verdict === 'undecided'", alt.value("var(--muted)"), alt.value("var(--ink)"))
        layers.append(base.mark_text(aria=False).encode(text=alt.Text("cell:N"), color=quiet))
    return alt.layer(*layers).properties(width=alt.Step(step), height=alt.Step(26))
