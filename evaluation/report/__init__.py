"""`report.html`, one file that opens offline, `report.md` for pull requests, and every chart as SVG."""

from __future__ import annotations

from pathlib import Path

from evaluation.findings import Findings
from evaluation.report.markdown import markdown
from ingestion.artifacts import write_atomic


def write_reports(folder: Path, findings: Findings) -> None:
    """Write `report.md`, `report.html` and `figures/<chart>.svg` into a results folder."""
    from evaluation.report.charts import draw_all
    from evaluation.report.drawing import standalone
    from evaluation.report.page import page

    charts = draw_all(findings)
    write_atomic(folder / "report.md", markdown(findings))
    write_atomic(folder / "report.html", page(findings, charts))
    for name, svg in charts.items():
        write_atomic(folder / "figures" / f"{name}.svg", standalone(svg))


def figures(findings: Findings) -> dict[str, str]:
    """Every chart that these findings bear as the text of an SVG file, by name; equal findings give equal bytes."""
    from evaluation.report.charts import draw_all
    from evaluation.report.drawing import standalone

    return {name: standalone(svg) for name, svg in draw_all(findings).items()}
