"""Support of claims by words, and through a hook."""

from __future__ import annotations

import pandas as pd
import pytest

from evaluation.answers.faithfulness import by_words, supported
from evaluation.answers.tables import CITATIONS, CLAIMS
from evaluation.errors import EvaluationError

GROUP = ("s", "g", "retrieved", "q1")
CLAIMED = pd.DataFrame(
    [(*GROUP, at, text, "LOW", "LOW", 0.5, True) for at, text in enumerate(("Ranks fuse lists", "Nothing cited"), 1)],
    columns=CLAIMS,
)
CITED = pd.DataFrame(
    [
        (*GROUP, 1, "S1", 1, "c", "d", 1, 0, 5, "A rank is what counts."),
        (*GROUP, 1, "S2", 2, "c", "d", 1, 9, 14, "Fused lists are stable."),
    ],
    columns=CITATIONS,
)


@pytest.mark.parametrize(
    ("quotes", "claim", "found"),
    [
        ("The ranks of lists are fused.", "Fusing the list ranks", 1),  # stems, order and function words do not count
        ("The ranks of lists are fused.", "Fusing three list ranks", 0),
        ("It gained 0.719 points.", "The gain was 0.719", 1),
        ("It gained 0.719 points.", "It gained 0.718 points", 0),
        ("Expansion helps.", "Expansion does not help", 0),  # a negation that nobody wrote
        ("Expansion doesn't help.", "Expansion does not help", 1),
        ("Expansion never helps.", "Expansion helps", 1),  # what words cannot see
    ],
)
def test_by_words_by_hand(quotes, claim, found):
    assert by_words([(quotes, claim)]) == [found]


def test_quotes_of_a_claim_are_read_together_and_a_bare_claim_is_unsupported():
    assert supported(CLAIMED, CITED).tolist() == [1, 0]
    assert supported(CLAIMED, CITED.iloc[:1]).tolist() == [0, 0]


def test_a_model_of_entailment_gets_quotes_and_claim_and_its_values_are_checked():
    asked = []

    def entails(pairs):
        asked.extend(pairs)
        return [0.25] * len(pairs)

    assert supported(CLAIMED, CITED, entails).tolist() == [0.25, 0]
    assert asked == [("A rank is what counts.\nFused lists are stable.", "Ranks fuse lists")]
    with pytest.raises(EvaluationError, match="1 claims need one value"):
        supported(CLAIMED, CITED, lambda pairs: [])
    with pytest.raises(EvaluationError, match="between 0 and 1"):
        supported(CLAIMED, CITED, lambda pairs: [1.5])
