"""Answers against references: SQuAD's own examples of normalisation, F1 by hand, numbers in many spellings."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.answers.correctness import exact, normalised, numbers, token_f1


def test_normalisation_is_that_of_squad():
    assert normalised("The  Cat's, (an) answer!") == "cats answer"
    assert normalised("A.B. the 0.354") == "ab 0354"  # its punctuation rule, which `numbers` makes up for
    assert exact("The Okapi formula.", "okapi formula") == 1
    assert exact("the Okapi", "okapi formula") == 0


@pytest.mark.parametrize(
    ("answer", "reference", "f1"),
    [
        ("b c d", "b c e f", 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4)),  # 2 shared of 3 and of 4: 4/7
        ("x x y", "x y y", 2 / 3),  # repetitions count as often as both have them
        ("the", "a", 1.0),  # nothing is left of either
        ("word", "the", 0.0),
        ("", "word", 0.0),
        ("same words", "same words", 1.0),
    ],
)
def test_token_f1_by_hand(answer, reference, f1):
    assert token_f1(answer, reference) == pytest.approx(f1, abs=1e-12)


@pytest.mark.parametrize(
    ("answer", "reference", "share"),
    [
        ("The gain is 0.719 at 0.39.", "A frequency of 0.39 and a gain of 0.719.", 1.0),
        ("It is .39", "0.390 and 0.719", 0.5),
        ("At most 400, not 4,950.", "400 with a window of 2, against 4950", 2 / 3),
        ("by 29%, from 0.354", "By 29 %, from 0.354 to 0.253.", 2 / 3),
        ("a share of 0.38", "38 %.", 1.0),
        ("38 per cent", "0.38", 1.0),
        ("38", "0.38", 0.0),
        ("17 of 22", "Seventeen.", 1.0),
        ("seventeen", "17 of 22", 0.5),
        ("twenty-two and Twenty two", "22", 1.0),
        ("between 100-150 words", "100 to 150", 1.0),
        ("RP-TR-03 and nDCG@5, L6", "3, 5 and 6", 0.0),  # parts of names are no numbers
        ("version 1.2.3", "1.2 and 3", 0.0),
        ("it took 50ms", "50 ms", 1.0),
        ("", "12", 0.0),
        ("0.22", "Up to 0.22 (one third times two thirds).", 1.0),  # words count only without digits
    ],
)
def test_numbers_by_hand(answer, reference, share):
    assert numbers(answer, reference) == pytest.approx(share)


def test_a_reference_without_a_number_has_no_value():
    assert np.isnan(numbers("12", "no figure is given"))
