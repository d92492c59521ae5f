"""The charts about answers: calibration, refusals, levels, generators side by side, what retrieval adds."""

from __future__ import annotations

from evaluation.answers.compared import decides
from evaluation.answers.findings import AnswerFindings
from evaluation.report.charts.answer_levels import level_rows, levels_chart
from evaluation.report.charts.answer_lift import lift_chart, lift_rows
from evaluation.report.charts.answer_means import mean_rows, means_chart
from evaluation.report.charts.refusals import risk_chart, risk_rows, tradeoff_chart, tradeoff_rows
from evaluation.report.charts.reliability import bin_rows, reliability_chart
from evaluation.report.drawing import draw as drawn


def draw(found: AnswerFindings) -> dict[str, str]:
    """Name and SVG of every chart that these findings bear; equal findings give equal bytes."""
    of = f"{found.generator} over {found.strategy}"
    charts = {}
    if len(mean_rows(found)):
        text = "Means of generators and strategies with 95 % intervals, a panel for each metric."
        charts["answer_means"] = drawn(means_chart(found), "answer_means", text)
    if len(lift_rows(found)):
        text = f"{decides(found.primary)}: what retrieval adds to no evidence, and judged evidence to retrieval."
        charts["answer_lift"] = drawn(lift_chart(found), "answer_lift", text)
    if len(bin_rows(found)):
        text = f"Reliability diagram of {of}: share of right claims against their probability, by bins."
        charts["answer_reliability"] = drawn(reliability_chart(found), "answer_reliability", text)
    if len(level_rows(found)):
        text = f"Share of right claims of {of} by level, calibrated and by the fixed rule."
        charts["answer_levels"] = drawn(levels_chart(found), "answer_levels", text)
    if len(tradeoff_rows(found)):
        text = "Share of unanswerable questions that are refused against the share of answerable ones."
        charts["answer_refusals"] = drawn(tradeoff_chart(found), "answer_refusals", text)
    if len(risk_rows(found)):
        text = "Share of wrong citations among the most confident answers, against their share."
        charts["answer_risk"] = drawn(risk_chart(found), "answer_risk", text)
    return charts
