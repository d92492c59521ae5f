"""`report.html`, one file that opens offline, and `report.md` for pull requests."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation import plots, table
from evaluation.ablation import Ablation
from evaluation.factorial import Factorial
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


@dataclass(frozen=True)
class Findings:
    """What a report is made of; `effects` with their factorial, and the sweep, where the run is one."""

    summary: pd.DataFrame
    arms: Mapping[str, Mapping[str, Any]]
    manifest: Mapping[str, Any]
    effects: pd.DataFrame | None = None
    factorial: Factorial | None = None
    ablation: Ablation | None = None

    @property
    def primary(self) -> str:
        """The metric that orders the table."""
        return str(self.manifest["primary"])

    @property
    def said(self) -> list[str]:
        """What must stand beside the figures."""
        return [*table.caveats(self.manifest, self.summary, self.primary), *table.not_run(self.arms)]


def write_reports(folder: Path, findings: Findings) -> None:
    """Write `report.md` and `report.html` into a results folder."""
    write_atomic(folder / "report.md", _markdown(findings))
    write_atomic(folder / "report.html", _page(findings))


def _markdown(findings: Findings) -> str:
    summary, lines = findings.summary, [f"# {_title(findings.manifest)}", ""]
    board = table.leaderboard(summary, findings.arms, findings.primary) if len(summary) else None
    lines += [table.as_markdown(board) if board is not None else "No arm ran.", ""]
    lines += [f"- {line}" for line in findings.said]
    found = findings.effects
    if found is not None and len(found):
        lines += ["", "## Factorial effects", "", table.as_markdown(table.effect_cells(found, findings.primary)), ""]
        lines += [f"- {line}" for line in table.effect_notes(found, findings.primary)]
    return "\n".join(lines) + "\n"


def _page(findings: Findings) -> str:
    title = html.escape(_title(findings.manifest))
    sections = _leaderboard(findings) + _sweep(findings) + _effects(findings)
    manifest = json.dumps(findings.manifest, indent=1, sort_keys=True, ensure_ascii=False, default=str)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f"</head><body><h1>{title}</h1>{sections}"
        f"<details><summary>Manifest</summary><pre>{html.escape(manifest)}</pre></details></body></html>\n"
    )


def _leaderboard(findings: Findings) -> str:
    summary, notes = findings.summary, _list(findings.said)
    if not len(summary):
        return f"<p>No arm ran.</p>{notes}"
    board = _board(table.leaderboard(summary, findings.arms, findings.primary))
    drawing = plots.leaderboard(summary, table.shown_metrics(summary, findings.primary)[0])
    return f'<div class="plot">{drawing}</div><div class="wide">{board}</div>{notes}'


def _sweep(findings: Findings) -> str:
    ablation, summary = findings.ablation, findings.summary
    if ablation is None or not ablation.values or not set(ablation.values) <= set(summary["strategy"]):
        return ""
    metrics = [name for name in table.shown_metrics(summary, findings.primary) if not name.startswith("Judged")]
    drawing = plots.sweep(summary, ablation.values, ablation.parameter, metrics[:4])
    return f'<h2>Sweep of {html.escape(ablation.parameter)}</h2><div class="plot">{drawing}</div>'


def _effects(findings: Findings) -> str:
    found = findings.effects
    if found is None or not len(found):
        return ""
    drawing = plots.effects(found, table.effect_metrics(found, findings.primary))
    cells = _board(table.effect_cells(found, findings.primary))
    notes = _list(table.effect_notes(found, findings.primary))
    return f'<h2>Factorial effects</h2><div class="plot">{drawing}</div><div class="wide">{cells}</div>{notes}'


def _list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"


def _title(manifest: Mapping[str, Any]) -> str:
    return f"{manifest['name']} on {manifest['benchmark']['name']} ({manifest['split']}), {manifest['time']}"


def _board(board: pd.DataFrame) -> str:
    head = "".join(f'<th class="{_css(column)}">{html.escape(str(column))}</th>' for column in board.columns)
    rows = []
    for row in board.to_dict("records"):
        cells = [f'<td class="{_css(column)}">{html.escape(str(cell))}</td>' for column, cell in row.items()]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _css(column: object) -> str:
    return "note" if column == "note" else "value"
