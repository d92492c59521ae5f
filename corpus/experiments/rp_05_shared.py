"""What the experiments of RP-TR-05, 06, 16 and 17 share: collections, means with intervals, how figures are kept."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.grades import grade_matrix
from evaluation.judging import Judged, prepare, read_inputs
from evaluation.metrics import evaluate, parse_metric
from evaluation.request import read_request
from evaluation.stats import intervals
from ingestion.artifacts import ArtifactStore
from ingestion.config import load
from retrieval.schema import Floats, Run
from retrieval.stage import Context

MEASURED = Path(__file__).resolve().parents[1] / "sources" / "measured"
SEED = 0


def opened(collection: str, artifacts: Path, *chunker: str) -> tuple[Context, Judged]:
    """A collection with its judgments: the test split, of CL-SciSumm the graded one."""
    path = Path(os.environ["RANKPROOF_DATA"]) / "beir" / collection
    plain = ["benchmark=beir", f"benchmark.path={path}"]
    overrides = plain if path.is_dir() else [f"benchmark={collection}", "split=graded"]
    overrides = [*overrides, "tracking=none", "strategy=rrf", *chunker]
    request = read_request(load(overrides), overrides, {})
    store = ArtifactStore(artifacts)
    judged = prepare(request, read_inputs(request), store)
    assert judged.corpus is not None
    return Context(judged.corpus, store, seed=SEED), judged


def values(run: Run, judged: Judged, *metrics: str) -> Floats:
    """Metrics of a ranking, [n_metrics, n_queries]."""
    grades = grade_matrix(run, judged.qrels, len(judged.benchmark.queries), "once")
    return evaluate(grades, [parse_metric(metric) for metric in metrics])


def spread(series: Floats, judged: Judged) -> list[float]:
    """Mean over questions with its 95 % BCa interval over source documents; empty if nothing has a value."""
    if np.isnan(series).all():
        return []
    found = intervals(series[None], judged.benchmark.queries.cluster, SEED)
    return [float(end[0]) for end in (found.mean, found.lo, found.hi)]


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 4)
    return value


def write(report: str, measure: Callable[[Path], Mapping[str, Any]]) -> None:
    """Measure and write `measured/<report>.json`; the first argument names a folder for artifacts."""
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(sys.argv[1] if len(sys.argv) > 1 else folder))
    text = json.dumps(_rounded(found), indent=1, sort_keys=True)
    (MEASURED / f"{report}.json").write_text(text + "\n")
