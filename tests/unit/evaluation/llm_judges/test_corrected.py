"""Corrected rates: worked by hand, against the published formulas, and their coverage in a seeded simulation."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.stats import norm, t

from evaluation.errors import EvaluationError
from evaluation.llm_judges.corrected import (
    ALL_LABELLED,
    NO_LABELS,
    NO_SIDE,
    USELESS,
    prediction_powered,
    rogan_gladen,
)

Z = float(norm.ppf(0.975))
NONE = np.nan


def rows(*groups: tuple[int, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Judgments and labels from groups of (how many, judgment, label)."""
    judged = np.repeat([group[1] for group in groups], [group[0] for group in groups]).astype(float)
    labels = np.repeat([group[2] for group in groups], [group[0] for group in groups]).astype(float)
    return judged, labels


# 100 rows without a label, 64 of them judged right; 20 labelled right, 18 judged so; 10 labelled wrong, 8 judged so.
EXAMPLE = rows((64, 1, NONE), (36, 0, NONE), (18, 1, 1), (2, 0, 1), (8, 0, 0), (2, 1, 0))


def test_rogan_gladen_by_hand():
    judged, labels = EXAMPLE
    found = rogan_gladen(judged, labels, np.arange(130))
    assert found.value == pytest.approx((0.64 + 0.8 - 1) / (0.9 + 0.8 - 1))  # 0.44 / 0.7
    assert (found.n, found.labelled, found.note) == (100, 30, "")


def test_its_interval_is_that_of_lang_and_reiczigel():
    judged, labels = EXAMPLE
    found = rogan_gladen(judged, labels, np.arange(130))
    n = 100 + Z**2
    q = (64 + Z**2 / 2) / n
    se, n_se, sp, n_sp = 19 / 22, 22, 9 / 12, 12
    p = (q + sp - 1) / (se + sp - 1)
    of_se, of_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    middle = p + 2 * Z**2 * (p * of_se - (1 - p) * of_sp)
    half = Z * sqrt(q * (1 - q) / n + p**2 * of_se + (1 - p) ** 2 * of_sp) / (se + sp - 1)
    assert (found.lo, found.hi) == pytest.approx((middle - half, middle + half))
    assert found.lo < found.value < found.hi


def test_with_many_labels_it_is_the_delta_method_of_rogan_and_gladen():
    judged, labels = rows(
        (64_000, 1, NONE), (36_000, 0, NONE), (18_000, 1, 1), (2_000, 0, 1), (8_000, 0, 0), (2_000, 1, 0)
    )
    found = rogan_gladen(judged, labels, np.arange(130_000))
    p, youden = 0.44 / 0.7, 0.7
    variance = (0.64 * 0.36 / 100_000 + p**2 * 0.09 / 20_000 + (1 - p) ** 2 * 0.16 / 10_000) / youden**2
    assert (found.hi - found.lo) / 2 == pytest.approx(Z * sqrt(variance), rel=2e-3)


def test_a_perfect_judge_needs_no_correction_and_a_useless_one_allows_none():
    judged, labels = rows((30, 1, NONE), (70, 0, NONE), (20, 1, 1), (20, 0, 0))
    assert rogan_gladen(judged, labels, np.arange(140)).value == pytest.approx(0.3)
    judged, labels = rows((30, 1, NONE), (70, 0, NONE), (10, 1, 1), (10, 0, 1), (10, 1, 0), (10, 0, 0))
    useless = rogan_gladen(judged, labels, np.arange(140))
    assert np.isnan(useless.value)
    assert useless.note == USELESS


def test_what_is_not_defined_says_why():
    judged, labels = rows((5, 1, NONE), (5, 0, NONE), (5, 1, 1))
    assert rogan_gladen(judged, labels, np.arange(15)).note == NO_SIDE
    assert rogan_gladen(judged[:10], labels[:10], np.arange(10)).note == NO_LABELS
    assert rogan_gladen(judged[10:], labels[10:], np.arange(5)).note == ALL_LABELLED
    assert prediction_powered(judged[:11], labels[:11], np.arange(11)).note == NO_LABELS
    assert prediction_powered(judged, labels, np.zeros(15)).note == NO_LABELS  # one cluster
    for wrong in ((judged, labels[:-1]), (judged * 2, labels), (judged, labels * 0.5), (judged[:0], labels[:0])):
        with pytest.raises(EvaluationError):
            rogan_gladen(*wrong, np.arange(len(wrong[0])))
    with pytest.raises(EvaluationError, match="0 to 1"):
        prediction_powered(judged, labels * 2, np.arange(15))


def test_a_target_uses_the_labels_of_all_rows():
    judged, labels = rows((8, 1, NONE), (2, 0, NONE), (1, 1, NONE), (9, 0, NONE), (9, 1, 1), (1, 0, 1), (10, 0, 0))
    target = np.arange(40) < 10
    found = rogan_gladen(judged, labels, np.arange(40), target)
    assert found.value == pytest.approx(0.8 / 0.9)
    assert (found.n, found.labelled) == (10, 20)


def test_prediction_powered_by_hand():
    """Of 100 rows without a label the judge calls 64 right; of 30 with one it calls 20 right, and 20 are right."""
    judged, labels = EXAMPLE
    found = prediction_powered(judged, labels, np.arange(130))
    gaps = np.repeat([0.0, 1.0, -1.0], [26, 2, 2])
    assert found.value == pytest.approx(0.64 + 0.0)
    of_rate, of_gap = 0.64 * 0.36 / 99, 4 / 29 / 30
    assert of_gap == pytest.approx(gaps.var(ddof=1) / 30)
    free = (of_rate + of_gap) ** 2 / (of_rate**2 / 99 + of_gap**2 / 29)
    half = t.ppf(0.975, free) * sqrt(of_rate + of_gap)
    assert (found.lo, found.hi) == pytest.approx((0.64 - half, 0.64 + half))


def test_it_moves_the_judges_mean_by_what_the_labels_show():
    """A judge that is half a point too high on the labels (grades 0, .5, 1) is so on the rest."""
    judged, labels = rows((10, 1, NONE), (10, 0.5, NONE), (6, 1, 0.5), (4, 0.5, 0.5))
    found = prediction_powered(judged, labels, np.arange(30))
    assert found.value == pytest.approx(0.75 - 0.3)


def test_a_judge_without_an_error_on_the_labels_is_given_one():
    judged, labels = rows((50, 1, NONE), (50, 0, NONE), (10, 1, 1), (10, 0, 0))
    found = prediction_powered(judged, labels, np.arange(120))
    of_rate, of_gap = 0.25 / 99, 1 / 20**2
    half = t.ppf(0.975, (of_rate + of_gap) ** 2 / (of_rate**2 / 99 + of_gap**2 / 19)) * sqrt(of_rate + of_gap)
    assert found.value == pytest.approx(0.5)
    assert found.hi - 0.5 == pytest.approx(half)


def test_where_all_have_labels_it_is_their_mean():
    judged, labels = rows((6, 1, 1), (2, 1, 0), (2, 0, 0))
    found = prediction_powered(judged, labels, np.arange(10))
    half = t.ppf(0.975, 9) * sqrt(0.6 * 0.4 / 9)
    assert (found.value, found.lo, found.hi) == pytest.approx((0.6, 0.6 - half, min(1, 0.6 + half)))


def test_rows_that_repeat_within_clusters_are_worth_one():
    """Every row five times in a cluster of its own says no more than once: the same interval, not a narrower one."""
    judged, labels = EXAMPLE
    once = prediction_powered(judged, labels, np.arange(130))
    many = prediction_powered(np.repeat(judged, 5), np.repeat(labels, 5), np.repeat(np.arange(130), 5))
    assert (many.value, many.lo, many.hi) == pytest.approx((once.value, once.lo, once.hi))
    single = rogan_gladen(np.repeat(judged, 5), np.repeat(labels, 5), np.arange(650))
    grouped = rogan_gladen(np.repeat(judged, 5), np.repeat(labels, 5), np.repeat(np.arange(130), 5))
    assert grouped.value == single.value
    # not exactly: each share has its own small-sample factor, n / (n - 1)
    assert (grouped.hi - grouped.lo) / (single.hi - single.lo) == pytest.approx(sqrt(5), rel=0.03)


def simulated(
    rng: np.random.Generator, n: int, labelled: int, rate: float, sensitivity: float, specificity: float, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Judged rows of which some have labels; with `size` above 1, rows of a cluster share their rate (Beta)."""
    share = rate if size == 1 else np.repeat(rng.beta(rate * 3, (1 - rate) * 3, n // size), size)
    truth = rng.random(n) < share
    judged = np.where(truth, rng.random(n) < sensitivity, rng.random(n) >= specificity).astype(float)
    known = rng.permutation(n) < labelled
    return judged, np.where(known, truth, np.nan), np.arange(n) // size


@pytest.mark.parametrize(
    ("n", "labelled", "rate", "sensitivity", "specificity", "size"),
    [
        (400, 100, 0.7, 0.9, 0.8, 1),
        (400, 100, 0.5, 0.85, 0.75, 1),
        (400, 100, 0.3, 0.8, 0.9, 1),
        (300, 100, 0.6, 0.9, 0.8, 5),
    ],
)
def test_95_percent_intervals_cover_95_percent(n, labelled, rate, sensitivity, specificity, size):
    rng = np.random.default_rng(20240607)
    hits, repeats = {rogan_gladen: 0, prediction_powered: 0}, 1500
    for _ in range(repeats):
        judged, labels, clusters = simulated(rng, n, labelled, rate, sensitivity, specificity, size)
        for estimate in hits:
            found = estimate(judged, labels, clusters)
            hits[estimate] += found.lo <= rate <= found.hi
    for count in hits.values():
        assert 0.93 <= count / repeats <= 0.97


def test_without_a_correction_they_do_not():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(300):
        mean = simulated(rng, 400, 0, 0.7, 0.9, 0.6, 1)[0].mean()  # 0.75 on average
        hits += abs(mean - 0.7) <= Z * sqrt(mean * (1 - mean) / 400)
    assert hits / 300 < 0.5
