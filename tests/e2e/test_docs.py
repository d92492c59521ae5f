"""The docs are followed: what they say to write is written into a copy of the project, and what they run is run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from evaluation.tune.tuned import is_own
from ingestion.config import CONF, load, names, to_plain
from retrieval.build import strategy_config
from tests.e2e.test_run_eval import collection  # noqa: F401

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PARTS = ("conf", "corpus", "evaluation", "generation", "ingestion", "retrieval", "run_eval.py")


def blocks(document: str) -> list[tuple[str, str]]:
    return FENCE.findall((ROOT / "docs" / document).read_text())


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A copy of the project with every file that docs/strategies.md says to write."""
    folder = tmp_path_factory.mktemp("followed")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".artifacts"))
        else:
            shutil.copy(ROOT / part, folder / part)
    written = []
    for _, text in blocks("strategies.md"):
        first, _, rest = text.partition("\n")
        if path := re.fullmatch(r"# ((?:conf|retrieval)/\S+)", first):
            assert not (folder / path[1]).exists()
            (folder / path[1]).write_text(rest)
            written.append(path[1])
    assert written == ["conf/strategy/my_hybrid.yaml", "retrieval/rerankers/first.py", "conf/reranker/first.yaml"]
    return folder


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project / "run_eval.py"), *arguments, "tracking=none"]
    return subprocess.run(command, capture_output=True, text=True, cwd=project, check=False)


def test_the_strategy_of_the_docs_runs(project, collection, tmp_path):  # noqa: F811
    shared = ["benchmark=beir", f"benchmark.path={collection}", f"artifacts={tmp_path / 'artifacts'}"]
    process = run(project, "strategy=my_hybrid", *shared, f"out={tmp_path / 'out'}")
    assert process.returncode == 0, process.stderr
    assert "my_hybrid" in process.stdout


def test_the_stage_of_the_docs_runs_and_its_trace_says_what_it_left_out(project, collection, tmp_path):  # noqa: F811
    lines = ["defaults:", "  - /retriever@first: bm25", "  - /reranker@then.first: first", "  - _self_"]
    (project / "conf" / "strategy" / "short.yaml").write_text("\n".join(lines) + "\n")
    shared = ["benchmark=beir", f"benchmark.path={collection}", f"artifacts={tmp_path / 'artifacts'}"]
    process = run(project, "strategy=short", "strategy.then.first.keep=1", *shared, f"out={tmp_path / 'out'}")
    assert process.returncode == 0, process.stderr
    trace = pd.read_parquet(tmp_path / "out" / "traces" / "short.parquet")
    last = trace[trace["stage"] == "then.first"]
    assert set(last["event"]) == {"ranked", "too low"}
    assert (last[last["event"] == "ranked"]["rank"] == 1).all()


def test_every_strategy_and_sweep_that_the_docs_name_is_there():
    text = (ROOT / "docs" / "strategies.md").read_text() + (ROOT / "README.md").read_text()
    table = text.partition("| strategy | composition |")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines() for name in re.findall(r"`([\w.]+)`", row.partition(" | ")[0])}
    tuned = {name for name in names("strategy") if is_own(CONF / "strategy" / f"{name}.yaml")}
    assert named == set(names("strategy")) - tuned
    for key, value in re.findall(r"\b(strategy|suite|ablation)=(\w[\w.]*)", text):
        assert value in names(key) or value in ("my_hybrid",), (key, value)


def test_parameters_that_the_docs_set_exist():
    for document in ("strategies.md", "graph.md"):
        text = (ROOT / "docs" / document).read_text()
        for strategy, rest in re.findall(r"strategy=(\w[\w.]*) ((?:strategy\.\S+ ?)+)", text.replace("`", " ")):
            if strategy != "my_hybrid":
                strategy_config(
                    strategy, [word.partition(",")[0] for word in rest.split()]
                )  # a sweep: its first value
    assert to_plain(load(["ablation=mmr_lambda", "ablation.strategy=rrf_graph_dedup_mmr"]))["ablation"]["values"]
