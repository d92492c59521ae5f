"""What several experiments share: a collection as an evaluation sees it, and figures as lines of text."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluation.judging import Judged, prepare, read_inputs
from evaluation.request import read_request
from ingestion.artifacts import ArtifactStore
from ingestion.config import load
from retrieval.schema import Floats, Ints


def judged_collection(name: str, artifacts: Path) -> Judged:
    """Corpus and judgments of a collection: the test split, of CL-SciSumm the graded one."""
    overrides = ["suite=core", f"artifacts={artifacts}"]
    if name == "clscisumm":
        overrides += ["benchmark=clscisumm", "split=graded"]
    else:
        overrides += ["benchmark=beir", f"benchmark.path={os.environ['RANKPROOF_DATA']}/beir/{name}"]
    request = read_request(load(overrides), overrides, {})
    return prepare(request, read_inputs(request), ArtifactStore(artifacts))


def values(folder: Path, metric: str) -> tuple[list[str], Floats, list[str]]:
    """Arms of a results folder with different values, these [n_arms, n_queries], and every question's document."""
    rows = pd.read_parquet(folder / "per_query.parquet")
    questions = pd.read_parquet(folder / "questions.parquet")
    wide = rows[rows["metric"] == metric].pivot_table(index="strategy", columns="qid", values="value")
    wide = wide.sort_index(key=lambda names: names == "qdrant", kind="stable")  # of equal values the other one stays
    wide = wide.reindex(columns=questions["qid"]).round(12).drop_duplicates()
    has = wide.notna().all(axis=0).to_numpy()
    return list(wide.index), wide.to_numpy()[:, has], questions["cluster"][has].tolist()


def numbered(clusters: Sequence[str]) -> Ints:
    """The clusters as numbers from 0, in the order of their names."""
    return np.unique(np.asarray(clusters), return_inverse=True)[1]


def text(value: Any, depth: int = 0) -> str:
    """JSON with a line for every innermost object, keys sorted, numbers to four places."""
    if not isinstance(value, dict):
        return json.dumps(round(value, 4) if isinstance(value, float) else value)
    inner = ",\n" + " " * (depth + 1) if any(isinstance(part, dict) for part in value.values()) else ", "
    body = inner.join(f"{json.dumps(key)}: {text(value[key], depth + 1)}" for key in sorted(value))
    return "{" + (inner.lstrip(",") if "\n" in inner else "") + body + "}"
