"""Every chart of a report, as Vega-Lite through Altair."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.findings import Findings
from evaluation.report.charts import answers
from evaluation.report.charts.cost import AXES, COSTS, cost_chart, cost_points
from evaluation.report.charts.effects import effects_chart
from evaluation.report.charts.forest import forest_chart
from evaluation.report.charts.intervals import axis_title, bars, interval_chart
from evaluation.report.charts.kinds import kind_cells, kinds_chart
from evaluation.report.charts.losses import losses_chart
from evaluation.report.charts.matrix import matrix_chart
from evaluation.report.charts.sweep import sweep_chart, sweep_rows
from evaluation.report.comparisons import cells, differences
from evaluation.report.drawing import draw, to_svg
from evaluation.report.view import ordering


def draw_all(findings: Findings) -> dict[str, str]:
    """Name and SVG of every chart that these findings bear; `leaderboard` is on the metric that orders the table."""
    if not len(findings.summary):
        return {}
    metric = ordering(findings)
    text = f"{metric} of every strategy, mean with 95 % interval."
    charts = {"leaderboard": draw(interval_chart(findings, metric), "leaderboard", text)}
    if len(cells(findings)):
        text = f"All pairs of strategies: difference of {metric}, row minus column, with the verdict on each."
        charts["pairs"] = draw(matrix_chart(findings), "pairs", text)
    if len(differences(findings)):
        text = f"Differences of {metric} with 95 % intervals against 0 and the margin of equivalence."
        charts["differences"] = draw(forest_chart(findings), "differences", text)
    if len(findings.effects):
        charts["effects"] = draw(effects_chart(findings), "effects", "Effects of the factorial with 95 % intervals.")
    if len(sweep_rows(findings)):
        charts["sweep"] = draw(sweep_chart(findings), "sweep", "Means with 95 % intervals over the parameter.")
    if len(findings.losses):
        text = "Where the relevant evidence of each strategy was found or lost, stage by stage."
        charts["losses"] = draw(losses_chart(findings), "losses", text)
    for cost in COSTS:
        if len(cost_points(findings, cost)):
            charts[cost] = draw(cost_chart(findings, cost), cost, f"{metric} against {AXES[cost]}.")
    if len(kind_cells(findings)):
        charts["kinds"] = draw(kinds_chart(findings), "kinds", f"Mean {metric} by strategy and kind of question.")
    if findings.answers is not None:
        charts |= answers.draw(findings.answers)
    return charts


def leaderboards(findings: Findings, metrics: Sequence[str]) -> list[str]:
    """The interval bars of each metric as SVG; one specification serves all, since only data and title differ."""
    if not metrics:
        return []
    spec = interval_chart(findings, metrics[0]).to_dict(validate=False)
    (data,) = spec["datasets"]
    drawn = []
    for number, metric in enumerate(metrics):
        spec["datasets"] = {data: bars(findings, metric).to_dict("records")}
        spec["layer"][0]["encoding"]["x"]["title"] = axis_title(metric)
        text = f"{metric} of every strategy, mean with 95 % interval."
        drawn.append(to_svg(spec, f"leaderboard-{number}", text))
    return drawn
