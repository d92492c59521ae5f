"""The main job: judge every arm that was asked for on the same questions, write the results, print the table."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from omegaconf import DictConfig
from tqdm import tqdm

from evaluation.answers.assembled import assemble
from evaluation.answers.findings import AnswerFindings
from evaluation.answers.request import AnswerRequest
from evaluation.answers.run import run_generators
from evaluation.arms import ABSENT, RAN, Arm, outside_arm, run_arm
from evaluation.collect import Part, collect, identical
from evaluation.errors import EvaluationError, RequestError, TrackingError
from evaluation.findings import Findings
from evaluation.judging import Inputs, Judged, oracle_run, prepare, read_inputs
from evaluation.manifest import describe
from evaluation.measure import applicable, measure
from evaluation.plan import plan
from evaluation.regression.guard import check_baseline, guard, working_store
from evaluation.regression.settings import read_gate
from evaluation.request import Request, read_request
from evaluation.results import write_results
from evaluation.rules import Rules
from evaluation.table import shown_text
from evaluation.tracking import log_results
from ingestion.artifacts import ArtifactStore
from ingestion.errors import IngestionError
from retrieval.errors import RetrievalError
from retrieval.stage import Context

WRONG_REQUEST, FAILURE = 2, 1


@dataclass(frozen=True)
class Outcome:
    """How a request ended: the exit code (0 every arm ran, 1 a failure, 2 a wrong request).

    `value`: mean of the objective of the first arm, where a sweep optimises one.
    """

    code: int
    value: float | None = None


def run(
    config: DictConfig, overrides: Sequence[str], outside: Mapping[str, Path], sweep: tuple[str, int] | None = None
) -> Outcome:
    """Carry out one request.

    `sweep`: name of the Hydra sweep and number of the job in it, where this is one of several jobs.
    """
    try:
        request = read_request(config, overrides, outside, sweep)
        gate = read_gate(request)
        check_baseline(gate, request)
        inputs = read_inputs(request)
    except (EvaluationError, IngestionError, RetrievalError) as error:
        print(f"run_eval.py: {error}", file=sys.stderr)
        return Outcome(WRONG_REQUEST)
    try:
        with working_store(gate, request) as store:
            if request.plan:
                print(plan(request, inputs.benchmark, store))
                return Outcome(0)
            outcome = evaluate(request, inputs, store)
            if gate is not None:
                outcome = replace(outcome, code=guard(gate, request, inputs, store, outcome.code))
            print(request.out)
            return outcome
    except (EvaluationError, IngestionError, RetrievalError) as error:
        print(f"run_eval.py: {type(error).__name__}: {error}", file=sys.stderr)
        return Outcome(FAILURE)


def evaluate(request: Request, inputs: Inputs, store: ArtifactStore) -> Outcome:
    """Run, judge, write and print."""
    started = time.perf_counter()
    parts = [run_part(wanted, inputs, store, label) for label, wanted in request.chunkings().items()]
    manifest = describe(request, {part.label: part.judged for part in parts}, time.perf_counter() - started)
    findings = collect(request, parts, manifest)
    if request.answers is not None:
        findings = replace(findings, answers=answered(request, request.answers, parts[0], store))
    write_results(request.out, request.config, [(part.arms, part.judged) for part in parts], findings)
    print(shown_text(findings))
    track(request)
    arms = [arm for part in parts for arm in part.arms]
    return Outcome(exit_code(arms, request.allow_missing), objective(request, arms, findings))


def answered(request: Request, wanted: AnswerRequest, part: Part, store: ArtifactStore) -> AnswerFindings:
    """What generators make of the rankings of the arms that ran, runs made elsewhere among them."""
    judged = part.judged
    assert judged.corpus is not None
    stages = {spec.name: spec.stage for spec in request.arms}
    arms = [(arm, stages.get(arm.name)) for arm in part.arms if arm.run is not None]
    tables = run_generators(wanted, arms, judged, Context(judged.corpus, store, request.depth, request.seed))
    rules = Rules.read({**request.evaluation, "comparisons": [], "baseline": None}, [])
    return assemble(
        tables, judged, rules, request.evaluation, request.seed, primary=wanted.primary, yardstick=wanted.yardstick
    )


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
    same = identical(arms)
    return [arm.noting(f"same ranking as {same[arm.name]}") if arm.name in same else arm for arm in arms]


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


def objective(request: Request, arms: Sequence[Arm], findings: Findings) -> float | None:
    """What a sweep optimises: the mean of its metric for the first arm; None without one."""
    if request.objective is None:
        return None
    summary = findings.summary
    rows = summary[(summary["strategy"] == arms[0].name) & (summary["metric"] == request.objective.name)]
    return float(rows["mean"].iloc[0]) if len(rows) else None
