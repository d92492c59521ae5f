"""Brier score, bins and calibration error: by hand, against scikit-learn, and on models of known calibration."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from evaluation.answers.reliability import bins, brier, calibration_error, members
from evaluation.errors import EvaluationError
from evaluation.stats import wilson


def drawn(n=400, seed=0, bend=0.0):
    rng = np.random.default_rng(seed)
    probability = rng.beta(2, 1, n)
    return probability, (rng.random(n) < np.clip(probability + bend, 0, 1)).astype(float)


def test_brier_and_its_parts_by_hand():
    probability, label = np.asarray([0.2, 0.2, 0.8, 0.8, 0.8]), np.asarray([0.0, 1.0, 1.0, 1.0, 0.0])
    found = brier(probability, label, np.asarray([0, 0, 1, 1, 1]))
    assert found.score == pytest.approx((0.04 + 0.64 + 0.04 + 0.04 + 0.64) / 5)
    assert found.reliability == pytest.approx(2 / 5 * 0.3**2 + 3 / 5 * (0.8 - 2 / 3) ** 2)
    assert found.resolution == pytest.approx(2 / 5 * 0.1**2 + 3 / 5 * (2 / 3 - 0.6) ** 2)
    assert found.uncertainty == pytest.approx(0.6 * 0.4)
    assert found.within == pytest.approx(0)
    assert found.skill == pytest.approx(1 - 0.28 / 0.24)


@pytest.mark.parametrize("binning", ["mass", "width"])
def test_the_parts_add_up_to_the_score_of_scikit_learn(binning):
    probability, label = drawn(bend=-0.2)
    found = brier(probability, label, members(probability, 10, binning))
    assert found.score == pytest.approx(brier_score_loss(label, probability), abs=1e-12)
    total = found.reliability - found.resolution + found.uncertainty + found.within
    assert total == pytest.approx(found.score, abs=1e-12)


@pytest.mark.parametrize(("binning", "strategy"), [("mass", "quantile"), ("width", "uniform")])
def test_bins_are_those_of_scikit_learn(binning, strategy):
    probability, label = drawn()
    rate, mean = calibration_curve(label, probability, n_bins=10, strategy=strategy)
    member = members(probability, 10, binning)
    found = bins(probability, label, member, 0, draws=50)
    np.testing.assert_allclose(found["rate"], rate)
    np.testing.assert_allclose(found["probability"], mean)
    count = np.bincount(member)
    np.testing.assert_allclose(found[["lo", "hi"]].to_numpy().T, wilson(np.round(rate * count), count))
    assert found["n"].sum() == 400
    assert (found["low"].to_numpy()[1:] > found["high"].to_numpy()[:-1]).all()


def test_equal_probabilities_share_a_bin():
    assert members(np.asarray([0.5] * 7 + [0.9] * 3), 10).tolist() == [0] * 7 + [1] * 3
    with pytest.raises(EvaluationError, match="between 0 and 1"):
        members(np.asarray([0.5, np.nan]))


def test_calibration_error_by_hand_and_its_null():
    probability, label = np.asarray([0.5] * 4), np.asarray([1.0, 1.0, 1.0, 0.0])
    found = calibration_error(probability, label, np.zeros(4, dtype=int), 0, 20_000)
    assert found.error == pytest.approx(0.25)
    # Of 4 fair coins: 0 or 4 heads are off by .5 (2/16), 1 or 3 by .25 (8/16), 2 by nothing (6/16).
    assert found.null_mean == pytest.approx(2 / 16 * 0.5 + 8 / 16 * 0.25, abs=0.004)
    assert found.p == pytest.approx(10 / 16, abs=0.01)
    assert found.null_high == 0.5


def test_the_null_is_not_rejected_more_often_than_it_says_and_a_bent_model_is():
    calibrated, bent = [], []
    for seed in range(200):
        for into, bend in ((calibrated, 0.0), (bent, -0.2)):
            probability, label = drawn(150, seed, bend)
            into.append(calibration_error(probability, label, members(probability), 1, 200).p)
    assert np.mean(np.asarray(calibrated) <= 0.05) <= 0.09  # .05 and two standard errors of 200 runs
    assert np.mean(np.asarray(bent) <= 0.05) >= 0.9


def test_the_band_holds_the_bins_of_a_calibrated_model():
    inside = []
    for seed in range(100):
        probability, label = drawn(200, seed)
        found = bins(probability, label, members(probability), 3, draws=500)
        inside.append((found["null_lo"] <= found["rate"]) & (found["rate"] <= found["null_hi"]))
    assert 0.94 <= np.mean(inside) <= 1.0  # discrete, so a little more than 95 %


def test_order_does_not_matter_and_the_seed_does():
    probability, label = drawn()
    mixed = np.random.default_rng(5).permutation(400)
    first = calibration_error(probability, label, members(probability), 0)
    second = calibration_error(probability[mixed], label[mixed], members(probability[mixed]), 0)
    assert first == second
    assert calibration_error(probability, label, members(probability), 1).null_mean != first.null_mean


def test_nothing_to_measure_has_no_value():
    empty = np.zeros(0)
    assert np.isnan(brier(empty, empty, np.zeros(0, dtype=int)).score)
    assert np.isnan(calibration_error(empty, empty, np.zeros(0, dtype=int), 0).error)
    assert bins(empty, empty, np.zeros(0, dtype=int), 0).empty
    assert np.isnan(brier(np.asarray([0.5]), np.asarray([1.0]), np.asarray([0])).skill)
