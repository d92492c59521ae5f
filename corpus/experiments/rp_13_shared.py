"""What the experiments of RP-TR-02, 13, 24 and 25 share: collections, paired differences, how figures are kept."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.beir import load_beir, load_corpus
from evaluation.grades import grade_matrix
from evaluation.metrics import evaluate, parse_metric
from evaluation.qrels import id_qrels
from evaluation.randomise import sign_flips
from evaluation.schema import Benchmark, Qrels
from evaluation.stats import intervals
from ingestion.artifacts import ArtifactStore
from retrieval.analysis import Analysed, analysed
from retrieval.build import build_strategy, strategy_config
from retrieval.schema import Floats, Queries, Run
from retrieval.stage import Context, Retriever

MEASURED = Path(__file__).resolve().parents[1] / "sources" / "measured"
FLIPS, TIE, ALPHA = 100_000, 1e-9, 0.05


@dataclass(frozen=True)
class Collection:
    """A public collection with its questions of the test split, ready to be searched and graded."""

    benchmark: Benchmark
    ctx: Context

    @staticmethod
    def open(name: str, artifacts: Path) -> Collection:
        """A collection below the folder that RANKPROOF_DATA names."""
        folder = Path(os.environ["RANKPROOF_DATA"]) / "beir" / name
        ctx = Context(load_corpus(folder), ArtifactStore(artifacts), remember=False)
        return Collection(load_beir(folder, "test"), ctx)

    @property
    def queries(self) -> Queries:
        """All judged questions."""
        return self.benchmark.queries

    @cached_property
    def qrels(self) -> Qrels:
        """Judgments by row of the corpus."""
        return id_qrels(self.benchmark, (), self.ctx.corpus.chunk_ids)[1]

    @cached_property
    def terms(self) -> Analysed:
        """The documents as terms."""
        return analysed(self.ctx)

    def search(self, stage: Retriever, queries: Queries | None = None) -> Run:
        """The ranking of a stage."""
        return self.ctx.search(stage, queries or self.queries)

    def values(self, run: Run, *metrics: str) -> Floats:
        """Every metric of every question, [n_metrics, n_queries]."""
        return evaluate(grade_matrix(run, self.qrels, len(self.queries)), [parse_metric(name) for name in metrics])


def strategy(name: str, *overrides: str) -> Retriever:
    """A strategy of the project by name."""
    return build_strategy(strategy_config(name, overrides))


def means(values: Floats, clusters: Sequence[str], seed: int) -> list[list[float]]:
    """Mean and 95 % interval of every row of values."""
    found = intervals(values, clusters, seed)
    return [[round(float(v), 4) for v in row] for row in zip(found.mean, found.lo, found.hi, strict=True)]


def paired(values: Mapping[str, Floats], against: str, clusters: Sequence[str], seed: int) -> dict[str, Any]:
    """Every series minus `against`: difference with interval, wins, losses, and the raw p that `holm` corrects."""
    others = [name for name in values if name != against]
    rows = np.stack([values[name] - values[against] for name in others])
    pairs = np.asarray([[at, len(rows)] for at in range(len(rows))])
    p = sign_flips(np.vstack([rows, np.zeros((1, rows.shape[1]))]), pairs, clusters, seed, FLIPS)
    found = {}
    for at, (name, row) in enumerate(zip(others, means(rows, clusters, seed), strict=True)):
        wins, losses = int((rows[at] > TIE).sum()), int((rows[at] < -TIE).sum())
        found[name] = {"diff": row, "wins": wins, "losses": losses, "p": float(p[at])}
    return found


def holm(rows: Sequence[dict[str, Any]]) -> None:
    """Correct the p-values of all these comparisons together, in place, and say which are decided at .05."""
    order = sorted(range(len(rows)), key=lambda at: (rows[at]["p"], at))
    largest = 0.0
    for place, at in enumerate(order):
        largest = min(1.0, max(largest, rows[at]["p"] * (len(rows) - place)))
        rows[at] |= {"p": round(largest, 4), "decided": largest <= ALPHA}


def write(name: str, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Write measured figures, sorted, one second-level entry a line."""
    parts = []
    for top, part in sorted(found.items()):
        lines = [f"  {json.dumps(key)}: {json.dumps(part[key], sort_keys=True)}" for key in sorted(part)]
        parts.append(f" {json.dumps(top)}: {{\n" + ",\n".join(lines) + "\n }")
    MEASURED.mkdir(exist_ok=True)
    (MEASURED / f"{name}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")


def artifacts(arguments: Sequence[str]) -> Path:
    """Where indexes are kept: the folder that was given, else a temporary one that goes with the process."""
    if arguments:
        return Path(arguments[0])
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
