"""Quality against cost: latency or index size, with the strategies that no other beats on both."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from evaluation.findings import Findings
from evaluation.report.charts.intervals import COLOURS
from evaluation.report.charts.labels import Box, place
from evaluation.report.view import order, ordering, roles
from retrieval.schema import Floats

COSTS = {"latency": ("latency_p50_ms", 1.0, "ms"), "index_size": ("index_bytes", 1e-6, "MB")}
AXES = {"latency": "latency of one question, median, ms", "index_size": "size of the indexes, MB"}
WIDTH, HEIGHT = 500, 320  # pixels
FAR = 24  # pixels from which a name is tied to its point by a line


def cost_points(findings: Findings, cost: str) -> pd.DataFrame:
    """Columns strategy, cost, mean, lo, hi, front, role, text; strategies whose cost is known and above 0.

    `front`: no other strategy has at least this mean at no more cost. Costs in milliseconds or megabytes.
    """
    key, unit, name = COSTS[cost]
    metric = ordering(findings)
    means = findings.summary[findings.summary["metric"] == metric].set_index("strategy")
    known = {arm: float(findings.arms[arm].get(key) or 0) for arm in order(findings)}
    rows = means.loc[[arm for arm, value in known.items() if value]].reset_index()[["strategy", "mean", "lo", "hi"]]
    rows["cost"] = [known[arm] * unit for arm in rows["strategy"]]
    rows["front"] = pareto(rows["cost"].to_numpy(np.float64), rows["mean"].to_numpy(np.float64))
    rows["role"] = rows["strategy"].map(roles(findings))
    rows["text"] = [
        f"{row['strategy']}; {row['cost']:.3g} {name}; {metric} {row['mean']:.3f} [{row['lo']:.3f}, {row['hi']:.3f}]"
        + ("; no other is as good at less cost" if row["front"] else "")
        for row in rows.to_dict("records")
    ]
    return rows


def without_cost(findings: Findings, cost: str) -> list[str]:
    """The strategies that ran and are missing from a drawing, since their cost is unknown or nothing."""
    return [name for name in order(findings) if not findings.arms[name].get(COSTS[cost][0])]


def pareto(cost: Floats, quality: Floats) -> list[bool]:
    """Whether no other point has at least this quality at no more cost, and more or less of either."""
    better = (quality[None, :] >= quality[:, None]) & (cost[None, :] <= cost[:, None])
    strictly = (quality[None, :] > quality[:, None]) | (cost[None, :] < cost[:, None])
    beaten: list[bool] = np.any(better & strictly, axis=1).tolist()
    return [not lost for lost in beaten]


def cost_chart(findings: Findings, cost: str) -> alt.TopLevelMixin:
    """The drawing of `cost_points`: the front as a stepped line, names beside their points."""
    data = cost_points(findings, cost)
    across, up = _span_log(data["cost"]), _span(data["lo"], data["hi"])
    x = alt.X("cost:Q", title=AXES[cost], scale=alt.Scale(type="log", domain=across, nice=False), axis=_ticks())
    y = alt.Y("mean:Q", title=f"{ordering(findings)}", scale=alt.Scale(domain=up, zero=False, nice=False))
    there = [role for role in COLOURS if role in set(data["role"])]
    colour = alt.Color(
        "role:N",
        scale=alt.Scale(domain=there, range=[f"var(--{COLOURS[role]})" for role in there]),
        legend=alt.Legend(symbolType="circle", symbolSize=80, symbolOpacity=1) if len(there) > 1 else None,
    )
    base = alt.Chart(data).encode(x=x, y=y)
    front = alt.Chart(data[data["front"]].sort_values(["cost", "mean"]))
    return alt.layer(
        front.mark_line(interpolate="step-after", color="var(--muted)", strokeDash=[4, 3], aria=False).encode(
            x=x, y=y
        ),
        base.mark_rule(opacity=0.3, strokeWidth=1.5, aria=False).encode(
            y=alt.Y("lo:Q"), y2=alt.Y2("hi:Q"), color=colour
        ),
        base.mark_point(filled=True, size=90, opacity=1).encode(color=colour, description=alt.Description("text:N")),
        *_written(_names(data, across, up)),
    ).properties(width=WIDTH, height=HEIGHT)


def _written(names: pd.DataFrame) -> list[alt.Chart]:
    """The names on a halo, so that no line runs through them, and a line to those that stand away."""
    text = alt.Chart(names).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("strategy:N"))
    text = text.mark_text(align="left", baseline="middle", aria=False)
    halo = text.copy()
    halo.mark = alt.MarkDef(
        type="text",
        align="left",
        baseline="middle",
        aria=False,
        stroke="var(--paper)",
        strokeWidth=4,
        strokeJoin="round",
    )
    lines = alt.Chart(names[names["far"]]).mark_rule(color="var(--beaten)", strokeWidth=0.8, aria=False)
    return [lines.encode(x=alt.X("cost:Q"), y=alt.Y("mean:Q"), x2=alt.X2("edge"), y2=alt.Y2("y")), halo, text]


def _ticks() -> alt.Axis:
    return alt.Axis(tickCount=5, format="~g")


def _span_log(values: pd.Series) -> list[float]:
    """Ends of a logarithmic axis with room for names."""
    low, high = float(values.min()), float(values.max())
    return [low / 1.4, max(high * 1.4, low * 10)]


def _span(low: pd.Series, high: pd.Series) -> list[float]:
    bottom, top = float(low.min()), float(high.max())
    pad = 0.04 * ((top - bottom) or 1)
    return [bottom - pad, top + pad]


def _names(data: pd.DataFrame, across: Sequence[float], up: Sequence[float]) -> pd.DataFrame:
    """Where every name stands, in the units of the axes.

    Columns strategy, cost, mean, x, y (left end, middle), edge (the end next to the point), far (from the point).
    """
    decades = np.log(across[1] / across[0])
    points = [
        (float(np.log(cost / across[0]) / decades * WIDTH), float((up[1] - mean) / (up[1] - up[0]) * HEIGHT))
        for cost, mean in zip(data["cost"], data["mean"], strict=True)
    ]
    boxes = place(points, [str(name) for name in data["strategy"]], Box(0, 0, WIDTH, HEIGHT))
    left = np.asarray([box.left for box in boxes])
    middle = np.asarray([(box.top + box.bottom) / 2 for box in boxes])
    edge = np.asarray([min(max(x, box.left), box.right) for (x, _), box in zip(points, boxes, strict=True)])
    apart = np.hypot(edge - [x for x, _ in points], middle - [y for _, y in points])
    return data[["strategy", "cost", "mean"]].assign(
        x=across[0] * np.exp(left / WIDTH * decades),
        y=up[1] - middle / HEIGHT * (up[1] - up[0]),
        edge=across[0] * np.exp(edge / WIDTH * decades),
        far=apart > FAR,
    )
