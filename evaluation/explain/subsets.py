"""The summary by kind of question: what a strategy is good at. Described with intervals, never a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from evaluation.metrics import parse_metric
from evaluation.stats import intervals
from evaluation.table import TOO_FEW
from retrieval.schema import Queries

MIN_QUESTIONS = 50  # below: described only
DESCRIBED = f"described, not tested (n < {MIN_QUESTIONS})"
KINDS = ["strategy", "metric", "kind", "n", "mean", "lo", "hi", "clusters", "note"]


def kinds(per_query: pd.DataFrame, queries: Queries, settings: Mapping[str, Any], seed: int) -> pd.DataFrame:
    """Mean and interval of every strategy and metric over the questions of each kind; columns `KINDS`.

    Rows by strategy and metric as in `per_query`, then by kind. Questions without a kind are left out; without any
    kind the table is empty. `n` counts questions with a value, `clusters` the documents that they come from; whole
    documents are resampled. `note` says where there are fewer than 50 questions or 10 documents.

    Args:
        per_query: strategy, qid, metric, value.
        queries: the questions with kind and cluster.
        settings: resamples, confidence and interval, as in `conf/eval/`.
        seed: of the resampling.

    Raises:
        MetricError: `per_query` holds a metric of an unknown name.
    """
    names = sorted(set(queries.kind) - {""})
    if per_query.empty or not names:
        return pd.DataFrame(columns=KINDS)
    wide = per_query.pivot_table(index=["strategy", "metric"], columns="qid", values="value", sort=False)
    values = wide.reindex(columns=list(queries.qid)).to_numpy(dtype=np.float64)
    of_kind = np.asarray(queries.kind, dtype=object) == np.asarray(names, dtype=object)[:, None]
    split = np.where(of_kind[None], values[:, None], np.nan).reshape(-1, len(queries))
    strategy, metric = (
        np.repeat(wide.index.get_level_values(at).to_numpy(dtype=object), len(names)) for at in (0, 1)
    )
    binary = {name: parse_metric(str(name)).binary for name in per_query["metric"].unique()}
    found = intervals(
        split,
        queries.cluster,
        seed=seed,
        resamples=int(settings["resamples"]),
        confidence=float(settings["confidence"]),
        method=settings["interval"],
        binary=[binary[name] for name in metric],
    )
    cells = {
        "strategy": strategy,
        "metric": metric,
        "kind": np.tile(np.asarray(names, dtype=object), len(wide)),
        "n": found.n,
        "mean": found.mean,
        "lo": found.lo,
        "hi": found.hi,
        "clusters": found.n_clusters,
        "note": [_note(int(n), bool(few)) for n, few in zip(found.n, found.too_few, strict=True)],
    }
    return pd.DataFrame(cells, columns=KINDS)[found.n > 0].reset_index(drop=True)


def _note(n: int, too_few: bool) -> str:
    return "; ".join([*([DESCRIBED] if n < MIN_QUESTIONS else []), *([TOO_FEW] if too_few else [])])
