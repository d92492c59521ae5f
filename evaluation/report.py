"""`report.html`, one file that opens offline, and `report.md` for pull requests."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation import table
from ingestion.artifacts import write_atomic

STYLE = """
:root { color-scheme: light dark; --line: #8884; --accent: #2a6fbb; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 84rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child, th.note, td.note { text-align: left; }
td.note { white-space: normal; min-width: 14rem; }
.plot { background: #fff; border-radius: 6px; padding: .5rem; margin: 1rem 0; }
.plot svg { width: 100%; height: auto; }
pre { overflow: auto; font-size: 12px; border: 1px solid var(--line); border-radius: 6px; padding: .6rem; }
.wide { overflow-x: auto; }
@media print { details[open] pre { white-space: pre-wrap; } }
"""


def write_reports(
    folder: Path, summary: pd.DataFrame, arms: Mapping[str, Mapping[str, Any]], manifest: Mapping[str, Any]
) -> None:
    """Write `report.md` and `report.html` into a results folder."""
    write_atomic(folder / "report.md", _markdown(summary, arms, manifest))
    write_atomic(folder / "report.html", _page(summary, arms, manifest))


def _markdown(summary: pd.DataFrame, arms: Mapping[str, Mapping[str, Any]], manifest: Mapping[str, Any]) -> str:
    primary = manifest["primary"]
    board = table.leaderboard(summary, arms, primary) if len(summary) else pd.DataFrame()
    lines = [f"# {_title(manifest)}", "", table.as_markdown(board) if len(board) else "No arm ran.", ""]
    lines += [f"- {line}" for line in [*table.caveats(manifest, summary, primary), *_not_run(arms)]]
    return "\n".join(lines) + "\n"


def _page(summary: pd.DataFrame, arms: Mapping[str, Mapping[str, Any]], manifest: Mapping[str, Any]) -> str:
    primary = manifest["primary"]
    title = html.escape(_title(manifest))
    said = [*table.caveats(manifest, summary, primary), *_not_run(arms)]
    body = "<p>No arm ran.</p>"
    if len(summary):
        board = _board(table.leaderboard(summary, arms, primary))
        body = f'<div class="plot">{_plot(summary, primary)}</div><div class="wide">{board}</div>'
    details = html.escape(json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False, default=str))
    notes = "".join(f"<li>{html.escape(line)}</li>" for line in said)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f"</head><body><h1>{title}</h1>{body}<ul>{notes}</ul>"
        f"<details><summary>Manifest</summary><pre>{details}</pre></details></body></html>\n"
    )


def _title(manifest: Mapping[str, Any]) -> str:
    return f"{manifest['name']} on {manifest['benchmark']['name']} ({manifest['split']}), {manifest['time']}"


def _not_run(arms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [f"{arm['state']}: {name}: {arm['reason']}" for name, arm in arms.items() if arm["state"] != "ran"]


def _board(board: pd.DataFrame) -> str:
    head = "".join(f'<th class="{_css(column)}">{html.escape(str(column))}</th>' for column in board.columns)
    rows = []
    for row in board.to_dict("records"):
        cells = [f'<td class="{_css(column)}">{html.escape(str(cell))}</td>' for column, cell in row.items()]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _css(column: object) -> str:
    return "note" if column == "note" else "value"


def _plot(summary: pd.DataFrame, primary: str) -> str:
    """Interval bars of the primary metric as an inline SVG, best mean on top."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    metric = table.shown_metrics(summary, primary)[0]
    rows = summary[summary["metric"] == metric].sort_values(["mean", "strategy"], ascending=[True, False])
    with mpl.rc_context({"svg.hashsalt": "rankproof", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(8.5, 0.6 + 0.28 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        spans = [rows["mean"] - rows["lo"], rows["hi"] - rows["mean"]]
        axes.errorbar(rows["mean"], rows["strategy"], xerr=spans, fmt="o", color="#2a6fbb", capsize=3, markersize=4)
        axes.set_xlabel(f"{metric}, mean with 95 % interval")
        axes.grid(axis="x", color="#dddddd")
        axes.spines[["top", "right", "left"]].set_visible(False)
        sink = io.StringIO()
        figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None})
    drawing = sink.getvalue()
    return drawing[drawing.index("<svg") :]
