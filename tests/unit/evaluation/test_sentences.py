"""Comparisons as sentences, word for word."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.sentences import round_up, sentence, turned

ROW = {
    "metric": "nDCG@5", "a": "rrf", "b": "bm25", "n": 150, "clusters": 30, "diff": 0.041, "lo": 0.012, "hi": 0.07,
    "p_adjusted": 0.004, "p_equivalent": 1.0, "wins": 40, "ties": 90, "losses": 20, "effect": 0.3,
    "detectable": 0.035, "verdict": "higher", "needed": np.nan,
}  # fmt: skip


def test_a_decided_comparison_gives_difference_interval_and_corrected_p():
    assert sentence(ROW, 0.02, 15) == (
        "rrf is higher than bm25: +0.041 nDCG@5 [+0.012, +0.070] (p = 0.004, corrected for 15 comparisons)"
    )
    assert sentence(ROW, 0.05, 1) == (
        "rrf is higher than bm25: +0.041 nDCG@5 [+0.012, +0.070], less than the margin of 0.05 (p = 0.004)"
    )


def test_equivalence_names_its_margin():
    row = {**ROW, "verdict": "equivalent", "p_equivalent": 0.00002, "diff": 0.001, "lo": -0.003, "hi": 0.005}
    assert sentence(row, 0.02, 1) == (
        "rrf and bm25 are equivalent within 0.02: +0.001 nDCG@5 [-0.003, +0.005] (p = 2e-05)"
    )


def test_an_open_comparison_says_what_it_cannot_see_and_what_would_settle_it():
    row = {**ROW, "verdict": "undecided", "p_adjusted": 0.06, "needed": 231}
    assert sentence(row, 0.02, 15) == (
        "rrf against bm25 is undecided: +0.041 nDCG@5 [+0.012, +0.070], which leaves out 0, but not after correction "
        "for 15 comparisons (p = 0.060); a true difference below 0.035 would mostly stay unseen here; "
        "about 240 questions (47 documents) like these would settle it"
    )
    assert "no number of such questions" in sentence({**row, "needed": np.inf}, 0.02, 15)


def test_turning_a_comparison_around_mirrors_every_figure():
    back = turned(ROW)
    assert (back["a"], back["b"], back["diff"], back["lo"], back["hi"]) == ("bm25", "rrf", -0.041, -0.07, -0.012)
    assert (back["wins"], back["ties"], back["losses"], back["verdict"]) == (20, 90, 40, "lower")
    assert turned(back) == ROW


@pytest.mark.parametrize(("value", "rounded"), [(3.2, 4), (97, 97), (231, 240), (1000, 1000), (1401, 1500)])
def test_planning_figures_have_two_digits(value, rounded):
    assert round_up(value) == rounded
