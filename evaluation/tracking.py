"""MLflow as a view of `results/`: the only file that imports mlflow. Losing the store loses nothing.

`python -m evaluation.tracking sync` writes every result folder that the store does not have yet. One parent run per
invocation, one child run per strategy; the folder's files are the source of both (`evaluation/tracked/`).
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock
from tqdm import tqdm

from evaluation.errors import TrackingError
from evaluation.tracked.folder import Results
from evaluation.tracked.runs import RUN_ID, Entry, children, dataset, parent
from evaluation.tracked.values import metric_key as metric_key
from evaluation.tracked.values import metric_names as metric_names
from evaluation.tracked.views import NOTE, views
from ingestion.config import ROOT, load, nearest
from ingestion.errors import ConfigError

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput
    from mlflow.tracking import MlflowClient

SWEEP = "rankproof.sweep"
LONGEST_PARAMETER = 500
BATCH = 100  # parameters that MLflow takes at once
USAGE = """\
python -m evaluation.tracking sync [folder=<results folder>] [tracking.uri=sqlite:///...] [tracking.experiment=<name>]

Writes every folder below results/runs that the MLflow store lacks; with folder=<...> that one, wherever it is.
"""


def log_results(folder: Path, uri: str, experiment: str) -> str:
    """Write one result folder into the store at `uri`; returns the parent's MLflow run id.

    A folder that is in the store already is left alone; what an interrupted write left of it is replaced.

    Raises:
        TrackingError: the store cannot be reached or written; the results in the folder are untouched.
    """
    results = Results.read(folder)
    with _store(uri, experiment) as (client, number):
        return _log(client, number, results)


def sync(results: Path, uri: str, experiment: str) -> int:
    """Write every folder below `results/runs` that the store lacks; returns how many folders there are.

    Raises:
        TrackingError: as `log_results`.
    """
    folders = sorted(path.parent for path in (results / "runs").glob("*/manifest.json"))
    if folders:
        with _store(uri, experiment) as (client, number):
            for folder in tqdm(folders, desc="to MLflow", unit="run", disable=not sys.stderr.isatty()):
                _log(client, number, Results.read(folder))
    return len(folders)


@contextmanager
def _store(uri: str, experiment: str) -> Iterator[tuple[MlflowClient, str]]:
    """The store and its experiment's id; several processes that open a fresh SQLite store fail: one at a time."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    for name in ("mlflow.store.db.utils", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    import sqlalchemy.exc
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient

    try:
        path = Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else ROOT / "results" / "mlflow"
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            client = MlflowClient(tracking_uri=uri)
            yield client, _experiment(client, experiment)
    except (MlflowException, sqlalchemy.exc.SQLAlchemyError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise TrackingError(f"MLflow store {uri}: {reason}") from error


def _experiment(client: MlflowClient, name: str) -> str:
    """The experiment, which the UI opens as a table of runs; its artifacts lie beside our results."""
    tags = {"mlflow.experimentKind": "custom_model_development", "mlflow.note.content": NOTE, **views()}
    found = client.get_experiment_by_name(name)
    if found is None:
        location = (ROOT / "results" / "mlartifacts").as_uri()
        return str(client.create_experiment(name, artifact_location=location, tags=tags))
    for key, value in tags.items():
        if key not in found.tags:  # what a person changed there stays
            client.set_experiment_tag(found.experiment_id, key, value)
    return str(found.experiment_id)


def _log(client: MlflowClient, experiment: str, results: Results) -> str:
    identifier = results.manifest["run_id"]
    mark = f"{RUN_ID}.{identifier}"
    known = _found(client, experiment, mark, identifier)
    if known:
        return known
    for run in client.search_runs([experiment], f"tags.`{RUN_ID}` = '{identifier}'"):
        client.delete_run(run.info.run_id)  # of a write that was interrupted: its mark is missing
    data, sweep = _dataset_input(results), results.manifest.get("sweep")
    entry = parent(results)
    over = _sweep(client, experiment, entry, sweep) if sweep else _run(client, experiment, entry, data)
    for child in children(results):
        made = _run(client, experiment, child, data, over)
        for path in child.files:
            client.log_artifact(made, str(path))
        client.set_terminated(made, "FINISHED" if child.ran else "FAILED", child.end)
    client.log_artifacts(over, str(results.folder), results.folder.name if sweep else None)
    client.set_tag(over, mark, identifier)
    client.set_terminated(over, "FINISHED", entry.end)
    return over


def _found(client: MlflowClient, experiment: str, tag: str, value: str) -> str | None:
    """The parent run that bears this tag."""
    runs = client.search_runs([experiment], f"tags.`{tag}` = '{value}' and tags.`level` = 'parent'", max_results=1)
    return str(runs[0].info.run_id) if runs else None


def _sweep(client: MlflowClient, experiment: str, entry: Entry, sweep: str) -> str:
    """The parent that all jobs of a Hydra sweep share; it bears a mark for every result folder in it."""
    shared = _found(client, experiment, SWEEP, sweep)
    if shared is not None:
        return shared
    tags = {"level": "parent", SWEEP: sweep, "code": entry.tags["code"]}
    run = client.create_run(experiment, start_time=entry.start or None, tags=tags, run_name=f"sweep {sweep}")
    return str(run.info.run_id)


def _dataset_input(results: Results) -> DatasetInput:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    context = InputTag("mlflow.data.context", str(results.manifest["split"]))
    return DatasetInput(Dataset(**dataset(results)), [context])


def _run(client: MlflowClient, experiment: str, entry: Entry, data: DatasetInput, over: str = "") -> str:
    """One MLflow run, below the run `over`, with everything in batches; long parameters go into an artifact."""
    from mlflow.entities import Metric, Param

    tags = {**entry.tags, **({"mlflow.parentRunId": over} if over else {})}
    run = client.create_run(experiment, start_time=entry.start or None, tags=tags, run_name=entry.name)
    identifier = str(run.info.run_id)
    texts = {key.replace("/", "."): str(value) for key, value in entry.parameters.items()}
    short = [Param(key, value) for key, value in texts.items() if len(value) <= LONGEST_PARAMETER]
    metrics = [Metric(key, value, entry.end, 0) for key, value in entry.metrics.items()]
    client.log_batch(identifier, metrics=metrics, params=short[:BATCH])
    for start in range(BATCH, len(short), BATCH):
        client.log_batch(identifier, params=short[start : start + BATCH])
    client.log_inputs(identifier, datasets=[data])
    long = {key: value for key, value in texts.items() if len(value) > LONGEST_PARAMETER}
    if long:
        client.log_text(identifier, json.dumps(long, indent=1, sort_keys=True), "long_parameters.json")
    return identifier


def main(arguments: Sequence[str]) -> int:
    """`python -m evaluation.tracking sync`; returns the exit code."""
    if not arguments or {"-h", "--help"} & set(arguments):
        print(USAGE, end="")
        return 0 if arguments else 2
    command, *rest = arguments
    folders = [Path(argument.partition("=")[2]) for argument in rest if argument.startswith("folder=")]
    try:
        if command != "sync":
            raise ConfigError(f"unknown command {command!r}{nearest(command, ['sync'])}")
        settings = load([argument for argument in rest if not argument.startswith("folder=")]).tracking
        if not settings.uri:
            raise ConfigError("tracking.uri is null: there is no store to write to")
    except ConfigError as error:
        print(f"tracking: {error}", file=sys.stderr)
        return 2
    try:
        for folder in folders:
            log_results(folder, settings.uri, settings.experiment)
        count = len(folders) or sync(ROOT / "results", settings.uri, settings.experiment)
    except TrackingError as error:
        print(f"tracking: {error}", file=sys.stderr)
        return 1
    print(f"{count} result folder{'' if count == 1 else 's'}: in {settings.uri}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
