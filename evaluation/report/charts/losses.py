"""Where the relevant evidence of every strategy ended: found, or lost at a stage. Bars stacked to the whole."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from evaluation.findings import Findings
from evaluation.report.drawing import WIDTH
from evaluation.report.stages import FOUND, STAGES, loss_counts, stages

NUMBERED = 0.035  # share from which a segment has room for its number


def segments(findings: Findings) -> pd.DataFrame:
    """Columns strategy, stage, count, share, start, end, number, text; a row for each that is not empty."""
    counts = loss_counts(findings)
    shares = counts.div(counts.sum(axis=1), axis=0)
    ends = shares.cumsum(axis=1)
    rows = [
        _segment(str(name), str(stage), int(count), float(share), float(end))
        for name, *columns in zip(counts.index, counts.to_numpy(), shares.to_numpy(), ends.to_numpy(), strict=True)
        for stage, count, share, end in zip(counts.columns, *columns, strict=True)
        if count
    ]
    return pd.DataFrame(rows)


def _segment(strategy: str, stage: str, count: int, share: float, end: float) -> dict[str, object]:
    what = "found" if stage == FOUND else f"lost: {stage}"
    return {
        "strategy": strategy,
        "stage": stage,
        "count": count,
        "share": share,
        "start": end - share,
        "end": end,
        "number": str(count) if share >= NUMBERED else "",
        "text": f"{strategy}; {what}: {count} pieces of evidence, {share:.1%}",
    }


def losses_chart(findings: Findings) -> alt.TopLevelMixin:
    """The drawing of `segments`."""
    data, names = segments(findings), stages(findings)
    base = alt.Chart(data).encode(y=alt.Y("strategy:N", sort=None, title=None))
    fill = alt.Color(
        "stage:N",
        scale=alt.Scale(domain=names, range=_colours(names)),
        legend=alt.Legend(symbolType="square", symbolSize=160, columns=9),
    )
    across = alt.X(
        "start:Q",
        title="share of the pieces of relevant evidence",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(format="%"),
    )
    boxes = base.mark_bar(stroke="var(--paper)", strokeWidth=1).encode(
        x=across, x2=alt.X2("end:Q"), color=fill, description=alt.Description("text:N")
    )
    numbers = base.transform_calculate(middle="(datum.start + datum.end) / 2").mark_text(
        aria=False, color="#101418", fontSize=11
    )
    return alt.layer(boxes, numbers.encode(x=alt.X("middle:Q"), text=alt.Text("number:N"))).properties(
        width=WIDTH, height=alt.Step(24)
    )


def _colours(names: Sequence[str]) -> list[str]:
    return [f"var(--stage-{STAGES.index(name) if name in STAGES else len(STAGES)})" for name in names]
