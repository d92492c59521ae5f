"""From votes to verdicts, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.llm_judges.kinds import CORRECTNESS, FAITHFULNESS, PREFERENCE
from evaluation.llm_judges.verdicts import Resampling, accuracy, flips, self_agreement, settled

HOW = Resampling(1, 200)
B, TIE, A = 0, 1, 2


def votes(*items: object) -> np.ndarray:
    return np.asarray(items, dtype=np.int8)


@pytest.mark.parametrize(
    ("repeats", "verdict"),
    [
        ([2, 2, 0], 2),
        ([2, 1, 0], 1),  # no majority: the middle one
        ([2, 0], 0),  # no majority of two: the lower one
        ([2, -1, -1], 2),  # of what could be read
        ([-1, 2, 1], 1),
        ([-1, -1, -1], -1),
    ],
)
def test_repeats_give_their_majority_else_their_lower_median(repeats, verdict):
    assert settled(CORRECTNESS, votes([repeats])).tolist() == [verdict]


def test_a_claim_is_supported_by_more_than_half():
    assert settled(FAITHFULNESS, votes([[1, 0]], [[0, 0]], [[1, 1]])).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("orders", "verdict"),
    [
        ([[A], [A]], A),
        ([[B], [B]], B),
        ([[A], [B]], TIE),
        ([[A], [TIE]], TIE),
        ([[A], [-1]], -1),
        ([[A, A, B], [A, A, A]], A),
        ([[A, A, B], [A, B, -1]], TIE),  # in the second order nothing has more than half
        ([[A, TIE], [A, A]], TIE),
    ],
)
def test_a_win_counts_only_in_both_orders(orders, verdict):
    assert settled(PREFERENCE, votes(orders)).tolist() == [verdict]


def test_flips_are_counted_with_their_direction():
    """In the first order a is shown first, in the second b is."""
    cast = votes([[A], [A]], [[A], [B]], [[B], [A]], [[TIE], [A]], [[TIE], [B]], [[A], [-1]])
    values, direction = flips(PREFERENCE, cast)
    np.testing.assert_array_equal(values, [0, 1, 1, 1, 1, np.nan])
    # a and then b: whatever is first; b and then a: whatever is second; tie, a: second; tie, b: first
    assert direction.tolist() == [0, 1, -1, -1, 1, 0]


def test_self_agreement_is_the_kappa_of_fleiss():
    """Worked by hand: 4 items, 3 repeats. Agreement of pairs: 1, 1/3, 1, 1/3; mean 2/3. Shares: 7/12 yes, 5/12 no."""
    cast = votes([[1, 1, 1]], [[1, 1, 0]], [[0, 0, 0]], [[1, 0, 1]])
    found = self_agreement(cast, ["a", "b", "c", "d"], HOW)
    chance = (7 / 12) ** 2 + (5 / 12) ** 2
    assert found.raw.value == pytest.approx(2 / 3)
    assert found.kappa.value == pytest.approx((2 / 3 - chance) / (1 - chance))


def test_self_agreement_needs_two_readable_repeats():
    assert self_agreement(votes([[1]], [[0]]), ["a", "b"], HOW) is None
    assert self_agreement(votes([[1, -1]], [[-1, 0]]), ["a", "b"], HOW) is None
    one = self_agreement(votes([[1, -1, 1]], [[-1, 0, -1]]), ["a", "b"], HOW)
    assert one.raw.value == 1.0


def test_orders_are_not_mixed_in_self_agreement():
    always_first = votes([[A, A], [B, B]], [[A, A], [B, B]])
    assert self_agreement(always_first, ["a", "b"], HOW).raw.value == 1.0


def test_accuracy_by_hand():
    """20 labels: 10 correct (8 judged so, 2 partly), 6 partly (5, 1 judged correct), 4 wrong (3, 1 judged partly)."""
    labels = np.repeat([2, 2, 1, 1, 0, 0, -1, 2], [8, 2, 5, 1, 3, 1, 5, 1]).astype(np.int8)
    verdicts = np.repeat([2, 1, 1, 2, 0, 1, 2, -1], [8, 2, 5, 1, 3, 1, 5, 1]).astype(np.int8)
    found = accuracy(CORRECTNESS, verdicts, labels, np.arange(len(labels)), HOW)
    assert found.n == 20
    assert found.table.tolist() == [[3, 1, 0], [0, 5, 1], [0, 2, 8]]
    assert found.sensitivity[0] == pytest.approx(0.8)
    assert found.specificity[0] == pytest.approx(0.9)
    assert (found.sensitivity[3], found.specificity[3]) == (10, 10)
    # Wilson (1927) for 8 of 10, as in any table: 0.490 to 0.943
    assert found.sensitivity[1:3] == pytest.approx((0.4902, 0.9433), abs=5e-5)
    seen, chance = 16 / 20, (4 * 3 + 6 * 8 + 10 * 9) / 400
    assert found.agreement.kappa.value == pytest.approx((seen - chance) / (1 - chance))


def test_accuracy_needs_a_verdict_and_a_label_of_one_item():
    assert accuracy(FAITHFULNESS, votes(1, -1), votes(-1, 1), ["a", "b"], HOW) is None
    alone = accuracy(FAITHFULNESS, votes(1, 0), votes(1, 1), ["a", "b"], HOW)
    assert np.isnan(alone.specificity[0])
    assert alone.specificity[3] == 0
