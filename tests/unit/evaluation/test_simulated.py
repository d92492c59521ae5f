"""Simulated metric values: their means and spreads against quadrature and hand arithmetic, their correlations."""

import numpy as np
import pytest

from evaluation.simulated import MODELS, Layout, ndcg, reciprocal_rank, steady

GRID = (np.arange(50_000) + 0.5) / 50_000


def test_means_and_levels_by_hand():
    values = reciprocal_rank(GRID)
    weights = np.arange(1, 11) ** -1.5
    expected = 0.85 * (weights / np.arange(1, 11)).sum() / weights.sum()
    assert values.mean() == pytest.approx(expected, abs=1e-4)
    np.testing.assert_allclose(np.unique(values), [0, *(1 / np.arange(10, 0, -1))])
    assert (values == 0).mean() == pytest.approx(0.15, abs=1e-4)
    assert (np.diff(values) >= 0).all()
    inner = ndcg(GRID)
    # a tenth of 1 and 65 % of Beta(2, 2), whose mean is 1/2
    assert inner.mean() == pytest.approx(0.1 + 0.65 / 2, abs=1e-4)
    assert ((inner == 0).mean(), (inner == 1).mean()) == pytest.approx((0.25, 0.1), abs=1e-4)
    # Beta(a, b): mean a / (a + b), variance a b / ((a + b)**2 (a + b + 1)) = 3.4 * 4.6 / (64 * 9)
    assert steady(GRID).mean() == pytest.approx(3.4 / 8, abs=1e-4)
    assert steady(GRID).var() == pytest.approx(3.4 * 4.6 / (64 * 9), abs=1e-4)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_true_means_and_correlations_of_what_is_drawn(model):
    layout, rng = Layout(20, 9), np.random.default_rng(1)
    seen = model.observed(rng, 400, layout)
    assert seen.shape == (400, 180)
    means = seen.mean(axis=1)
    assert means.mean() == pytest.approx(model.mean, abs=4 * means.std() / np.sqrt(400))
    values = model.systems(rng, 400, 2, layout)
    difference = (values[:, 0] - values[:, 1]).reshape(-1, 9)
    within = np.corrcoef(difference[:, 0], difference[:, 1])[0, 1]
    between = np.corrcoef(difference[:-1, 0], difference[1:, 0])[0, 1]
    assert 0.15 < within < 0.4  # questions of a document differ alike, so flipping them one by one is wrong
    assert abs(between) < 4 / np.sqrt(len(difference))
    assert 0.3 < np.corrcoef(values[:, 0].ravel(), values[:, 1].ravel())[0, 1] < 0.6


def test_layout():
    assert list(Layout(2, 3).clusters) == [0, 0, 0, 1, 1, 1]
    assert str(Layout(2, 3)) == "2 documents x 3 questions"
    assert str(Layout(50)) == "50 questions"
