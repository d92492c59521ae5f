"""The search for better parameters: Optuna's TPE over a space, kept in SQLite trial by trial.

A proposal is a function of the trials so far and the seed, and a trial is written once it is complete. So an
interrupted study goes on exactly as it would have gone on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock, Timeout

from evaluation.errors import EvaluationError
from evaluation.tune.dimension import Dimension, Scalar
from evaluation.tune.space import Space
from retrieval.schema import Floats

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

GRID = 64  # a space of at most so many combinations is tried whole
DIGITS = 3  # significant digits of a value from a range: more would be noise


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried, the objective, and the primary metric per question (float64, NaN without one)."""

    params: Mapping[str, Scalar]
    objective: float
    values: Floats


Evaluate = Callable[[Mapping[str, Scalar]], tuple[float, Floats]]


def propose(space: Space, trials: Sequence[Trial], seed: int) -> dict[str, Scalar] | None:
    """The parameters to try next; None where all combinations were tried.

    First come the strategy's own. A finite space of at most `GRID` combinations is then tried in seeded order, any
    other one by TPE (Bergstra et al., "Algorithms for Hyper-Parameter Optimization", NeurIPS 2011), whose first ten
    trials are random.
    """
    if not trials:
        return dict(space.default)
    grid = space.grid(GRID)
    if grid is None:
        return _tpe(space, trials, seed)
    tried = [trial.params for trial in trials]
    order = np.random.default_rng(seed).permutation(len(grid)).tolist()
    return next((grid[at] for at in order if grid[at] not in tried), None)


def _tpe(space: Space, trials: Sequence[Trial], seed: int) -> dict[str, Scalar]:
    from optuna import create_study
    from optuna.samplers import TPESampler

    number = int(np.random.SeedSequence([seed, len(trials)]).generate_state(1)[0])
    study = create_study(direction="maximize", sampler=TPESampler(seed=number))
    study.add_trials([_frozen(space, trial) for trial in trials if _inside(space, trial)])
    asked = study.ask(_distributions(space)).params
    return {d.path: _readable(d, asked[d.path]) for d in space.dimensions}


def _readable(dimension: Dimension, value: Scalar) -> Scalar:
    """A drawn value with as many digits as it deserves."""
    if not isinstance(value, float) or dimension.values:
        return value
    if dimension.step:
        return round(value, 12)
    return min(dimension.high, max(dimension.low, float(f"{value:.{DIGITS}g}")))


def _distributions(space: Space) -> dict[str, BaseDistribution]:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found: dict[str, BaseDistribution] = {}
    for d in space.dimensions:
        if d.values:
            found[d.path] = CategoricalDistribution(d.values)
        elif d.whole:
            found[d.path] = IntDistribution(int(d.low), int(d.high), log=d.log, step=int(d.step or 1))
        else:
            found[d.path] = FloatDistribution(d.low, d.high, log=d.log, step=d.step)
    return found


def _inside(space: Space, trial: Trial) -> bool:
    """Whether a trial's parameters lie in the space; the strategy's own need not."""
    return all(trial.params[dimension.path] in dimension for dimension in space.dimensions)


def _frozen(space: Space, trial: Trial, attributes: Mapping[str, Any] | None = None) -> FrozenTrial:
    """A trial as Optuna keeps it; one outside the space without its parameters."""
    from optuna.trial import create_trial

    inside = _inside(space, trial)
    return create_trial(
        value=trial.objective,
        params=dict(trial.params) if inside else {},
        distributions=_distributions(space) if inside else {},
        user_attrs=dict(attributes or {}),
    )


def _thawed(space: Space, trial: FrozenTrial) -> Trial:
    values = np.asarray(trial.user_attrs["values"], dtype=np.float64)
    return Trial(trial.params or dict(space.default), float(trial.value or 0.0), values)


def importance(space: Space, trials: Sequence[Trial]) -> dict[str, float]:
    """Share of each parameter in the spread of the objective, the largest first; empty where nothing can be told.

    PED-ANOVA (Watanabe et al., "PED-ANOVA: Efficiently Quantifying Hyperparameter Importance in Arbitrary
    Subspaces", IJCAI 2023).
    """
    from optuna import create_study
    from optuna.importance import get_param_importances

    inside = [trial for trial in trials if _inside(space, trial)]
    if len(space.dimensions) < 2 or len({trial.objective for trial in inside}) < 2:
        return {}
    study = create_study(direction="maximize")
    study.add_trials([_frozen(space, trial) for trial in inside])
    return {path: float(share) for path, share in get_param_importances(study).items()}


def run_study(
    path: Path,
    name: str,
    space: Space,
    n_trials: int,
    seed: int,
    evaluate: Evaluate,
    seen: Callable[[Sequence[Trial]], None],
) -> list[Trial]:
    """Go on with a study until it holds `n_trials` trials, or every combination of a small space; returns the first.

    Args:
        path: the SQLite file; made where it is missing.
        name: of the study; everything that a value depends on must be in it.
        space: where to search.
        n_trials: how many trials the study shall hold, the strategy's own parameters included.
        seed: of the search.
        evaluate: parameters to objective and values per question; parameters that were tried are not tried again.
        seen: called with all trials at the start and after each one.

    Raises:
        EvaluationError: the file is no study of Optuna's, or another process is writing to it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path.with_name(f"{path.name}.lock"), timeout=0):
            study = _open(path, name)
            trials = [_thawed(space, trial) for trial in study.get_trials(deepcopy=False)]
            seen(trials)
            while len(trials) < n_trials and (params := propose(space, trials, seed)) is not None:
                known = next((trial for trial in trials if trial.params == params), None)
                value, values = (known.objective, known.values) if known else evaluate(params)
                trial = Trial(params, value, values)
                study.add_trial(_frozen(space, trial, {"values": values.tolist()}))
                trials.append(trial)
                seen(trials)
    except Timeout as error:
        raise EvaluationError(f"{path}: another tuning is writing to it; wait, or set study=<other file>") from error
    return trials[:n_trials]


def _open(path: Path, name: str) -> Study:
    import optuna
    from sqlalchemy import URL
    from sqlalchemy.exc import DatabaseError

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        storage = optuna.storages.RDBStorage(URL.create("sqlite", database=str(path.resolve())).render_as_string())
        return optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)
    except (DatabaseError, optuna.exceptions.StorageInternalError, RuntimeError) as error:
        line = str(error).splitlines()[0]
        raise EvaluationError(f"{path} is no study file of Optuna ({line}); set study=<other file>") from error
