"""Calibration at reduced size: every promise within its band and chance, and that a broken statistic would show."""

import numpy as np
import pandas as pd
import pytest

from evaluation import calibration
from evaluation.calibration import Check, calibrate, checks, false_alarms, main, readable
from evaluation.randomise import sign_flips
from evaluation.simulated import MODELS, Layout
from evaluation.stats import intervals

SLOW = ("any false, Holm", "any false, Tukey")


PROMISES = [check for check in checks() if not check.limit]


@pytest.mark.parametrize("check", PROMISES, ids=lambda check: f"{check.name}: {check.setting}")
def test_promises_at_reduced_size(check):
    simulations = 40 if check.name in SLOW else 200
    figure = check.measure(simulations, 7)
    # the band, and three and a half standard errors of a share at its edges
    low, high = (3.5 * np.sqrt(max(edge * (1 - edge), 0.0) / simulations) for edge in (check.lo, check.hi))
    assert check.lo - low <= figure <= check.hi + high


def test_every_promise_is_checked():
    listed = pd.DataFrame([(check.name, check.setting) for check in checks()], columns=["check", "setting"])
    assert not listed.duplicated().any()
    assert list(listed["check"].value_counts().sort_index().items()) == [
        ("BCa covers", 12),
        ("Wilson covers", 3),
        ("any false, Holm", 6),
        ("any false, Tukey", 6),
        ("any false, max-T", 12),
        ("equivalent at the margin", 6),
        ("false alarm", 12),
        ("percentile covers", 12),
        ("power at detectable", 12),
    ]


def test_what_is_not_promised_is_tukey_with_unlike_systems():
    limits = [check for check in checks() if check.limit]
    assert [check.name for check in limits] == ["any false, Tukey"] * 2
    assert all("unlike systems" in check.setting for check in limits)


def test_flipping_questions_one_by_one_would_be_found_out(monkeypatch):
    def alone(values, pairs, clusters, seed, flips, *rest):
        return sign_flips(values, pairs, np.arange(len(clusters)), seed, flips, *rest)

    monkeypatch.setattr(calibration, "sign_flips", alone)
    assert false_alarms(MODELS[1], Layout(20, 9), 300, 7) > 0.12


def test_resampling_questions_one_by_one_would_be_found_out(monkeypatch):
    def alone(values, clusters, seed, resamples, **rest):
        return intervals(values, np.arange(len(clusters)), seed, resamples, **rest)

    monkeypatch.setattr(calibration, "intervals", alone)
    assert calibration.coverage(MODELS[1], Layout(20, 9), "percentile", 200, 7) < 0.85


def test_without_correction_a_family_would_be_found_out(monkeypatch):
    monkeypatch.setattr(calibration, "holm", lambda p: p)
    assert calibration.family_alarms(MODELS[1], Layout(50), 30, 7) > 0.5


def test_figures_repeat_and_follow_the_seed():
    first, again, other = (false_alarms(MODELS[0], Layout(50), 250, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_table_and_exit_code(monkeypatch, capsys, tmp_path):
    good = Check("right", "a setting", lambda simulations, seed: 0.95, 0.93, 0.97)
    bad = Check("wrong", "a setting", lambda simulations, seed: simulations / 1_000 + seed, 0.93, 0.97)
    monkeypatch.setattr(calibration, "checks", lambda: [good])
    assert main(["out=" + str(tmp_path / "new")]) == 0
    assert "1 checks with 2000 simulations each: none out of band" in capsys.readouterr().out
    assert list(pd.read_csv(tmp_path / "new" / "calibration.csv")["figure"]) == [0.95]
    monkeypatch.setattr(calibration, "checks", lambda: [good, bad])
    assert main(["simulations=50", "seed=3"]) == 1
    said = capsys.readouterr().out
    assert "3.0500 0.930 to 0.970 OUT OF BAND" in said
    assert "1 out of band" in said
    known = Check("wrong", "elsewhere", bad.measure, 0.93, 0.97, "spread differs.")
    monkeypatch.setattr(calibration, "checks", lambda: [good, known])
    assert main(["simulations=50"]) == 0
    assert "known limit: spread differs." in capsys.readouterr().out
    table = calibrate([good, bad], 950, 0)
    assert list(table["ok"]) == [True, True]
    assert readable(table).count("ok") == 3


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("simulation=5", "did you mean 'simulations'"),
        ("simulations=0", "must be a whole number from 1"),
        ("seed=-1", "whole number from 0"),
        ("now", "now: write simulations="),
    ],
)
def test_wrong_requests(argument, message, capsys):
    assert main([argument]) == 2
    assert message in capsys.readouterr().err


def test_help(capsys):
    assert main(["--help"]) == 0
    assert "simulations=2000" in capsys.readouterr().out
