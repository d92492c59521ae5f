"""What is asked of `python -m evaluation.tune`, checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.errors import RequestError, SplitError
from evaluation.judging import Inputs, read_inputs
from evaluation.ledger import OPEN_SPLITS, is_sealed
from evaluation.options import read_options
from evaluation.request import Request, read_request
from evaluation.tune.space import Space, read_space
from evaluation.tune.tuned import STRATEGIES, Target, check_target
from ingestion.config import ROOT, load
from retrieval.build import check_strategy

OWN = ("strategy", "space", "trials", "folds", "name", "out", "study", "split", "tracking")
COMPOSED = ("strategy", "corpus", "benchmark", "ingest", "chunker", "eval", "seed", "depth", "artifacts")
N_TRIALS, N_FOLDS = 40, 5
NO_DEV = (
    'give the questions about at least ten documents "split": "dev" and all others "split": "test";\n'
    "in a BEIR collection move them to qrels/dev.tsv"
)


@dataclass(frozen=True)
class Wanted:
    """A checked request to tune: the strategy and its questions, the space, and where study and strategy file go.

    `n_trials` counts the present parameters too; `n_folds` is at least 2.
    """

    request: Request
    inputs: Inputs
    space: Space
    n_trials: int
    n_folds: int
    target: Target
    study: Path


def read_wanted(arguments: Sequence[str]) -> Wanted:
    """Check what was typed, and read the questions of the split.

    Raises:
        RequestError, ConfigError, StrategyNotFoundError, StageConfigError: what is wrong, and the remedy.
        BenchmarkError: the questions cannot be read.
        SplitError: there is no such split; with how to make one.
    """
    options = read_options(arguments, OWN, COMPOSED)
    if options.words:
        raise RequestError(f"{options.words[0]!r}: write key=value")
    strategy = options.required("strategy", "<name>")
    split = options.values.get("split", "dev")
    if is_sealed(split):
        raise RequestError(
            f"split={split} is sealed: parameters that were chosen on it would prove nothing there;\n"
            f"tune on split={' or '.join(sorted(OPEN_SPLITS))}"
        )
    n_folds = options.number("folds", N_FOLDS)
    if n_folds < 2:
        raise RequestError("folds=1: what was chosen on a fold is scored on another one; 2 at least")
    overrides = [f"strategy={strategy}", *options.overrides, f"split={split}"]
    check_strategy(overrides)
    request = read_request(load(overrides), overrides, {})
    request = replace(request, metrics=request.metrics[:1])  # the primary metric comes first
    config = request.arms[0].config
    target = _target(options.values, request.name)
    check_target(target, config)
    return Wanted(
        request,
        _read_questions(request),
        read_space(options.values.get("space"), config, request.name),
        options.number("trials", N_TRIALS),
        n_folds,
        target,
        Path(options.values.get("study") or ROOT / "results" / "tune" / f"{target.name}.db"),
    )


def _target(values: Mapping[str, str], strategy: str) -> Target:
    out = Path(values["out"]) if values.get("out") else None
    if out is not None and out.suffix != ".yaml":
        raise RequestError(f"out={out}: name a .yaml file")
    name = values.get("name") or (out.stem if out else f"{strategy}_tuned")
    if not name.replace("_", "").replace("-", "").replace(".", "").isalnum():
        raise RequestError(f"name={name}: letters, digits, '_', '-' and '.' only")
    return Target(out or STRATEGIES / f"{name}.yaml", name, strategy)


def _read_questions(request: Request) -> Inputs:
    try:
        return read_inputs(request)
    except SplitError as error:
        raise SplitError(f"{error}\nto tune on {request.split}: {NO_DEV}") from error
