"""The drawings of a report as inline SVG: interval bars, factorial effects, sweeps. Equal data give equal bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd

BLUE, GREY = "#2a6fbb", "#dddddd"
COLOURS = ("#2a6fbb", "#c8553d", "#3b8f5c", "#8a5fb0", "#b98a1d")


def leaderboard(summary: pd.DataFrame, metric: str) -> str:
    """Interval bars of one metric, best mean on top."""
    rows = summary[summary["metric"] == metric].sort_values(["mean", "strategy"], ascending=[True, False])
    with _drawing(8.5, 0.6 + 0.28 * len(rows)) as (axes, sink):
        _bars(axes, rows["mean"], rows["lo"], rows["hi"], list(rows["strategy"]))
        axes.set_xlabel(f"{metric}, mean with 95 % interval")
    return _svg(sink)


def effects(found: pd.DataFrame, metrics: Sequence[str]) -> str:
    """The effects of a factorial, a panel per metric, around a line at 0."""
    names = list(dict.fromkeys(found["effect"]))[::-1]
    with _drawing(2.2 + 2.3 * len(metrics), 0.8 + 0.3 * len(names), len(metrics)) as (panels, sink):
        for axes, metric in zip(panels if len(metrics) > 1 else [panels], metrics, strict=True):
            rows = found[found["metric"] == metric].set_index("effect").loc[names]
            _bars(axes, rows["diff"], rows["lo"], rows["hi"], names)
            axes.axvline(0, color="#888888", linewidth=1)
            axes.set_xlabel(f"effect on {metric}")
            axes.locator_params(axis="x", nbins=3)
    return _svg(sink)


def sweep(summary: pd.DataFrame, values: Mapping[str, float], parameter: str, metrics: Sequence[str]) -> str:
    """Metrics over the values of a parameter, with their intervals as bands."""
    with _drawing(8.5, 3.6) as (axes, sink):
        for metric, colour in zip(metrics, COLOURS, strict=False):
            rows = summary[summary["metric"] == metric].set_index("strategy").loc[list(values)]
            axes.plot(list(values.values()), rows["mean"], marker="o", markersize=4, color=colour, label=metric)
            axes.fill_between(list(values.values()), rows["lo"], rows["hi"], color=colour, alpha=0.12, linewidth=0)
        axes.set_xlabel(parameter)
        axes.set_ylabel("mean with 95 % interval")
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        axes.grid(color=GREY)
        axes.spines[["top", "right"]].set_visible(False)
        if max(values.values()) > 100 * (sorted(values.values())[1] or 1):
            axes.set_xscale("symlog")
    return _svg(sink)


def _bars(axes: Any, middle: Any, low: Any, high: Any, names: Sequence[str]) -> None:
    spans = [middle - low, high - middle]
    axes.errorbar(middle, names, xerr=spans, fmt="o", color=BLUE, capsize=3, markersize=4)
    axes.grid(axis="x", color=GREY)
    axes.spines[["top", "right", "left"]].set_visible(False)


@contextmanager
def _drawing(width: float, height: float, panels: int = 1) -> Iterator[tuple[Any, io.StringIO]]:
    """Axes of a figure that is drawn into the sink at the end."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    sink = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "rankproof", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure.subplots(1, panels, sharey=True), sink
        figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None})


def _svg(sink: io.StringIO) -> str:
    drawing = sink.getvalue()
    return drawing[drawing.index("<svg") :]
