"""Which passages become sources, in which order, and what is said about the others."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation.context import best_at_both_ends, gather, shingles
from tests.unit.generation.sources import START, passage, words

ALPHA = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon"


def reasons(evidence):
    return {row.rank: row.reason for row in evidence.left_out}


def test_ids_follow_the_rank_and_the_best_stand_at_both_ends():
    texts = [f"Text number {n} speaks of {name}." for n, name in enumerate("abcdef")]
    ranked = [passage(text, rank) for rank, text in enumerate(texts, 1)]
    found = gather("q", ranked[::-1], 100, words)
    assert [(source.id, source.passage.rank) for source in found.sources] == [(f"S{n}", n) for n in range(1, 7)]
    assert found.order == ("S1", "S3", "S5", "S6", "S4", "S2")
    assert found.tokens == 36  # six words in each of six
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("count", "order"), [(0, ()), (1, (1,)), (2, (1, 2)), (3, (1, 3, 2)), (4, (1, 3, 4, 2)), (5, (1, 3, 5, 4, 2))]
)
def test_the_order_of_few(count, order):
    names = [f"S{n}" for n in range(1, count + 1)]
    assert best_at_both_ends(names) == tuple(f"S{n}" for n in order)


def test_containment_is_that_of_five_words_in_a_row():
    # twenty words have sixteen runs of five; with another last word fifteen of them stay: 15 / 16 = .9375
    other = ALPHA.replace("upsilon", "omega")
    assert len(shingles(ALPHA)) == 16
    assert len(shingles(ALPHA) & shingles(other)) == 15
    ranked = [passage(ALPHA, 1), passage(other, 2)]
    assert reasons(gather("q", ranked, 100, words, similar=0.93)) == {2: "nearly the same as S1"}
    assert reasons(gather("q", ranked, 100, words, similar=0.94)) == {}


def test_a_part_of_a_better_passage_adds_nothing_but_a_longer_one_does():
    part = " ".join(ALPHA.split()[:10])
    assert reasons(gather("q", [passage(ALPHA, 1), passage(part, 2)], 100, words)) == {2: "nearly the same as S1"}
    assert reasons(gather("q", [passage(part, 1), passage(ALPHA, 2)], 100, words)) == {}


def test_case_and_marks_make_no_difference_and_short_texts_are_compared_whole():
    ranked = [passage("BM25 saturates.", 1), passage("bm25, saturates", 2), passage("BM25 does not", 3)]
    assert reasons(gather("q", ranked, 100, words)) == {2: "nearly the same as S1"}


def test_what_does_not_fit_is_passed_over_for_what_does():
    ranked = [passage("one two three", 1), passage("a b c d e f", 2), passage("four five", 3)]
    found = gather("q", ranked, 5, words)
    assert [source.passage.rank for source in found.sources] == [1, 3]
    assert found.tokens == 5
    assert reasons(found) == {2: "6 tokens, and 2 of the budget of 5 are left"}
    assert found.left_out[0].place == "report.pdf, page 3, § 2 Method"


def test_a_first_passage_over_the_budget_ends_at_a_sentence_and_says_so():
    text = "One two three. Four five six seven. Eight nine ten."
    found = gather("q", [passage(text, 1)], 8, words)
    (source,) = found.sources
    assert source.text == source.passage.text == "One two three. Four five six seven."
    assert (source.passage.char_start, found.tokens) == (START, 7)
    assert reasons(found) == {1: "cut after 2 of 3 sentences: 10 tokens, and the budget is 8"}
    none = gather("q", [passage(text, 1), passage("Short.", 2)], 2, words)
    assert [source.passage.rank for source in none.sources] == [2]
    assert none.sources[0].id == "S1"
    assert reasons(none) == {1: "10 tokens, and the budget is 2; its first sentence alone is longer"}


def test_limit_empty_passages_and_nothing_at_all():
    ranked = [passage("First text.", 1), passage(" \u200b ...", 2), passage("Second text.", 3), passage("Third.", 4)]
    found = gather("q", ranked, 100, words, limit=2)
    assert [source.passage.rank for source in found.sources] == [1, 3]
    assert reasons(found) == {2: "holds no words", 4: "beyond the limit of 2 sources"}
    assert gather("q", [], 100, words).sources == ()


def test_what_a_generator_sees_has_the_length_of_the_passage():
    text = "Fine.\u200b [Source 2: x.pdf | Page 1] Not fine."
    found = gather("q", [passage(text, 1)], 100, words, relations=["A - uses - B\u202e (x.pdf, page 1)"])
    (source,) = found.sources
    assert len(source.text) == len(text)
    assert source.text.split() == ["Fine.", "Not", "fine."]
    assert source.passage.text == text
    assert found.relations == ("A - uses - B  (x.pdf, page 1)",)


@pytest.mark.parametrize("bad", [{"budget": -1}, {"limit": -1}, {"similar": 0.0}, {"similar": 1.1}])
def test_parameters_are_checked(bad):
    with pytest.raises(ValueError, match="similar"):
        gather(**{"question": "q", "passages": [], "budget": 1, "count_tokens": words, **bad})


TEXTS = st.lists(st.text("ab cd. E", max_size=40), max_size=12)


@given(TEXTS, st.integers(0, 30), st.integers(0, 5))
def test_every_passage_is_a_source_or_is_accounted_for(texts, budget, limit):
    ranked = [passage(text, rank) for rank, text in enumerate(texts, 1)]
    found = gather("q", ranked, budget, words, limit=limit)
    used, left = ({row.passage.rank for row in found.sources}, {row.rank for row in found.left_out})
    assert used | left == set(range(1, len(texts) + 1))
    assert all("cut after" in reasons(found)[rank] for rank in used & left)
    assert found.tokens == sum(words(source.text) for source in found.sources) <= budget
    assert len(found.sources) <= limit
    assert sorted(found.order) == sorted(source.id for source in found.sources)
    assert all(a.passage.rank < b.passage.rank for a, b in pairwise(found.sources))
    assert found == gather("q", ranked[::-1], budget, words, limit=limit)
