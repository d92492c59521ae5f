"""Rankings to numbers: per-query values of every arm and metric, then means with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from evaluation.arms import Arm
from evaluation.coverage import Gold, Ranked
from evaluation.grades import grade_matrix
from evaluation.judging import Judged
from evaluation.metrics import Metric, evaluate
from evaluation.request import Request
from evaluation.stats import intervals

PER_QUERY = ["strategy", "qid", "metric", "value"]
SUMMARY = ["strategy", "metric", "n", "mean", "lo", "hi", "clusters", "interval", "note"]


def applicable(metrics: Sequence[Metric], judged: Judged) -> list[Metric]:
    """The metrics that this collection can carry: those over texts need a corpus and judged spans."""
    has_text = judged.corpus is not None and judged.spans is not None
    return [metric for metric in metrics if metric.row.over_grades is not None or has_text]


def measure(arms: Sequence[Arm], judged: Judged, request: Request) -> pd.DataFrame:
    """Columns strategy, qid, metric, value, by arm, metric and qid; a query without a value has no row."""
    metrics, queries = applicable(request.metrics, judged), judged.benchmark.queries
    gold = None
    if judged.corpus is not None and judged.spans is not None:
        gold = Gold(judged.corpus, judged.spans, judged.benchmark)
    tables = []
    for arm in arms:
        if arm.run is None:
            continue
        grades = grade_matrix(arm.run, judged.qrels, len(queries), request.evaluation["credit"])
        values = evaluate(grades, metrics, Ranked(arm.run, gold) if gold else None)
        row, column = np.nonzero(~np.isnan(values))
        names = np.asarray([metric.name for metric in metrics], dtype=object)
        cells = {
            "qid": np.asarray(queries.qid, dtype=object)[column],
            "metric": names[row],
            "value": values[row, column],
        }
        tables.append(pd.DataFrame({"strategy": arm.name, **cells}, columns=PER_QUERY))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=PER_QUERY)


def summarise(per_query: pd.DataFrame, judged: Judged, request: Request) -> pd.DataFrame:
    """Mean and interval of every strategy and metric, resampled by cluster."""
    if per_query.empty:
        return pd.DataFrame(columns=SUMMARY)
    queries, settings = judged.benchmark.queries, request.evaluation
    wide = per_query.pivot_table(index=["strategy", "metric"], columns="qid", values="value", sort=False)
    wide = wide.reindex(columns=list(queries.qid))
    binary = [metric.name for metric in request.metrics if metric.binary]
    found = intervals(
        wide.to_numpy(dtype=np.float64),
        queries.cluster,
        seed=request.seed,
        resamples=int(settings["resamples"]),
        confidence=float(settings["confidence"]),
        method=settings["interval"],
        binary=wide.index.get_level_values("metric").isin(binary),
    )
    table = pd.DataFrame(
        {
            "strategy": wide.index.get_level_values("strategy"),
            "metric": wide.index.get_level_values("metric"),
            "n": found.n,
            "mean": found.mean,
            "lo": found.lo,
            "hi": found.hi,
            "clusters": found.n_clusters,
            "interval": found.method,
            "note": np.where(found.too_few, "too few documents", ""),
        }
    )
    return table[SUMMARY]
