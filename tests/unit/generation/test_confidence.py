"""The fitted models against scikit-learn and scipy, thresholds, and the fixed rule at each of its borders."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from generation.confidence import Confidence, Logistic, rule
from generation.errors import RequestError
from generation.schema import HIGH, LOW, MEDIUM, Passage
from ingestion.config import load, to_plain
from tests.unit.generation.bundled import shipped

CLAIM = {"intercept": -0.5, "features": {"coverage": {"mean": 0.4, "scale": 0.2, "weight": 1.5}}}
GOOD = {"refuse": 0.3, "high": 0.8, "medium": 0.5, "claim": CLAIM, "answerable": CLAIM}


def test_a_probability_by_hand():
    model = Logistic.read(CLAIM, "confidence.claim")
    # -.5 + 1.5 * (.6 - .4) / .2 = 1
    assert model.probability({"coverage": 0.6, "not fitted": 99.0}) == pytest.approx(1 / (1 + math.exp(-1)))


def test_probabilities_are_those_of_scikit_learn():
    rng = np.random.default_rng(5)
    table = rng.normal([0.2, 3, -1], [0.1, 2, 5], (200, 3))
    labels = rng.random(200) < expit(table @ [4, -0.3, 0.1])
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, labels)
    scaler, regression = fitted[0], fitted[1]
    columns = (tuple(map(float, column)) for column in (scaler.mean_, scaler.scale_, regression.coef_[0]))
    model = Logistic(("a", "b", "c"), *columns, float(regression.intercept_[0]))
    found = [model.probability(dict(zip("abc", row, strict=True))) for row in table.tolist()]
    np.testing.assert_allclose(found, fitted.predict_proba(table)[:, 1], rtol=1e-12)


@pytest.mark.parametrize(("total", "expected"), [(1e9, expit(60.0)), (-1e9, expit(-60.0)), (0.0, 0.5)])
def test_extreme_features_overflow_nothing(total, expected):
    model = Logistic(("a",), (0.0,), (1.0,), (1.0,), 0.0)
    assert model.probability({"a": total}) == pytest.approx(expected, rel=1e-12)


def test_a_feature_that_is_missing_is_named():
    with pytest.raises(RequestError, match=r"'coverage' is not known.*python -m evaluation\.answers"):
        Logistic.read(CLAIM, "claim").probability({"covrage": 1.0})


@pytest.mark.parametrize(
    ("probability", "level"),
    [(1.0, HIGH), (0.8, HIGH), (0.799999, MEDIUM), (0.5, MEDIUM), (0.499999, LOW), (0.0, LOW)],
)
def test_levels_begin_at_their_thresholds(probability, level):
    assert Confidence.read(GOOD).level(probability) == level


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"refuse": None}, "confidence: threshold"),
        ({"high": "much"}, "confidence: threshold.*'much'"),
        ({"high": 1.1}, "high=1.1 must be"),
        ({"refuse": -0.1}, "refuse=-0.1"),
        ({"refuse": math.nan}, "refuse=nan"),
        ({"medium": 0.9}, "medium=0.9, high=0.8"),
        ({"claim": {}}, r"confidence\.claim: no fitted model.*'features'"),
        ({"answerable": None}, r"confidence\.answerable: no fitted model"),
        ({"claim": {"features": {}}}, "'intercept'"),
        ({"claim": {**CLAIM, "intercept": math.inf}}, "not finite"),
        ({"claim": {**CLAIM, "features": {"coverage": {"mean": 0, "weight": 1}}}}, "'scale'"),
        ({"claim": {**CLAIM, "features": {"coverage": {"mean": 0, "scale": 0, "weight": 1}}}}, "scale not above 0"),
        ({"claim": {**CLAIM, "features": {"coverage": {"mean": 0, "scale": 1, "weight": "x"}}}}, "'x'"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(change, named):
    with pytest.raises(RequestError, match=named):
        Confidence.read({**GOOD, **change})
    missing = {key: value for key, value in GOOD.items() if key not in change}
    with pytest.raises(RequestError, match="confidence"):
        Confidence.read(missing)


def test_the_shipped_file_is_read_as_it_stands():
    plain = to_plain(load([]))["confidence"]
    found = shipped()
    assert (found.refuse, found.high, found.medium) == (plain["refuse"], plain["high"], plain["medium"])
    assert dict(zip(found.claim.names, found.claim.weights, strict=True)) == {
        name: row["weight"] for name, row in plain["claim"]["features"].items()
    }
    at_means = dict(zip(found.claim.names, found.claim.means, strict=True))
    assert found.claim.probability(at_means) == pytest.approx(expit(plain["claim"]["intercept"]))


@pytest.mark.parametrize(
    ("rank", "score", "overlap", "level"),
    [
        (1, 1.0, 0.3, HIGH),
        (2, 0.7, 0.3, HIGH),
        (3, 0.7, 0.3, MEDIUM),  # each condition alone one step off
        (2, 0.69, 0.3, MEDIUM),
        (2, 0.7, 0.29, MEDIUM),
        (4, 0.0, 0.0, MEDIUM),
        (5, 0.5, 0.2, MEDIUM),
        (5, 0.49, 0.2, LOW),
        (5, 0.5, 0.19, LOW),
        (5, 0.49, 1.0, LOW),
        (5, 1.0, 0.19, LOW),
        (100, 1.0, 1.0, MEDIUM),
    ],
)
def test_the_fixed_rule(rank, score, overlap, level):
    assert rule(Passage("c", "a.pdf", 1, "", 0, "text", rank, score), overlap) == level
