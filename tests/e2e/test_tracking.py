"""MLflow as a view of a results folder: a real SQLite store, written, lost and re-created."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from evaluation import tracking
from evaluation.errors import TrackingError
from evaluation.tracking import log_results, metric_key, metric_names, sync


@pytest.fixture
def results(tmp_path, monkeypatch) -> Path:
    """A results folder with one arm that ran and one that is absent, as `run_eval.py` leaves it."""
    monkeypatch.setattr(tracking, "ROOT", tmp_path)
    folder = tmp_path / "results" / "runs" / "one"
    (folder / "runs").mkdir(parents=True)
    (folder / "runs" / "bm25.trec").write_text("q1 Q0 d1 1 2 bm25\n")
    manifest = {
        "run_id": "abc123",
        "name": "core",
        "split": "test",
        "code": "deadbeef",
        "benchmark": {"name": "tiny", "digest": "d" * 64},
        "corpus": {"fingerprint": "c" * 64},
        "config": {
            "depth": 100,
            "split": "test",
            "strategy": None,
            "suite": {"name": "core", "strategies": ["x" * 700]},
        },
    }
    ran = {"state": "ran", "reason": "", "config": {"first": {"k1": 1.2}}, "latency_p50_ms": 1.5, "index_bytes": 10}
    arms = {"bm25": ran, "dense": {"state": "absent", "reason": "did not run: torch not installed", "config": {}}}
    rows = [
        ("bm25", "nDCG@5", 3, 0.5, 0.25, 0.75),
        ("bm25", "AllParts@5", 0, float("nan"), float("nan"), float("nan")),
    ]
    summary = pd.DataFrame(rows, columns=["strategy", "metric", "n", "mean", "lo", "hi"])
    summary.to_parquet(folder / "summary.parquet")
    (folder / "arms.json").write_text(json.dumps(arms))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def runs_of(uri: str, parent: str):
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("test").experiment_id
    children = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{parent}'")
    return client, client.get_run(parent), {run.info.run_name: run for run in children}


def test_a_folder_becomes_a_parent_and_a_child_per_strategy(results, tmp_path):
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    parent = log_results(results, uri, "test")
    client, run, children = runs_of(uri, parent)
    assert run.data.params["depth"] == "100"
    assert "suite.strategies" not in run.data.params  # too long for a parameter: it is an artifact
    assert "x" * 700 in Path(client.download_artifacts(parent, "long_parameters.json", str(tmp_path))).read_text()
    assert set(children) == {"bm25", "dense"}
    bm25, dense = children["bm25"], children["dense"]
    assert bm25.data.metrics == {
        "ndcg_at_5": 0.5,
        "ndcg_at_5_lo": 0.25,
        "ndcg_at_5_hi": 0.75,
        "latency_p50_ms": 1.5,
        "index_bytes": 10.0,
    }
    assert bm25.data.params == {"first.k1": "1.2", "strategy": "bm25", "split": "test", "depth": "100"}
    assert (bm25.info.status, dense.info.status) == ("FINISHED", "FAILED")
    assert dense.data.tags["reason"] == "did not run: torch not installed"
    assert dense.data.metrics == {}
    assert [item.path for item in client.list_artifacts(bm25.info.run_id)] == ["bm25.trec"]
    assert "manifest.json" in {item.path for item in client.list_artifacts(parent)}


def test_a_lost_store_is_made_again_and_nothing_is_written_twice(results, tmp_path):
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    first = log_results(results, uri, "test")
    assert log_results(results, uri, "test") == first
    (tmp_path / "mlflow.db").unlink()
    again = f"sqlite:///{tmp_path}/again.db"
    assert sync(tmp_path / "results", again, "test") == 1
    assert sync(tmp_path / "results", again, "test") == 1
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=again)
    number = client.get_experiment_by_name("test").experiment_id
    assert len(client.search_runs([number])) == 3


def test_a_store_that_cannot_be_opened_is_a_tracking_error(results, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TrackingError, match="MLflow store"):
        log_results(results, f"sqlite:///{tmp_path}/file/mlflow.db", "test")


def test_metric_names_are_accepted_by_mlflow_and_come_back():
    import re

    names = ["nDCG@5", "nDCG(dcg='exp-log2')@5", "RR", "RR@10", "R@100", "EvRecall@1000w", "Bpref", "AllParts@5"]
    keys = [metric_key(name) for name in names]
    assert keys[:2] == ["ndcg_at_5", "ndcg_exp_at_5"]
    assert all(re.fullmatch(r"[\w\-. :/]+", key) for key in keys)
    assert [metric_names(names)[key] for key in keys] == names
    with pytest.raises(TrackingError, match="share one"):
        metric_names(["RR", "rr"])
