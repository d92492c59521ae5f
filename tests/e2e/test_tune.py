"""Tuning as it is typed, in a copy of the project: the tuned strategy runs, and test stays unread."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.e2e.test_docs import PARTS
from tests.unit.evaluation.test_tune import write_collection

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".artifacts"))
        else:
            shutil.copy(ROOT / part, folder / part)
    return folder


def python(project: Path, *arguments: str, seed: str = "0") -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, *arguments]
    process = subprocess.run(command, capture_output=True, text=True, cwd=project, env=environment, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


def means(folder: Path) -> pd.Series:
    summary = pd.read_parquet(folder / "summary.parquet")
    return summary[summary["metric"] == "nDCG@5"].set_index("strategy")["mean"]


def undated(path: Path) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d", "", path.read_text())


def test_the_printed_command_runs_the_tuned_strategy_with_the_value_of_the_search(project, tmp_path):
    shared = ["benchmark=beir", f"benchmark.path={write_collection(tmp_path / 'topics')}"]
    printed = python(project, "-m", "evaluation.tune", "strategy=bm25", "trials=12", "folds=4", *shared)
    assert printed.splitlines()[-1] == "python run_eval.py strategy=bm25_tuned"
    text = (project / "conf" / "strategy" / "bm25_tuned.yaml").read_text()
    tuned, present = map(float, re.search(r"in-sample \(optimistic\): ([\d.]+), bm25: ([\d.]+)", text).groups())
    assert "in results/tune/bm25_tuned.db" in text.replace("\n#   ", " ")
    assert str(project) not in text
    run = [*shared, "split=dev", "tracking=none", f"out={tmp_path / 'out'}", "suite.strategies=[bm25,bm25_tuned]"]
    python(project, "run_eval.py", *run)
    found = means(tmp_path / "out")  # folds of equal size: the mean over folds is the mean over questions
    assert found["bm25_tuned"] == pytest.approx(tuned, abs=5e-5)
    assert found["bm25"] == pytest.approx(present, abs=5e-5)
    (project / "results" / "tune" / "bm25_tuned.db").unlink()
    again = python(project, "-m", "evaluation.tune", "strategy=bm25", "trials=12", "folds=4", *shared, seed="7")
    assert again == printed


def test_judgments_of_test_change_no_byte_of_the_result(project):
    asked = ["-m", "evaluation.tune", "strategy=rrf_mmr", "trials=4", "name=mine"]
    written, study = project / "conf" / "strategy" / "mine.yaml", project / "results" / "tune" / "mine.db"
    before = python(project, *asked), undated(written)
    folder = project / "corpus" / "benchmark"
    rows = {
        name: [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for name in ("queries.jsonl", "evidence.jsonl")
    }
    test = {row["qid"] for row in rows["queries.jsonl"] if row["split"] == "test"}
    assert len(test) > 50
    for row in rows["queries.jsonl"] + rows["evidence.jsonl"]:
        if row["qid"] in test:
            row.update({"grade": 0, "quote": "nothing"} if "quote" in row else {"query": "poison", "answer": "?"})
    for name, changed in rows.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in changed))
    study.unlink()
    written.unlink()
    assert (python(project, *asked), undated(written)) == before
