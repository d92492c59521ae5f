"""The search: what is tried in which order, and that an interruption changes nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from filelock import FileLock

from evaluation.errors import EvaluationError
from evaluation.tune.dimension import Dimension
from evaluation.tune.space import Space
from evaluation.tune.study import GRID, importance, propose, run_study

K = Dimension("fuser.k", low=1.0, high=200.0, log=True)
LAM = Dimension("then.mmr.lam", low=0.0, high=1.0, step=0.05)
POOL = Dimension("then.mmr.pool", low=5, high=500, log=True, whole=True)
OPEN = Space("open", (K, LAM, POOL), {"fuser.k": 60.0, "then.mmr.lam": 0.7, "then.mmr.pool": 50})
SMALL = Space("small", (LAM,), {"then.mmr.lam": 0.7})


def peak(params):
    """Highest, 1, at k = 10 and lam = .3; three values a trial, one question without any."""
    value = 1 - abs(math.log(params["fuser.k"] / 10)) / 6 - abs(params["then.mmr.lam"] - 0.3)
    return value, np.asarray([value, value / 3, np.nan])


def search(path, n_trials, space=OPEN, evaluate=peak, seed=0, name="s"):
    return run_study(path, name, space, n_trials, seed, evaluate, lambda trials: None)


def as_rows(trials):
    return [(dict(trial.params), trial.objective, trial.values.tobytes()) for trial in trials]


def test_the_present_parameters_come_first_and_all_lie_in_the_space(tmp_path):
    trials = search(tmp_path / "a.db", 25)
    assert dict(trials[0].params) == dict(OPEN.default)
    assert len(trials) == 25
    for trial in trials:
        assert all(trial.params[dimension.path] in dimension for dimension in OPEN.dimensions)
        assert isinstance(trial.params["then.mmr.pool"], int)
        assert trial.params["fuser.k"] == float(f"{trial.params['fuser.k']:.3g}")
        assert trial.objective == peak(trial.params)[0]


def test_the_search_comes_near_the_peak(tmp_path):
    # the present parameters, k = 60 and lam = .7, are worth 1 - ln(6) / 6 - .4 = .301
    best = [max(t.objective for t in search(tmp_path / f"{seed}.db", 30, seed=seed)) for seed in (0, 1)]
    assert min(best) > 0.85


def test_an_interrupted_study_goes_on_as_if_it_had_not_been(tmp_path):
    whole = search(tmp_path / "whole.db", 24)
    calls = []

    def breaks_down(params):
        calls.append(params)
        if len(calls) == 14:
            raise KeyboardInterrupt
        return peak(params)

    with pytest.raises(KeyboardInterrupt):
        search(tmp_path / "parts.db", 24, evaluate=breaks_down)
    kept = search(tmp_path / "parts.db", 13, evaluate=None)  # nothing is left to evaluate
    assert as_rows(kept) == as_rows(whole[:13])
    assert as_rows(search(tmp_path / "parts.db", 18)) == as_rows(whole[:18])
    assert as_rows(search(tmp_path / "parts.db", 24)) == as_rows(whole)


def test_fewer_trials_than_the_study_holds_are_its_first(tmp_path):
    whole = search(tmp_path / "a.db", 12)
    assert as_rows(search(tmp_path / "a.db", 5, evaluate=None)) == as_rows(whole[:5])


def test_another_seed_or_name_is_another_search(tmp_path):
    first = as_rows(search(tmp_path / "a.db", 5))
    assert as_rows(search(tmp_path / "b.db", 5, seed=1))[1:] != first[1:]
    counted = []
    search(tmp_path / "a.db", 3, name="other", evaluate=lambda params: counted.append(params) or peak(params))
    assert len(counted) == 3


def test_a_small_space_is_tried_whole_and_each_setting_once(tmp_path):
    assert LAM.size == 21 <= GRID
    asked = []

    def evaluate(params):
        asked.append(params["then.mmr.lam"])
        return params["then.mmr.lam"], np.zeros(2)

    trials = search(tmp_path / "a.db", 40, SMALL, evaluate)
    assert len(trials) == len(asked) == 21
    assert asked[0] == 0.7
    assert sorted(asked) == [round(number * 0.05, 12) for number in range(21)]
    assert propose(SMALL, trials, 0) is None
    assert propose(SMALL, trials[:5], 0) == trials[5].params


def test_what_was_tried_is_not_run_again(tmp_path):
    narrow = Space("narrow", (Dimension("fuser.k", low=1.0, high=1.02),), {"fuser.k": 1.0})
    asked = []

    def evaluate(params):
        asked.append(params["fuser.k"])
        return params["fuser.k"], np.zeros(1)

    trials = search(tmp_path / "a.db", 12, narrow, evaluate)
    assert len(trials) == 12
    assert sorted(asked) == [1.0, 1.01, 1.02]  # three significant digits


def test_present_parameters_outside_the_space_are_the_first_trial_nevertheless(tmp_path):
    outside = Space(
        "outside", (Dimension("fuser.k", low=1.0, high=20.0), LAM), {"fuser.k": 60.0, "then.mmr.lam": 0.7}
    )
    trials = search(tmp_path / "a.db", 15, outside)
    again = search(tmp_path / "a.db", 15, outside, evaluate=None)
    assert trials[0].params["fuser.k"] == 60.0
    assert as_rows(again) == as_rows(trials)
    assert max(trial.params["fuser.k"] for trial in trials[1:]) <= 20


def test_importance_is_large_where_the_objective_changes(tmp_path):
    shares = importance(OPEN, search(tmp_path / "a.db", 30))
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["then.mmr.pool"] < 0.25 < shares["then.mmr.lam"]  # the pool has no effect on the peak
    assert importance(SMALL, search(tmp_path / "b.db", 9, SMALL, lambda p: (p["then.mmr.lam"], np.zeros(1)))) == {}


@pytest.mark.parametrize("name", ["a b, c.db", "50%20.db", "what?x=1.db", "a#b.db", "don't.db"])
def test_any_file_name_will_do(tmp_path, name):
    search(tmp_path / "new folder" / name, 2)
    assert (tmp_path / "new folder" / name).stat().st_size > 0


def test_a_file_that_is_no_study_or_is_in_use_is_refused(tmp_path):
    (tmp_path / "text.db").write_text("not a database\n" * 100)
    with pytest.raises(EvaluationError, match=r"text\.db is no study file of Optuna.*set study="):
        search(tmp_path / "text.db", 2)
    assert (tmp_path / "text.db").read_text() == "not a database\n" * 100
    with FileLock(tmp_path / "a.db.lock"), pytest.raises(EvaluationError, match="another tuning is writing"):
        search(tmp_path / "a.db", 2)
