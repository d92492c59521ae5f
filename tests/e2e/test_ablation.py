"""The factorial, a sweep and a multirun on the bundled corpus, as they are typed."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from tests.e2e.test_run_eval import run_eval


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("ablation")


@pytest.fixture(scope="module")
def factorial(place):
    out = place / "factorial"
    process = run_eval("suite=ablation", f"out={out}", "tracking=none", f"artifacts={place / 'artifacts'}")
    assert process.returncode == 0, process.stderr
    return out, process.stdout


def values(folder) -> pd.DataFrame:
    return pd.read_parquet(folder / "per_query.parquet").set_index(["strategy", "metric", "qid"])["value"]


def test_seven_effects_are_the_contrasts_of_the_eight_cells(factorial):
    out, printed = factorial
    found = pd.read_parquet(out / "effects.parquet").set_index(["effect", "metric"])
    means = values(out).groupby(["strategy", "metric"], sort=False).mean()
    on = ["rrf_graph", "rrf_graph_mmr", "rrf_graph_dedup", "rrf_graph_dedup_mmr"]
    off = ["rrf", "rrf_mmr", "rrf_dedup", "rrf_dedup_mmr"]
    for metric in ("nDCG@5", "RR", "EntCov@5"):
        wanted = sum(means[arm, metric] for arm in on) / 4 - sum(means[arm, metric] for arm in off) / 4
        assert found.loc[("graph", metric), "diff"] == pytest.approx(wanted, abs=1e-12)
        assert found.loc[("graph", metric), "lo"] <= wanted <= found.loc[("graph", metric), "hi"]
    assert len(found.xs("nDCG@5", level="metric")) == 7
    assert "graph x dedup x mmr" in printed
    assert "Factorial effects" in (out / "report.html").read_text()


@pytest.mark.parametrize("cell", ["rrf_dedup", "rrf_graph_mmr"])
def test_a_cell_by_switches_has_the_values_of_the_strategy_of_its_name(factorial, place, cell):
    out = place / cell
    switches = [f"strategy.use.{part}={str(part in cell).lower()}" for part in ("graph", "dedup", "mmr")]
    shared = ["tracking=none", f"artifacts={place / 'artifacts'}"]
    process = run_eval("strategy=rrf_graph_dedup_mmr", *switches, f"out={out}", *shared)
    assert process.returncode == 0, process.stderr
    assert values(out)["rrf_graph_dedup_mmr"].equals(values(factorial[0])[cell])
    prints = [json.loads((folder / "arms.json").read_text()) for folder in (out, factorial[0])]
    assert prints[0]["rrf_graph_dedup_mmr"]["fingerprint"] == prints[1][cell]["fingerprint"]


def test_chunkers_are_compared_by_budgets_of_words(place):
    out = place / "chunkers"
    own = "+ablation.chunkers.small={kind: sentence, max_words: 60}"
    process = run_eval("ablation=chunker", own, f"out={out}", "tracking=none", f"artifacts={place / 'artifacts'}")
    assert process.returncode == 0, process.stderr
    summary = pd.read_parquet(out / "summary.parquet")
    assert {"bm25_small", "bm25_page"} <= set(summary["strategy"])
    assert set(summary["metric"]) == {"EvRecall@1000w", "EvPrecision@1000w"}
    assert json.loads((out / "arms.json").read_text())["bm25_small"]["config"]["chunker"]["max_words"] == 60
    refused = run_eval("ablation=chunker", "metrics=[nDCG@5]", "plan=true")
    assert refused.returncode == 2
    assert "sets its metrics" in refused.stderr


def test_a_multirun_is_one_parent_in_mlflow_with_every_arm_below(place, tmp_path):
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    process = run_eval(
        "-m", "strategy=rrf_dedup_mmr", "strategy.then.mmr.lam=.5,.9", f"tracking.uri={uri}",
        f"artifacts={place / 'artifacts'}", "out=null", f"hydra.sweep.dir={tmp_path}/sweep-of-two",
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    folders = [line for line in process.stdout.splitlines() if line.endswith("-rrf_dedup_mmr")]
    assert len(set(folders)) == 2
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    runs = client.search_runs([client.get_experiment_by_name("rankproof").experiment_id])
    (parent,) = [run for run in runs if run.data.tags["level"] == "parent"]
    children = [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
    assert {run.data.params["then.mmr.lam"] for run in children} == {"0.5", "0.9"}
    assert len(runs) == 3
