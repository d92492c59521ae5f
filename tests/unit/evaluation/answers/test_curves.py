"""Refusal trade-off and risk over coverage, by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from evaluation.answers.curves import area, area_under_risk, choose, risk_coverage, tradeoff

SCORE = np.asarray([0.1, 0.2, 0.2, 0.4, 0.9])
CANNOT = np.asarray([True, True, False, False, False])


def test_tradeoff_by_hand():
    found = tradeoff(SCORE, CANNOT)
    assert found["threshold"].tolist() == pytest.approx([-np.inf, 0.15, 0.3, 0.65, np.inf])
    assert found["right"].tolist() == [0, 0.5, 1, 1, 1]
    assert found["wrong"].tolist() == pytest.approx([0, 0, 1 / 3, 2 / 3, 1])
    assert area(found) == pytest.approx(5.5 / 6)  # of six pairs five are in order and one is a tie
    assert choose(found, 0.15) == pytest.approx(0.15)
    assert choose(found, 0.5) == pytest.approx(0.3)
    assert np.isnan(choose(found, -1.0))


def test_tradeoff_is_the_roc_curve_of_scikit_learn():
    rng = np.random.default_rng(0)
    cannot = rng.random(300) < 0.3
    score = np.round(rng.normal(np.where(cannot, 0.3, 0.6), 0.2), 2)
    found = tradeoff(score, cannot)
    wrong, right, _ = roc_curve(cannot, -score, drop_intermediate=False)
    np.testing.assert_allclose(found["wrong"], wrong)
    np.testing.assert_allclose(found["right"], right)
    assert area(found) == pytest.approx(roc_auc_score(cannot, -score))


def test_scores_that_are_missing_and_questions_of_one_sort():
    assert len(tradeoff(np.append(SCORE, np.nan), np.append(CANNOT, True))) == 5
    assert tradeoff(SCORE, np.zeros(5, dtype=bool)).empty
    assert np.isnan(area(tradeoff(SCORE, np.ones(5, dtype=bool))))


def test_risk_by_hand():
    found = risk_coverage(np.asarray([0.9, 0.5, 0.5, 0.1, np.nan]), np.asarray([0.0, 1.0, 0.5, 1.0, 1.0]))
    assert found["threshold"].tolist() == [0.9, 0.5, 0.1]
    assert found["coverage"].tolist() == [0.25, 0.75, 1.0]
    assert found["risk"].tolist() == [0.0, 0.5, 0.625]
    assert area_under_risk(found) == pytest.approx(0.25 * 0 + 0.5 * 0.5 + 0.25 * 0.625)
    assert risk_coverage(np.zeros(0), np.zeros(0)).empty
    assert np.isnan(area_under_risk(risk_coverage(np.zeros(0), np.zeros(0))))


def test_order_does_not_matter():
    rng = np.random.default_rng(2)
    confidence, loss = np.round(rng.random(50), 1), rng.integers(0, 2, 50).astype(float)
    mixed = rng.permutation(50)
    np.testing.assert_allclose(
        risk_coverage(confidence, loss), risk_coverage(confidence[mixed], loss[mixed]), atol=1e-12
    )
