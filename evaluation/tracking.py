"""MLflow as a view of `results/`: the only file that imports mlflow. Losing the store loses nothing.

`python -m evaluation.tracking sync [uri=...]` writes every result folder that the store does not have yet.
One parent run per invocation, one child run per strategy; the folder's files are the source of both.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from filelock import FileLock

from evaluation.errors import TrackingError
from ingestion.config import ROOT, flatten, load

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

RUN_ID = "rankproof.run_id"
SWEEP = "rankproof.sweep"
LONGEST_PARAMETER = 500
BATCH = 90


def metric_key(name: str) -> str:
    """The name that MLflow accepts for a metric: `nDCG@5` becomes `ndcg_at_5`, `EvRecall@1000w` `evrecall_at_1000w`.

    `(dcg='exp-log2')` becomes `_exp`. `metric_names` inverts it.
    """
    return name.lower().replace("(dcg='exp-log2')", "_exp").replace("@", "_at_")


def metric_names(names: Iterable[str]) -> dict[str, str]:
    """Mapping of MLflow's metric name back to ours.

    Raises:
        TrackingError: two metrics would share one name.
    """
    back: dict[str, str] = {}
    for name in names:
        if back.setdefault(metric_key(name), name) != name:
            raise TrackingError(
                f"metrics {back[metric_key(name)]!r} and {name!r} share one MLflow name; leave one out"
            )
    return back


def log_results(folder: Path, uri: str, experiment: str) -> str:
    """Write one result folder into the store at `uri`; returns the parent's MLflow run id.

    A folder that is in the store already is left alone.

    Raises:
        TrackingError: the store cannot be reached or written; the results in the folder are untouched.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    import sqlalchemy.exc
    from mlflow.exceptions import MlflowException

    try:
        with _one_writer(uri):
            return _log(folder, uri, experiment)
    except (MlflowException, sqlalchemy.exc.SQLAlchemyError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise TrackingError(f"MLflow store {uri}: {reason}") from error


def _one_writer(uri: str) -> FileLock:
    """Several processes that open a fresh SQLite store fail: one at a time."""
    path = Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else ROOT / "results" / "mlflow"
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path.with_suffix(".lock"))


def _log(folder: Path, uri: str, experiment: str) -> str:
    from mlflow.tracking import MlflowClient

    manifest = json.loads((folder / "manifest.json").read_text())
    arms = json.loads((folder / "arms.json").read_text())
    summary = pd.read_parquet(folder / "summary.parquet")
    client = MlflowClient(tracking_uri=uri)
    found = client.get_experiment_by_name(experiment)
    number = found.experiment_id if found else _create_experiment(client, experiment)
    known = _found(client, number, f"{RUN_ID}.{manifest['run_id']}", manifest["run_id"])
    if known:
        return known
    parent = _parent(client, number, manifest, arms)
    for name, arm in arms.items():
        rows = summary[summary["strategy"] == name]
        child_tags = {**_tags(manifest), "mlflow.parentRunId": parent, "level": "arm", "state": arm["state"]}
        child_tags |= {"reason": str(arm.get("reason") or ""), "ranking": str(arm.get("fingerprint") or "")}
        parameters = _varied(manifest) | flatten(arm.get("config") or {}) | {"strategy": name}
        child = _run(client, number, name, child_tags, parameters, _metrics(rows, arm))
        for path in (folder / "runs" / f"{name}.trec", folder / "traces" / f"{name}.parquet"):
            if path.is_file():
                client.log_artifact(child, str(path))
    client.log_artifacts(parent, str(folder), folder.name if manifest.get("sweep") else None)
    client.set_terminated(parent)
    return parent


def _found(client: MlflowClient, experiment: str, tag: str, value: str) -> str | None:
    """The parent run that bears this tag."""
    runs = client.search_runs([experiment], f"tags.`{tag}` = '{value}' and tags.`level` = 'parent'")
    return str(runs[0].info.run_id) if runs else None


def _parent(client: MlflowClient, experiment: str, manifest: Mapping[str, Any], arms: Mapping[str, Any]) -> str:
    """The run over a run's arms: its own, or for a job of a Hydra sweep the one that all its jobs share.

    It bears a tag for every result folder in it.
    """
    mark = f"{RUN_ID}.{manifest['run_id']}"
    sweep = manifest.get("sweep")
    if not sweep:
        parameters = flatten({key: value for key, value in manifest["config"].items() if key != "strategy"})
        tags = {**_tags(manifest), mark: manifest["run_id"], "level": "parent"}
        return _run(client, experiment, manifest["name"], tags, parameters, {"arms": float(len(arms))})
    shared = _found(client, experiment, SWEEP, sweep)
    if shared is None:
        tags = {"level": "parent", SWEEP: sweep, "code": manifest["code"]}
        shared = _run(client, experiment, f"sweep {sweep}", tags, {}, {})
    client.set_tag(shared, mark, manifest["run_id"])
    return shared


def _varied(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters outside the strategy by which the jobs of a sweep can differ."""
    config = manifest["config"]
    return flatten({key: config[key] for key in ("split", "seed", "depth", "chunker", "ingest") if key in config})


def _create_experiment(client: MlflowClient, name: str) -> str:
    """An experiment that the UI opens as a table of runs, with its artifacts beside our results."""
    location = (ROOT / "results" / "mlartifacts").as_uri()
    kind = {"mlflow.experimentKind": "custom_model_development"}
    return str(client.create_experiment(name, artifact_location=location, tags=kind))


def _tags(manifest: Mapping[str, Any]) -> dict[str, str]:
    """What a person filters by: run, split, digests, code version."""
    return {
        RUN_ID: manifest["run_id"],
        "split": manifest["split"],
        "benchmark": manifest["benchmark"]["name"],
        "benchmark_digest": manifest["benchmark"]["digest"][:16],
        "corpus_digest": (manifest["corpus"]["fingerprint"] or "")[:16],
        "code": manifest["code"],
    }


def _metrics(rows: pd.DataFrame, arm: Mapping[str, Any]) -> dict[str, float]:
    values: dict[str, float] = {}
    metric_names(rows["metric"])
    for row in rows.itertuples():
        key = metric_key(str(row.metric))
        values |= {key: float(row.mean), f"{key}_lo": float(row.lo), f"{key}_hi": float(row.hi)}  # type: ignore[arg-type]
    costs = ("latency_p50_ms", "latency_p95_ms", "index_bytes", "index_seconds", "search_seconds")
    values |= {key: float(arm[key]) for key in costs if arm.get(key) is not None}
    return {key: value for key, value in values.items() if value == value and abs(value) != float("inf")}


def _run(
    client: MlflowClient,
    experiment: str,
    name: str,
    tags: Mapping[str, str],
    parameters: Mapping[str, Any],
    metrics: Mapping[str, float],
) -> str:
    """One MLflow run with everything in batches; long parameters go into an artifact. Returns its id."""
    from mlflow.entities import Metric, Param

    run = client.create_run(experiment, tags=dict(tags), run_name=name)
    identifier = str(run.info.run_id)
    now = int(time.time() * 1000)
    short = {key: str(value) for key, value in parameters.items() if len(str(value)) <= LONGEST_PARAMETER}
    for part in _batches(list(short.items())):
        client.log_batch(identifier, params=[Param(key.replace("/", "."), value) for key, value in part])
    for batch in _batches(list(metrics.items())):
        client.log_batch(identifier, metrics=[Metric(key, value, now, 0) for key, value in batch])
    long = {key: str(value) for key, value in parameters.items() if key not in short}
    if long:
        client.log_text(identifier, json.dumps(long, indent=1, sort_keys=True), "long_parameters.json")
    if tags["level"] == "arm":
        client.set_terminated(identifier, "FINISHED" if tags["state"] == "ran" else "FAILED")
    return identifier


def _batches(items: Sequence[tuple[str, Any]]) -> list[Sequence[tuple[str, Any]]]:
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]


def sync(results: Path, uri: str, experiment: str) -> int:
    """Write every folder below `results/runs` that the store lacks; returns how many folders there are."""
    folders = sorted(path.parent for path in (results / "runs").glob("*/manifest.json"))
    for folder in folders:
        log_results(folder, uri, experiment)
    return len(folders)


def main(arguments: Sequence[str]) -> int:
    """`python -m evaluation.tracking sync`; returns the exit code."""
    if not arguments or arguments[0] != "sync":
        print("usage: python -m evaluation.tracking sync [tracking.uri=sqlite:///...]")
        return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    settings = load(arguments[1:]).tracking
    try:
        count = sync(ROOT / "results", settings.uri, settings.experiment)
    except TrackingError as error:
        print(f"tracking: {error}", file=sys.stderr)
        return 1
    print(f"{count} result folders are in {settings.uri}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
