"""The main job: judge every arm that was asked for on the same questions, write the results, print the table."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import DictConfig, OmegaConf
from tqdm import tqdm

from evaluation import table
from evaluation.arms import ABSENT, RAN, Arm, outside_arm, run_arm
from evaluation.errors import EvaluationError, RequestError, TrackingError
from evaluation.factorial import effects
from evaluation.judging import Inputs, Judged, count_uncovered, oracle_run, prepare, read_inputs
from evaluation.measure import applicable, measure, summarise
from evaluation.plan import plan
from evaluation.report import Findings, write_reports
from evaluation.request import Request, read_request
from evaluation.results import arms_json, code_version, versions, write_json, write_rankings, write_table
from evaluation.tracking import log_results
from ingestion.artifacts import ArtifactStore, fingerprint, write_atomic
from ingestion.errors import IngestionError
from retrieval.errors import RetrievalError
from retrieval.stage import Context

WRONG_REQUEST, FAILURE = 2, 1


@dataclass(frozen=True)
class Part:
    """The arms over one way of chunking, with their values; `label` names the chunker where several are compared."""

    label: str
    judged: Judged
    arms: Sequence[Arm]
    per_query: pd.DataFrame


def run(
    config: DictConfig, overrides: Sequence[str], outside: Mapping[str, Path], sweep: tuple[str, int] | None = None
) -> int:
    """Carry out one request; returns the exit code (0 every arm ran, 1 a failure, 2 a wrong request).

    `sweep`: name of the Hydra sweep and number of the job in it, where this is one of several jobs.
    """
    try:
        request = read_request(config, overrides, outside, sweep)
        inputs = read_inputs(request)
    except (EvaluationError, IngestionError, RetrievalError) as error:
        print(f"run_eval.py: {error}", file=sys.stderr)
        return WRONG_REQUEST
    store = ArtifactStore(request.artifacts)
    try:
        if request.plan:
            print(plan(request, inputs.benchmark, store))
            return 0
        return evaluate(request, inputs, store)
    except (EvaluationError, IngestionError, RetrievalError) as error:
        print(f"run_eval.py: {type(error).__name__}: {error}", file=sys.stderr)
        return FAILURE


def evaluate(request: Request, inputs: Inputs, store: ArtifactStore) -> int:
    """Run, judge, write and print; returns the exit code."""
    started = time.perf_counter()
    parts = [run_part(wanted, inputs, store, label) for label, wanted in request.chunkings().items()]
    per_query = pd.concat([part.per_query for part in parts], ignore_index=True)
    judged, arms = parts[0].judged, [arm for part in parts for arm in part.arms]
    summary = summarise(per_query, judged, request)
    found = None
    if request.factorial is not None:
        queries = judged.benchmark.queries
        found = effects(per_query, request.factorial, queries, request.evaluation, request.seed)
    manifest = describe(request, parts, time.perf_counter() - started)
    write_all(request, parts, per_query, summary, found, manifest)
    show(request, arms, summary, found, manifest)
    track(request)
    print(request.out)
    return exit_code(arms, request.allow_missing)


def run_part(request: Request, inputs: Inputs, store: ArtifactStore, label: str) -> Part:
    """The request's arms over its chunker."""
    judged = prepare(request, inputs, store)
    if not applicable(request.metrics, judged):
        names = ", ".join(metric.name for metric in request.metrics)
        raise RequestError(f"{names} read judged spans, which {judged.benchmark.name} does not have")
    arms = run_arms(request, judged, store)
    if label:
        chunker = {"kind": type(request.chunker).__name__, **asdict(request.chunker)}  # type: ignore[call-overload]
        arms = [replace(arm, name=f"{arm.name}_{label}", config={**arm.config, "chunker": chunker}) for arm in arms]
    return Part(label, judged, arms, measure(arms, judged, request))


def run_arms(request: Request, judged: Judged, store: ArtifactStore) -> list[Arm]:
    """Every arm in the order asked for, ours first; equal stages run once."""
    arms: list[Arm] = []
    if judged.corpus is not None:
        given = {"oracle": oracle_run(judged.qrels, len(judged.corpus), request.depth)}
        ctx = Context(judged.corpus, store, request.depth, request.seed, given, remember=not request.bench)
        with tqdm(request.arms, desc="strategies", unit="arm", disable=not sys.stderr.isatty()) as bar:
            for spec in bar:
                bar.set_postfix_str(spec.name)
                arms.append(run_arm(ctx, spec, judged))
    arms += [outside_arm(name, outside, judged) for name, outside in judged.outside.items()]
    return group_identical(arms)


def group_identical(arms: Sequence[Arm]) -> list[Arm]:
    """Arms with a note where their ranking equals an earlier arm's."""
    first: dict[str, str] = {}
    noted = []
    for arm in arms:
        same = first.setdefault(arm.run.fingerprint, arm.name) if arm.run is not None else arm.name
        noted.append(arm if same == arm.name else arm.noting(f"same ranking as {same}"))
    return noted


def describe(request: Request, parts: Sequence[Part], seconds: float) -> dict[str, Any]:
    """The manifest: everything a result depends on, with digests."""
    judged = parts[0].judged
    benchmark = judged.benchmark
    relevant = len(np.unique(judged.qrels.query[judged.qrels.grade > 0]))
    content = {
        "name": request.name,
        "split": request.split,
        "seed": request.seed,
        "depth": request.depth,
        "credit": request.evaluation["credit"],
        "primary": request.evaluation["primary"],
        "benchmark": {
            "name": benchmark.name,
            "digest": benchmark.digest,
            "queries": len(benchmark.queries),
            "judged": relevant,
            "unjudged": len(benchmark.queries) - relevant,
            "clusters": len(set(benchmark.queries.cluster)),
            "orphans": 0 if judged.spans is None else len(judged.spans.orphans),
            "uncovered": count_uncovered(judged),
        },
        "corpus": {
            "fingerprint": None if judged.corpus is None else judged.corpus.fingerprint,
            "chunks": len(judged.ids),
            "documents": None if judged.corpus is None else judged.corpus.documents.num_rows,
        },
        "chunkings": {
            part.label: part.judged.corpus.fingerprint for part in parts if part.label and part.judged.corpus
        },
        "sweep": request.sweep[0] if request.sweep else None,
        "strategies": {spec.name: fingerprint(spec.stage) for spec in request.arms},
        "code": code_version(),
        "packages": versions(),
        "config": request.config,
    }
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    identifier = fingerprint({"content": content, "time": stamp, "out": str(request.out)})[:16]
    return {**content, "run_id": identifier, "time": stamp, "seconds": seconds}


def write_all(
    request: Request,
    parts: Sequence[Part],
    per_query: pd.DataFrame,
    summary: pd.DataFrame,
    found: pd.DataFrame | None,
    manifest: Mapping[str, Any],
) -> None:
    """Every file of the results folder; the manifest, which makes the folder a result, comes last."""
    out = request.out
    write_atomic(out / "config.yaml", OmegaConf.to_yaml(OmegaConf.create(dict(request.config)), sort_keys=True))
    for part in parts:
        write_rankings(out, part.arms, part.judged)
    write_table(out, "per_query", per_query)
    write_table(out, "summary", summary)
    if found is not None:
        write_table(out, "effects", found)
    facts = arms_json([arm for part in parts for arm in part.arms])
    write_json(out / "arms.json", facts)
    write_reports(out, Findings(summary, facts, manifest, found, request.factorial, request.ablation))
    write_json(out / "manifest.json", manifest)


def show(
    request: Request,
    arms: Sequence[Arm],
    summary: pd.DataFrame,
    found: pd.DataFrame | None,
    manifest: Mapping[str, Any],
) -> None:
    """Print the table, the effects of a factorial, what must be said beside them, and who is missing."""
    primary = str(request.evaluation["primary"])
    if len(summary):
        print(table.as_text(table.leaderboard(summary, arms_json(arms), primary)))
    if found is not None and len(found):
        print("\n" + table.as_text(table.effect_cells(found, primary)))
        print("\n".join(table.effect_notes(found, primary)) + "\n")
    for line in table.caveats(manifest, summary, primary):
        print(line)
    for line in table.not_run(arms_json(arms)):
        print(line)


def track(request: Request) -> None:
    """Log to MLflow; a store that fails is reported, and the results stay where they are."""
    uri = request.tracking.get("uri")
    if not uri:
        return
    try:
        log_results(request.out, str(uri), str(request.tracking["experiment"]))
        print("MLflow: `make ui` shows this run beside the others; report.html opens in any browser")
    except TrackingError as error:
        print(f"not logged: {error}", file=sys.stderr)
        print(
            "the results are complete on disk; `python -m evaluation.tracking sync` logs them later", file=sys.stderr
        )


def exit_code(arms: Sequence[Arm], allow_missing: bool) -> int:
    """0 if every requested arm ran; an absent one is forgiven by `allow_missing`, a failed one never."""
    forgiven = {RAN, ABSENT} if allow_missing else {RAN}
    return 0 if all(arm.state in forgiven for arm in arms) else FAILURE
