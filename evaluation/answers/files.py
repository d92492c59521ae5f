"""The files about answers in a results folder, and their means under the names that MLflow takes."""

from __future__ import annotations

import re

import pandas as pd

from evaluation.answers.findings import AnswerFindings
from evaluation.answers.tables import KEY, RETRIEVED, USAGE
from evaluation.errors import TrackingError

# Name of each file, and the table in it; `answers` is in two.
TABLES = {
    "claims": "claims",
    "citations": "citations",
    "answer_values": "values",
    "answer_summary": "summary",
    "answer_costs": "costs",
    "answer_lift": "lift",
    "answer_generators": "generators",
    "answer_against_first": "against_first",
    "calibration": "calibration",
    "calibration_bins": "bins",
    "answer_levels": "levels",
    "answer_level_order": "order",
    "answer_refusals": "refusals",
    "refusal_curve": "tradeoff",
    "risk_coverage": "coverage",
}


def files(findings: AnswerFindings) -> dict[str, pd.DataFrame]:
    """The tables to write, by the name of their file without its ending.

    What an answer took is kept apart in `answer_usage`, so that the other files are the same bytes on every run;
    `answer_costs` sums it up.
    """
    said, took = findings.answers.drop(columns=USAGE), findings.answers[[*KEY, *USAGE]]
    return {"answers": said, "answer_usage": took} | {
        name: getattr(findings, attribute) for name, attribute in TABLES.items()
    }


def metric_key(metric: str, generator: str, context: str) -> str:
    """The name that MLflow gets: `grounded/citation_precision`, `grounded/none/answer_f1` for other contexts."""
    place = [generator] if context == RETRIEVED else [generator, context]
    return "/".join(re.sub(r"[^\w\-. :]", "_", part) for part in (*place, metric.lower().replace(" ", "_")))


def metric_names(summary: pd.DataFrame) -> dict[str, tuple[str, str, str]]:
    """Mapping of MLflow's names back to metric, generator and context.

    Raises:
        TrackingError: two of them would share one name.
    """
    back: dict[str, tuple[str, str, str]] = {}
    columns = ["metric", "generator", "context"]
    for metric, generator, context in summary[columns].drop_duplicates().itertuples(index=False, name=None):
        own = (str(metric), str(generator), str(context))
        if back.setdefault(metric_key(*own), own) != own:
            raise TrackingError(f"{back[metric_key(*own)]} and {own} share one MLflow name; rename a generator")
    return back


def measures(summary: pd.DataFrame, strategy: str, main: str = "") -> dict[str, float]:
    """Every mean of a strategy's answers with its interval, under MLflow's names; NaN is left out.

    `main`: the generator whose figures from retrieval stand once more without its name: `citation_precision`. Rows
    without a strategy (contexts that do not depend on it) belong to every strategy.
    """
    metric_names(summary)
    out: dict[str, float] = {}
    for row in summary[summary["strategy"].isin([strategy, ""])].to_dict("records"):
        key = metric_key(row["metric"], row["generator"], row["context"])
        keys = [key, *([key.partition("/")[2]] if row["generator"] == main and row["context"] == RETRIEVED else [])]
        for name in keys:
            out |= {name: float(row["mean"]), f"{name}_lo": float(row["lo"]), f"{name}_hi": float(row["hi"])}
    return {name: value for name, value in out.items() if value == value}
