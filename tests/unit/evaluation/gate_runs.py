"""Results folders as a run leaves them, made up: rankings, grades, and every value worked out by hand here."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluation.regression.pace import Timing, as_json
from evaluation.regression.settings import Gate
from evaluation.regression.snapshot import Snapshot, of_results

GATE = Gate("compare", "", None, True, 0.02, 0.05, 2_000, 0.01, 0.002, 1.1, 3.0, 3)
BACKENDS = {"bm25": ["Bm25"], "tfidf": ["Tfidf"], "rrf": ["Tfidf", "Bm25", "Rrf"], "dense": ["Dense"]}
N_QUERIES, N_CLUSTERS, N_CHUNKS, DEPTH = 60, 12, 60, 30
Rankings = dict[str, dict[str, list[str]]]


@dataclass(frozen=True)
class FakeRun:
    """One run over 60 questions of 12 documents: rankings by strategy and qid, grades by qid and chunk."""

    rankings: Rankings
    grades: dict[str, set[str]]
    manifest: dict[str, Any] = field(default_factory=dict)
    index_bytes: dict[str, int] = field(default_factory=dict)
    timings: dict[str, tuple[Timing, ...]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    values: pd.DataFrame | None = None

    def per_query(self) -> pd.DataFrame:
        """RR, P@5 and Success@5 from the rankings; only questions with a relevant chunk have a value."""
        if self.values is not None:
            return self.values
        rows = []
        for name, ranking in self.rankings.items():
            for qid, relevant in self.grades.items():
                hits = [rank for rank, chunk in enumerate(ranking.get(qid, []), 1) if chunk in relevant]
                top = sum(rank <= 5 for rank in hits)
                found = {"RR": 1 / hits[0] if hits else 0.0, "P@5": top / 5, "Success@5": float(top > 0)}
                rows += [(name, qid, metric, value) for metric, value in found.items()]
        return pd.DataFrame(rows, columns=["strategy", "qid", "metric", "value"])

    def changed(self, **parts: Any) -> FakeRun:
        """The same run with other parts."""
        return replace(self, **parts)

    def write(self, folder: Path) -> Path:
        """Write the files that the gate reads; returns the folder."""
        (folder / "runs").mkdir(parents=True, exist_ok=True)
        arms: dict[str, Any] = {name: {"state": "absent", "reason": why} for name, why in self.absent.items()}
        for name, ranking in self.rankings.items():
            lines = [
                f"{qid} Q0 {chunk} {rank} {DEPTH + 1 - rank} {name}\n"
                for qid in sorted(ranking)
                for rank, chunk in enumerate(ranking[qid], 1)
            ]
            text = "".join(lines)
            (folder / "runs" / f"{name}.trec").write_text(text)
            size = self.index_bytes.get(name, 1000)
            digest = hashlib.sha256(text.encode()).hexdigest()
            arms[name] = {"state": "ran", "reason": "", "fingerprint": digest, "index_bytes": size}
            arms[name]["backend"] = BACKENDS.get(name, ["Bm25"])
        clusters = {qid: f"doc{int(qid[1:]) % N_CLUSTERS}" for qid in self.grades}
        contents = {
            "manifest.json": manifest(list(self.rankings)) | self.manifest,
            "arms.json": arms,
            "measured.json": {"clusters": clusters, "timings": as_json(self.timings)},
        }
        for file, content in contents.items():
            (folder / file).write_text(json.dumps(content))
        self.per_query().to_parquet(folder / "per_query.parquet")
        return folder

    def snapshot(self, folder: Path) -> Snapshot:
        """As the gate reads it from disk."""
        return of_results(self.write(folder))


def manifest(names: list[str]) -> dict[str, Any]:
    """The parts of `manifest.json` that the gate reads."""
    return {
        "name": "fake",
        "split": "test",
        "depth": DEPTH,
        "seed": 0,
        "credit": "once",
        "primary": "RR",
        "corpus": {"fingerprint": "c" * 64, "chunks": N_CHUNKS, "documents": N_CLUSTERS},
        "benchmark": {"digest": "b" * 64, "queries": N_QUERIES},
        "config": {"metrics": ["RR", "P@5", "Success@5"], "eval": {"min_coverage": 0.5}},
        "strategies": {name: name for name in names},
        "code": "1" * 40,
        "time": "2026-01-02T03:04:05Z",
        "packages": {"numpy": "2.4.5", "scipy": "1.17.1"},
    }


def fake_run(seed: int = 0) -> FakeRun:
    """Random rankings of four strategies, one of them neural; every question has 1 to 3 relevant chunks."""
    rng = np.random.default_rng(seed)
    qids = [f"q{number:02d}" for number in range(N_QUERIES)]
    chunks = np.asarray([f"{number:04x}" for number in range(N_CHUNKS)])
    grades = {qid: set(rng.choice(chunks, rng.integers(1, 4), replace=False).tolist()) for qid in qids}
    rankings = {name: {qid: rng.permutation(chunks)[:DEPTH].tolist() for qid in qids} for name in BACKENDS}
    return FakeRun(rankings, grades, timings=dict.fromkeys(BACKENDS, (Timing(2.0, 2.0, 0.1),)))


def swapped(rankings: Rankings, name: str, qid: str, rank: int, other: int) -> Rankings:
    """The rankings with two ranks (from 1) of one question exchanged."""
    ranking = list(rankings[name][qid])
    ranking[rank - 1], ranking[other - 1] = ranking[other - 1], ranking[rank - 1]
    return rankings | {name: rankings[name] | {qid: ranking}}
