"""What of a run is judged, what is left out and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluation.llm_judges.items import FAILED, NO_QUOTE, NO_REFERENCE, ONE_SIDED, REFUSED, SAME, items_of
from evaluation.replay import ReplayError
from tests.unit.evaluation.llm_judges.runs import answered

BASE = ("bm25", "grounded", "retrieved")


def test_answers_are_judged_against_their_references():
    found = items_of("correctness", answered())
    assert [item.key[1:] for item in found.items] == [
        ("grounded", "retrieved", "q1"),
        ("grounded", "retrieved", "q2"),
        ("small-1", "retrieved", "q1"),
        ("small-1", "retrieved", "q2"),
        ("small-1", "retrieved", "q3"),
    ]
    assert found.items[0].texts == {"question": "first?", "reference": "the first answer", "answer": "one"}
    assert found.items[0].cluster == "paper-1"
    assert found.left_out == {NO_REFERENCE: 2, REFUSED: 1}


def test_an_answer_that_failed_is_none():
    run = answered()
    failed = run.answers.assign(error=["", "", "CapacityError", "", "", "", "", ""])
    found = items_of("correctness", replace(run, answers=failed))
    assert found.left_out == {NO_REFERENCE: 2, REFUSED: 1, FAILED: 1}
    assert items_of("preference", replace(run, answers=failed)).left_out == {ONE_SIDED: 2}


def test_claims_are_judged_by_their_quotes_each_once():
    found = items_of("faithfulness", answered())
    assert [(item.key, dict(item.texts)) for item in found.items] == [
        ((*BASE, "q1", "0"), {"claim": "one is", "quotes": ("is",)}),
        ((*BASE, "q1", "1"), {"claim": "one is one", "quotes": ("a one", "is one")}),
    ]
    assert found.left_out == {NO_QUOTE: 1}


def test_pairs_of_different_answers_are_compared():
    found = items_of("preference", answered())
    assert [item.key for item in found.items] == [
        ("bm25", "grounded", "small-1", "retrieved", "q1"),
        ("bm25", "grounded", "small-1", "retrieved", "q4"),
    ]
    assert found.items[0].texts["first"] == "one"
    assert found.items[0].texts["second"] == "ONE"
    assert found.items[1].texts["reference"] is None
    assert found.items[1].cluster == "q4"  # of no document: alone
    assert found.left_out == {SAME: 1, ONE_SIDED: 1}


@pytest.mark.parametrize("kind", ["correctness", "faithfulness", "preference"])
def test_the_order_of_rows_does_not_matter(kind):
    run = answered()
    turned = replace(run, answers=run.answers[::-1], claims=run.claims[::-1], citations=run.citations[::-1])
    assert items_of(kind, turned) == items_of(kind, run)


def test_some_generators_can_be_chosen():
    run = answered().only({"generator": ("small-1",), "strategy": ()})
    assert {item.key[1] for item in items_of("correctness", run).items} == {"small-1"}
    assert items_of("faithfulness", run).items == ()
    with pytest.raises(ReplayError, match="there are: grounded, small-1"):
        answered().only({"generator": ("smal-1",)})
