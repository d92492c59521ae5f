"""MLflow as a view of a results folder: a real SQLite store, written, interrupted, lost and re-created."""

from __future__ import annotations

import base64
import json
import re
import shutil
import zlib
from pathlib import Path

import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from evaluation import tracking
from evaluation.errors import TrackingError
from evaluation.tracked.views import views
from evaluation.tracking import log_results, metric_key, metric_names, sync

STAGES = {"bm25": {"first": {"_target_": "x.Bm25", "k1": 1.2}}, "rrf": {"fuser": {"k": 60}, "use": {"mmr": False}}}
STAGES |= {
    "rrf_mmr": {"fuser": {"k": 60}, "use": {"mmr": True}},
    "twin": {"first": {"_target_": "x.Bm25", "k1": 1.2}},
}
MEANS = {"bm25": 0.5, "rrf": 0.6, "rrf_mmr": 0.4, "twin": 0.5}


def manifest_of(run_id: str, **other: object) -> dict[str, object]:
    counts = {"queries": 3, "judged": 2}
    return {
        "run_id": run_id,
        "name": "core",
        "time": "2026-05-04T03:02:01Z",
        "seconds": 10.5,
        "split": "test",
        "primary": "nDCG@5",
        "code": "deadbeef" * 5 + "+changes",
        "benchmark": {"name": "tiny", "digest": "d" * 64, **counts},
        "corpus": {"fingerprint": "c" * 64, "chunks": 7, "documents": 2},
        "config": {
            "depth": 100,
            "split": "test",
            "strategy": None,
            "benchmark": {"path": "questions"},
            "suite": {"name": "core", "strategies": ["x" * 700]},
        },
        **other,
    }


def write_folder(folder: Path, manifest: dict[str, object], arms: dict[str, object], means: dict[str, float]) -> Path:
    """A results folder as `run_eval.py` left it before there were verdicts."""
    (folder / "runs").mkdir(parents=True)
    rows = [("nDCG@5", mean, mean - 0.25, mean + 0.25) for mean in means.values()]
    summary = pd.DataFrame(rows, columns=["metric", "mean", "lo", "hi"]).assign(strategy=list(means), n=3)
    empty = pd.DataFrame([("bm25", "AllParts@5", 0)], columns=["strategy", "metric", "n"])
    pd.concat([summary, empty]).to_parquet(folder / "summary.parquet")
    for name in means:
        (folder / "runs" / f"{name}.trec").write_text(f"q1 Q0 d1 1 2 {name}\n")
    (folder / "arms.json").write_text(json.dumps(arms))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory) -> Path:
    """A store with its tables, made once: that takes longer than all that is written here."""
    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    MlflowClient(tracking_uri=f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def uri(empty_store, tmp_path) -> str:
    return f"sqlite:///{shutil.copy(empty_store, tmp_path / 'mlflow.db')}"


@pytest.fixture
def old(tmp_path, monkeypatch) -> Path:
    """A folder without verdict, comparisons and report: one arm ran, one is absent."""
    monkeypatch.setattr(tracking, "ROOT", tmp_path)
    ran = {"state": "ran", "reason": "", "config": STAGES["bm25"], "latency_p50_ms": 1.5, "index_bytes": 10}
    arms = {"bm25": ran, "dense": {"state": "absent", "reason": "did not run: no torch", "config": {}}}
    folder = tmp_path / "results" / "runs" / "old"
    return write_folder(folder, manifest_of("abc123"), arms, {"bm25": 0.5})


@pytest.fixture
def results(tmp_path, monkeypatch) -> Path:
    """A folder with a verdict: rrf leads, bm25 (and its twin) is no worse, rrf_mmr is beaten; one arm is absent."""
    monkeypatch.setattr(tracking, "ROOT", tmp_path)
    arms = {
        name: {"state": "ran", "reason": "", "config": config, "fingerprint": name, "backend": ["Bm25", "Rrf"]}
        for name, config in STAGES.items()
    }
    arms["twin"] |= {"fingerprint": "bm25", "notes": ["same ranking as bm25"]}
    arms["bm25"] |= {"latency_p50_ms": 1.5, "index_bytes": 10, "search_seconds": 2.5}
    dense = {"state": "absent", "reason": "did not run: no torch", "config": {"first": {"model": "mini/lm"}}}
    arms["dense"] = dense | {"models": {"mini/lm": "5a" * 32}}
    folder = write_folder(tmp_path / "results" / "runs" / "one", manifest_of("f00d"), arms, MEANS)
    verdict = {"state": "top group", "sentence": "No winner.", "leader": "rrf", "group": ["rrf", "bm25"]}
    (folder / "verdict.json").write_text(json.dumps(verdict | {"beaten": ["rrf_mmr"], "reasons": []}))
    rows = [
        ("RR", "bm25", "rrf", 9.0, 9.0, 9.0, "", ""),
        ("nDCG@5", "bm25", "rrf", -0.1, -0.3, 0.1, "undecided", "bm25 against rrf is undecided"),
        ("nDCG@5", "rrf", "rrf_mmr", 0.2, 0.1, 0.3, "higher", "rrf is higher than rrf_mmr"),
    ]
    columns = ["metric", "a", "b", "diff", "lo", "hi", "verdict", "sentence"]
    pd.DataFrame(rows, columns=columns).to_parquet(folder / "comparisons.parquet")
    (folder / "report.md").write_text("# core\n" + "| a row |\n" * 2000)
    (folder / "report.html").write_text("<h1>core</h1>")
    return folder


def runs_of(uri: str, parent: str):
    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("test").experiment_id
    children = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{parent}'")
    return client, client.get_run(parent), {run.info.run_name: run for run in children}


def content(uri: str) -> list[dict[str, object]]:
    """Everything in the store but ids: names, parameters, metrics, tags, times, inputs and artifacts of every run."""
    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("test")
    runs = client.search_runs([experiment.experiment_id])
    name_of = {run.info.run_id: run.info.run_name for run in runs}
    found = [{"experiment": dict(experiment.tags)}]
    for run in runs:
        tags = {key: name_of.get(value, value) for key, value in run.data.tags.items()}
        inputs = [
            (data.dataset.to_dictionary(), [(tag.key, tag.value) for tag in data.tags])
            for data in run.inputs.dataset_inputs
        ]
        files = sorted(item.path for item in client.list_artifacts(run.info.run_id))
        times = (run.info.start_time, run.info.end_time, run.info.status)
        found.append({"name": run.info.run_name, "tags": tags, "inputs": inputs, "files": files, "times": times})
        found[-1] |= {"params": run.data.params, "metrics": run.data.metrics}
    return sorted(found, key=lambda row: json.dumps(row, sort_keys=True, default=str))


def test_a_folder_becomes_a_parent_and_a_child_per_strategy(old, tmp_path, uri):
    parent = log_results(old, uri, "test")
    client, run, children = runs_of(uri, parent)
    assert run.data.params["depth"] == "100"
    assert run.data.params["strategy.first.k1"] == "1.2"  # no two arms differ in it
    assert "suite.strategies" not in run.data.params  # too long for a parameter: it is an artifact
    assert "x" * 700 in Path(client.download_artifacts(parent, "long_parameters.json", str(tmp_path))).read_text()
    assert set(children) == {"bm25", "dense"}
    bm25, dense = children["bm25"], children["dense"]
    assert bm25.data.metrics == {
        "ndcg_at_5": 0.5,
        "ndcg_at_5_lo": 0.25,
        "ndcg_at_5_hi": 0.75,
        "primary": 0.5,
        "primary_lo": 0.25,
        "primary_hi": 0.75,
        "latency_p50_ms": 1.5,
        "index_bytes": 10.0,
    }
    assert bm25.data.params == {"strategy": "bm25"}
    assert (bm25.info.status, dense.info.status) == ("FINISHED", "FAILED")
    assert dense.data.tags["reason"] == "did not run: no torch"
    assert dense.data.metrics == {}
    assert [item.path for item in client.list_artifacts(bm25.info.run_id)] == ["bm25.trec"]
    assert "manifest.json" in {item.path for item in client.list_artifacts(parent)}


def test_a_child_shows_what_differs_and_the_parent_what_all_share(results, uri):
    _, run, children = runs_of(uri, log_results(results, uri, "test"))
    assert children["rrf"].data.params == {"strategy": "rrf", "stages": "Bm25, Rrf", "use.mmr": "False"}
    assert children["rrf_mmr"].data.params == {"strategy": "rrf_mmr", "stages": "Bm25, Rrf", "use.mmr": "True"}
    assert children["bm25"].data.params == {"strategy": "bm25", "stages": "Bm25, Rrf"}
    shared = {key: value for key, value in run.data.params.items() if key.startswith("strategy.")}
    assert shared == {"strategy.first.k1": "1.2", "strategy.fuser.k": "60", "strategy.first.model": "mini/lm"}


def test_the_verdict_and_each_arms_standing_are_tags_and_metrics(results, uri):
    _, run, children = runs_of(uri, log_results(results, uri, "test"))
    tags = run.data.tags
    assert (tags["verdict"], tags["leader"], tags["sentence"]) == ("top group", "rrf", "No winner.")
    assert run.data.metrics == {"arms": 5.0, "leader_primary": 0.6}
    assert tags["mlflow.note.content"].startswith("**No winner.**\n\n# core\n| a row |\n")
    assert tags["mlflow.note.content"].endswith("| a row |\n\n(cut: the artifact report.md has all of it)")
    assert len(tags["mlflow.note.content"]) <= 8000
    standing = {
        name: tuple(child.data.metrics.get(key) for key in ("in_top_group", "diff_to_leader", "diff_to_leader_lo"))
        for name, child in children.items()
    }
    undecided = (1.0, -0.1, -0.3)
    assert standing == {
        "rrf": (1.0, 0.0, None),
        "bm25": undecided,
        "twin": undecided,  # it ranks as bm25 does, which was compared
        "rrf_mmr": (0.0, -0.2, -0.3),  # the comparison has it the other way round: 0.2 [0.1, 0.3]
        "dense": (None, None, None),
    }
    against = {name: child.data.tags.get("against_leader") for name, child in children.items()}
    assert against == {"rrf": None, "bm25": "undecided", "twin": "undecided", "rrf_mmr": "lower", "dense": None}
    note = children["twin"].data.tags["mlflow.note.content"]
    assert note == "same ranking as bm25\n\nbm25 against rrf is undecided"


def test_the_judged_corpus_is_an_input_and_models_have_their_digests(results, uri):
    _, run, children = runs_of(uri, log_results(results, uri, "test"))
    for one in (run, children["bm25"]):
        (given,) = one.inputs.dataset_inputs
        assert (given.dataset.name, given.dataset.digest) == ("tiny", "dddddddd-cccccccc")
        assert [(tag.key, tag.value) for tag in given.tags] == [("mlflow.data.context", "test")]
        assert json.loads(given.dataset.profile) == {"queries": 3, "judged": 2, "chunks": 7, "documents": 2}
        assert json.loads(given.dataset.source) == {"benchmark": "questions", "corpus": None}
    tags = children["dense"].data.tags
    assert (tags["models"], tags["weights.mini/lm"]) == ("mini/lm", "5a" * 32)


def test_runs_stand_at_their_own_time_and_arms_best_first(results, uri):
    _, run, children = runs_of(uri, log_results(results, uri, "test"))
    end = pd.Timestamp("2026-05-04T03:02:01Z").value // 10**6
    assert (run.info.start_time, run.info.end_time) == (end - 10_500, end)
    newest_first = sorted(children, key=lambda name: -children[name].info.start_time)
    assert newest_first == ["rrf", "bm25", "twin", "rrf_mmr", "dense"]
    bm25 = children["bm25"].info
    assert bm25.end_time - bm25.start_time == 2500  # what its stages took
    assert run.data.tags["mlflow.source.git.commit"] == "deadbeef" * 5


def test_a_lost_store_is_made_again_and_nothing_is_written_twice(old, results, tmp_path, uri, empty_store):
    again = f"sqlite:///{shutil.copy(empty_store, tmp_path / 'again.db')}"
    for number in (0, 1):
        arms = {"bm25": {"state": "ran", "config": STAGES["bm25"]}}
        manifest = manifest_of(f"job{number}", sweep="20260504-030201")
        write_folder(tmp_path / "results" / "runs" / f"sweep-{number}", manifest, arms, {"bm25": 0.5 + number})
    folders = sorted((tmp_path / "results" / "runs").iterdir())
    first = [log_results(folder, uri, "test") for folder in folders]
    assert [log_results(folder, uri, "test") for folder in folders] == first
    before = content(uri)
    assert len(before) == 1 + (1 + 2) + (1 + 5) + (1 + 2)  # experiment, old, results, two jobs below one parent
    (tmp_path / "mlflow.db").unlink()
    shutil.rmtree(tmp_path / "results" / "mlartifacts")
    assert sync(tmp_path / "results", again, "test") == 4
    assert sync(tmp_path / "results", again, "test") == 4
    assert content(again) == before


def test_jobs_of_a_sweep_share_a_parent_and_keep_all_parameters(tmp_path, monkeypatch, uri):
    monkeypatch.setattr(tracking, "ROOT", tmp_path)
    parents = set()
    for number in (0, 1):
        arms = {"bm25": {"state": "ran", "config": {"first": {"k1": 1.2 + number}}}}
        folder = tmp_path / "results" / "runs" / f"sweep-{number}"
        manifest = manifest_of(f"job{number}", sweep="20260504-030201")
        parents.add(log_results(write_folder(folder, manifest, arms, {"bm25": 0.5}), uri, "test"))
    (parent,) = parents
    client = MlflowClient(tracking_uri=uri)
    children = client.search_runs(["1"], f"tags.`mlflow.parentRunId` = '{parent}'", order_by=["params.`first.k1`"])
    shared = {"strategy": "bm25", "split": "test", "depth": "100"}
    assert [child.data.params for child in children] == [{"first.k1": "1.2", **shared}, {"first.k1": "2.2", **shared}]
    assert {item.path for item in client.list_artifacts(parent)} == {"sweep-0", "sweep-1"}


def test_what_an_interrupted_write_left_is_replaced(results, monkeypatch, uri):

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_artifacts", full)
        with pytest.raises(TrackingError, match="no space left"):
            log_results(results, uri, "test")
    parent = log_results(results, uri, "test")
    client, _, children = runs_of(uri, parent)
    assert len(children) == 5
    assert len(client.search_runs(["1"])) == 6  # what was left is deleted


def test_a_store_that_cannot_be_opened_is_a_tracking_error(old, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TrackingError, match="MLflow store"):
        log_results(old, f"sqlite:///{tmp_path}/file/mlflow.db", "test")


def test_a_folder_that_is_no_result_is_named(tmp_path):
    with pytest.raises(TrackingError, match="no results folder"):
        log_results(tmp_path, f"sqlite:///{tmp_path}/mlflow.db", "test")


def test_views_are_there_and_a_persons_changes_to_them_stay(old, tmp_path, uri):
    log_results(old, uri, "test")
    client = MlflowClient(tracking_uri=uri)
    key = "mlflow.sharedViewState.rankproof-arms"
    experiment = client.get_experiment_by_name("test")
    saved = json.loads(experiment.tags[key])
    state = json.loads(zlib.decompress(base64.b64decode(saved["state"].removeprefix("deflate;"))))
    assert (saved["name"], state["searchFilter"]) == ("arms", "tags.level = 'arm'")
    assert "metrics.`primary`" in state["selectedColumns"]
    client.set_experiment_tag(experiment.experiment_id, key, "mine")
    manifest = manifest_of("another")
    log_results(write_folder(tmp_path / "another", manifest, {}, {"bm25": 1.0}), uri, "test")
    assert client.get_experiment_by_name("test").tags[key] == "mine"
    assert set(views()) <= experiment.tags.keys()


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        ([], 2, "folder="),
        (["--help"], 0, "folder="),
        (["snyc"], 2, "'sync'"),
        (["sync", "trackin.uri=x"], 2, "tracking"),
        (["sync", "tracking=none"], 2, "no store"),
    ],
)
def test_the_command_says_what_is_wrong(arguments, code, hint, capsys):
    assert tracking.main(arguments) == code
    said = capsys.readouterr()
    assert hint in said.out + said.err


def test_the_command_writes_a_folder_wherever_it_is(old, tmp_path, capsys, uri):
    elsewhere = old.rename(tmp_path / "elsewhere")
    assert tracking.main(["sync", f"folder={elsewhere}", f"tracking.uri={uri}", "tracking.experiment=test"]) == 0
    assert "1 result folder:" in capsys.readouterr().out
    assert len(MlflowClient(tracking_uri=uri).search_runs(["1"])) == 3


def test_metric_names_are_accepted_by_mlflow_and_come_back():
    names = ["nDCG@5", "nDCG(dcg='exp-log2')@5", "RR", "RR@10", "R@100", "EvRecall@1000w", "Bpref", "AllParts@5"]
    keys = [metric_key(name) for name in names]
    assert keys[:2] == ["ndcg_at_5", "ndcg_exp_at_5"]
    assert all(re.fullmatch(r"[\w\-. :/]+", key) for key in keys)
    assert [metric_names(names)[key] for key in keys] == names
    with pytest.raises(TrackingError, match="share one"):
        metric_names(["RR", "rr"])
