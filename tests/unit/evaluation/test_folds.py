"""Folds of whole clusters, and what choosing parameters is worth on documents that had no part in the choice."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.stats import intervals
from evaluation.tune.folds import (
    OUTSIDE,
    Mean,
    OutOfFold,
    best_of_others,
    fold_means,
    make_folds,
    objective,
    out_of_fold,
    widening,
)


def test_clusters_are_dealt_largest_first_to_the_emptiest_fold():
    # a: 3 questions to fold 0; b (2) to fold 1; c (2) to fold 1, which has 2 < 3; d (1) to fold 0, which has 3 < 4
    clusters = ["a", "b", "a", "c", "d", "a", "b", "c"]
    folds = make_folds(clusters, np.ones(8, bool), 2, seed=0)
    assert folds.tolist() == [0, 1, 0, 1, 0, 0, 1, 1]


def test_clusters_stay_whole_and_folds_are_balanced_whatever_the_order_of_the_questions():
    rng = np.random.default_rng(3)
    clusters = np.asarray([f"d{number}" for number in rng.integers(0, 30, 200)])
    folds = make_folds(clusters, np.ones(200, bool), 5, seed=1)
    for name in np.unique(clusters):
        assert len(set(folds[clusters == name])) == 1
    loads = np.bincount(folds)
    for fold, load in enumerate(loads):  # its last and smallest cluster came when no other fold had fewer questions
        smallest = np.unique(clusters[folds == fold], return_counts=True)[1].min()
        assert load - smallest <= loads.min()
    order = rng.permutation(200)
    assert (make_folds(clusters[order], np.ones(200, bool), 5, seed=1) == folds[order]).all()
    assert (make_folds(clusters, np.ones(200, bool), 5, seed=2) != folds).any()


def test_questions_without_a_value_are_outside_and_there_are_no_more_folds_than_clusters():
    folds = make_folds(["a", "b", "c", "a"], np.asarray([True, True, False, True]), 5, seed=0)
    assert folds.tolist() == [0, 1, OUTSIDE, 0]
    assert make_folds(["a"], np.asarray([False]), 5, seed=0).tolist() == [OUTSIDE]


VALUES = np.asarray(
    [
        [0.5, 0.5, 0.5, np.nan, 0.5],  # the default
        [1.0, 0.8, 0.2, np.nan, 0.0],  # good on fold 0: means .9 and .1
        [0.0, 0.2, 0.9, np.nan, 0.9],  # good on fold 1: means .1 and .9
    ]
)
FOLDS = np.asarray([0, 0, 1, OUTSIDE, 1], dtype=np.int32)


def test_each_fold_is_scored_by_the_best_trial_of_the_others():
    means = fold_means(VALUES, FOLDS)
    assert means.tolist() == [[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]]
    assert objective(means).tolist() == [0.5, 0.5, 0.5]
    assert best_of_others(means).tolist() == [2, 1]
    found = out_of_fold(VALUES, FOLDS, ["a", "b", "c", "d", "e"], seed=0)
    # fold 0 gets trial 2: 0, .2; fold 1 gets trial 1: .2, 0; mean .1 against .5
    assert found.tuned.mean == pytest.approx(0.1)
    assert found.default.mean == pytest.approx(0.5)
    assert found.gain.mean == pytest.approx(-0.4)
    assert (found.n, found.clusters, found.too_few) == (4, 4, True)


def test_ties_go_to_the_default():
    assert best_of_others(np.full((3, 4), 0.3)).tolist() == [0, 0, 0, 0]
    assert best_of_others(np.asarray([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2]])).tolist() == [0, 0]


def test_three_folds_are_judged_by_the_mean_over_the_other_two():
    means = np.asarray([[0.5, 0.5, 0.5], [0.9, 0.3, 0.4], [0.2, 0.8, 0.6]])
    # without fold 0: 1, .7, 1.4; without fold 1: 1, 1.3, .8; without fold 2: 1, 1.2, 1
    assert best_of_others(means).tolist() == [2, 1, 1]


def test_noise_alone_gains_in_sample_and_nothing_out_of_fold():
    """400 searches among 20 trials that differ by noise: the best one leads in sample, but not out of fold."""
    rng = np.random.default_rng(11)
    clusters = [f"d{number // 2}" for number in range(80)]
    in_sample, gains, false = [], [], 0
    for number in range(400):
        values = 0.5 + 0.1 * rng.standard_normal((20, 80))
        folds = make_folds(clusters, np.ones(80, bool), 5, seed=number)
        found = out_of_fold(values, folds, clusters, seed=number, resamples=400)
        scores = objective(fold_means(values, folds))
        in_sample.append(scores.max() - scores[0])
        gains.append(found.gain.mean)
        false += found.gain.lo > 0
    # the largest of 20 normal means (sd .1 / sqrt(80)) lies 1.87 sd above their mean: .0209
    assert np.mean(in_sample) == pytest.approx(0.0209, abs=0.002)
    assert abs(np.mean(gains)) < 3 * np.std(gains) / np.sqrt(400)
    assert false <= 0.03 * 400  # nominally 2.5 %; 7.5 % without the widening


def test_the_interval_of_the_gain_is_widened_for_what_the_folds_share():
    rng = np.random.default_rng(2)
    values, clusters = rng.random((1, 60)) + np.asarray([[0.0], [0.2]]), [f"d{number}" for number in range(60)]
    values[1] += 0.1 * rng.standard_normal(60)
    folds = make_folds(clusters, np.ones(60, bool), 5, seed=0)
    found = out_of_fold(values, folds, clusters, seed=0)
    plain = intervals((values[1] - values[0])[None, :], clusters, seed=0)
    assert found.chosen.tolist() == [1] * 5
    assert widening(5) == 1.5  # sqrt(1 + 5/4)
    assert found.gain.mean - found.gain.lo == pytest.approx(1.5 * (plain.mean - plain.lo)[0])
    assert found.gain.hi - found.gain.mean == pytest.approx(1.5 * (plain.hi - plain.mean)[0])


def test_a_real_gain_is_found_out_of_fold():
    rng = np.random.default_rng(5)
    clusters = [f"d{number // 2}" for number in range(120)]
    values = np.clip(0.4 + 0.1 * rng.standard_normal((10, 120)), 0, 1)
    values[7] += 0.1
    folds = make_folds(clusters, np.ones(120, bool), 5, seed=0)
    found = out_of_fold(values, folds, clusters, seed=0)
    assert set(found.chosen.tolist()) == {7}
    assert found.gain.mean == pytest.approx((values[7] - values[0]).mean())
    assert found.sentence("rrf").startswith("better than rrf beyond noise")


@pytest.mark.parametrize(
    ("lo", "hi", "too_few", "said"),
    [
        (0.01, 0.05, False, "better than rrf beyond noise"),
        (-0.05, -0.01, False, "worse than rrf out of fold: keep rrf"),
        (-0.01, 0.05, False, "no gain beyond noise: keep rrf"),
        (0.0, 0.05, False, "no gain beyond noise: keep rrf"),
        (0.01, 0.05, True, "too few documents (4 < 10) to tell a gain from noise: keep rrf"),
    ],
)
def test_the_sentence_says_what_to_do(lo, hi, too_few, said):
    mean = Mean(0.5, 0.4, 0.6)
    found = OutOfFold(np.zeros(2, np.int32), mean, mean, Mean((lo + hi) / 2, lo, hi), 8, 4, too_few)
    assert found.sentence("rrf").startswith(said)
    assert mean.text() == "0.500 [0.400, 0.600]"
