"""Fitted probabilities against scikit-learn, out of fold by document."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evaluation.answers.fitted import apply, logistic
from evaluation.answers.fitting import fit_logistic
from evaluation.errors import EvaluationError
from evaluation.tune.folds import make_folds
from generation.confidence import Logistic

RNG = np.random.default_rng(0)
FEATURES = pd.DataFrame({"overlap": RNG.random(300), "rank": RNG.integers(1, 6, 300) / 1.0, "constant": 1.0})
TRUTH = 1 / (1 + np.exp(-(4 * FEATURES["overlap"] - 0.5 * FEATURES["rank"])))
LABELS = (RNG.random(300) < TRUTH).astype(int).to_numpy()
CLUSTERS = [f"d{at % 17}" for at in range(300)]


def test_the_logistic_fit_is_that_of_scikit_learn():
    fit = fit_logistic(FEATURES, LABELS, CLUSTERS, 0)
    want = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-9, max_iter=10_000)).fit(FEATURES, LABELS)
    np.testing.assert_allclose(apply(fit.model, FEATURES), want.predict_proba(FEATURES)[:, 1], atol=2e-5)
    folds = make_folds(CLUSTERS, np.ones(300, dtype=bool), 5, 0)
    for fold in range(5):
        held = folds == fold
        other = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-9, max_iter=10_000))
        other.fit(FEATURES[~held], LABELS[~held])
        np.testing.assert_allclose(fit.out_of_fold[held], other.predict_proba(FEATURES[held])[:, 1], atol=2e-5)


def test_the_model_is_plain_data_that_the_generator_reads():
    model = json.loads(json.dumps(fit_logistic(FEATURES, LABELS, CLUSTERS, 0).model))
    ours = apply(model, FEATURES)
    theirs = Logistic.read(model, "test")
    rows = FEATURES.to_dict("records")
    np.testing.assert_allclose([theirs.probability(row) for row in rows], ours, atol=1e-12)
    one = model["features"]["overlap"]
    z = model["intercept"] + sum(
        row["weight"] * (FEATURES[name][0] - row["mean"]) / row["scale"] for name, row in model["features"].items()
    )
    assert ours[0] == pytest.approx(1 / (1 + np.exp(-z)), abs=1e-12)
    assert one["mean"] == round(float(FEATURES["overlap"].mean()), 6)


def test_the_order_of_rows_changes_no_bit():
    mixed = np.random.default_rng(9).permutation(300)
    first = fit_logistic(FEATURES, LABELS, CLUSTERS, 3)
    second = fit_logistic(FEATURES.iloc[mixed], LABELS[mixed], [CLUSTERS[at] for at in mixed], 3)
    assert json.dumps(first.model) == json.dumps(second.model)
    np.testing.assert_array_equal(first.out_of_fold[mixed], second.out_of_fold)


def test_a_feature_that_names_the_document_gains_nothing_out_of_fold():
    rng = np.random.default_rng(4)
    documents = np.arange(400) // 10
    lucky = rng.random(40) < 0.5
    features = pd.DataFrame(np.eye(40)[documents], columns=[f"is {at}" for at in range(40)])
    fit = fit_logistic(features, lucky[documents].astype(int), [str(at) for at in documents], 0, strength=100.0)
    inside = apply(fit.model, features)
    assert np.abs(inside - lucky[documents]).mean() < 0.1
    assert np.abs(fit.out_of_fold - lucky[documents]).mean() > 0.4


def test_what_cannot_be_fitted_is_said():
    with pytest.raises(EvaluationError, match="labels 0 and 1"):
        fit_logistic(FEATURES, np.ones(300), CLUSTERS, 0)
    with pytest.raises(EvaluationError, match="not finite"):
        fit_logistic(FEATURES.assign(overlap=np.nan), LABELS, CLUSTERS, 0)
    with pytest.raises(EvaluationError, match="two at least"):
        fit_logistic(FEATURES, LABELS, ["d"] * 300, 0)
    with pytest.raises(EvaluationError, match="too few documents"):
        fit_logistic(FEATURES[:4], [0, 0, 1, 1], ["a", "a", "b", "b"], 0)
    with pytest.raises(EvaluationError, match="needs 'rank'"):
        apply(fit_logistic(FEATURES, LABELS, CLUSTERS, 0).model, {"overlap": [0.5]})
    with pytest.raises(EvaluationError, match="feature 'overlap' holds"):
        apply(fit_logistic(FEATURES[["overlap"]], LABELS, CLUSTERS, 0).model, {"overlap": [np.nan]})


def test_the_logistic_function_does_not_overflow():
    assert logistic(np.asarray([-1000.0, 0.0, 1000.0])).tolist() == [0.0, 0.5, 1.0]
