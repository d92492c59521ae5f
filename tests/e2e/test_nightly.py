"""The gate from the command line: a baseline, a replay, and what is planted in one or the other."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from tests.e2e.test_run_eval import collection, run_eval  # noqa: F401

SUITE = "suite.strategies=[bm25,tfidf,rrf]"


@pytest.fixture(scope="module")
def base(collection, tmp_path_factory) -> list[str]:  # noqa: F811
    """A request over a copy of the collection, which a test may change; its baseline is in a folder with a comma."""
    folder = tmp_path_factory.mktemp("gate")
    shutil.copytree(collection, folder / "five")
    return [
        "benchmark=beir",
        f"benchmark.path={folder / 'five'}",
        "tracking=none",
        f"artifacts={folder / 'artifacts'}",
        f"ledger={folder / 'ledger.jsonl'}",
        f"gate.folder={folder / 'baselines, all'}",
        "gate.name=tiny",
        "metrics=[nDCG@5,RR]",
    ]


@pytest.fixture(scope="module")
def kept(base, tmp_path_factory) -> Path:
    """The folder of the baseline, just written."""
    out = tmp_path_factory.mktemp("update") / "out"
    process = nightly(base, SUITE, "baseline=update", f"out={out}")
    assert process.returncode == 0, process.stderr
    folder = folder_of(base) / "tiny"
    assert "baseline of 3 strategies written" in process.stdout
    assert process.stdout.splitlines()[-1] == str(out)
    return folder


def folder_of(base: list[str]) -> Path:
    return Path(next(key for key in base if key.startswith("gate.folder=")).partition("=")[2])


def nightly(base: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_eval("--config-name", "nightly", *base, *arguments)


def test_a_replay_of_the_baseline_passes_and_leaves_no_index_behind(base, kept, tmp_path):
    process = nightly(base, SUITE, f"out={tmp_path / 'out'}")
    assert process.returncode == 0, process.stdout + process.stderr
    assert "3 strategies, nothing changed and nothing is worse" in process.stdout
    assert process.stdout.splitlines()[-1] == str(tmp_path / "out")
    said = json.loads((tmp_path / "out" / "gate.json").read_text())
    assert (said["code"], [change["state"] for change in said["changes"]]) == (0, ["same"] * 3)
    assert (tmp_path / "out" / "gate.md").read_text().startswith("# gate: ")
    assert sorted(path.name for path in kept.iterdir()) == ["baseline.json", "top.csv", "values.csv"]
    assert not [path for path in kept.parent.parent.joinpath("artifacts").iterdir() if path.name.startswith(".gate-")]


def test_ranks_that_the_baseline_has_otherwise_are_named_with_question_and_passages(base, kept, tmp_path):
    top = pd.read_csv(kept / "top.csv", dtype=str)
    row = top.index[(top["strategy"] == "bm25") & (top["qid"] == "q1")][0]
    first, second, *rest = top.loc[row, "ids"].split()
    before = (kept / "top.csv").read_text()
    top.loc[row, "ids"] = " ".join([second, first, *rest])
    top.to_csv(kept / "top.csv", index=False)
    try:
        process = nightly(base, SUITE, f"out={tmp_path / 'out'}")
    finally:
        (kept / "top.csv").write_text(before)
    assert process.returncode == 1, process.stdout + process.stderr
    line = next(line for line in process.stdout.splitlines() if line.startswith("did anything change? bm25"))
    assert f"first: question q1, rank 1: {second}" in line
    assert f"-> {first}" in line
    assert "of 3 strategies 1 changed" in process.stdout
    assert "baseline=update" in process.stdout
    assert "did anything change? bm25" in (tmp_path / "out" / "gate.md").read_text()


def test_an_arm_that_is_not_asked_for_any_more_is_an_alarm(base, kept, tmp_path):
    names = "suite.strategies=[bm25,tfidf]"
    process = nightly(base, names, f"out={tmp_path / 'out'}")
    assert process.returncode == 1
    assert "did anything change? rrf: in the baseline, and did not run now: it was not asked for" in process.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gate.name=none"], "no baseline; baseline=update"),
        (["baseline=updat"], "baseline=compare or baseline=update"),
        (["gate.margn=.1"], "'gate.margin'"),
    ],
)
def test_nothing_starts_without_a_baseline_or_with_a_wrong_bound(base, kept, tmp_path, arguments, said):
    process = nightly(base, SUITE, f"out={tmp_path / 'out'}", *arguments)
    assert process.returncode == 2
    assert said in process.stderr
    assert len(process.stderr.strip().splitlines()) <= 3
    assert not (tmp_path / "out").exists()


def test_changed_judgments_make_the_comparison_impossible_and_an_update_takes_them(base, kept, tmp_path):
    qrels = Path(base[1].partition("=")[2]) / "qrels" / "test.tsv"
    qrels.write_text(qrels.read_text().replace("q2\td3\t1", "q2\td3\t2"))
    process = nightly(base, SUITE, f"out={tmp_path / 'a'}")
    assert process.returncode == 2, process.stdout + process.stderr
    assert "judgments changed: 4 questions (" in process.stderr
    assert "baseline=update" in process.stderr
    assert "no comparison" in (tmp_path / "a" / "gate.md").read_text()
    assert nightly(base, SUITE, "baseline=update", f"out={tmp_path / 'b'}").returncode == 0
    assert nightly(base, SUITE, f"out={tmp_path / 'c'}").returncode == 0


def test_baseline_update_is_refused_without_the_gate(base):
    plain = [argument for argument in base if not argument.startswith("gate.")]
    process = run_eval(*plain, SUITE, "baseline=update")
    assert process.returncode == 2
    assert "--config-name nightly" in process.stderr
