"""The grade matrix by hand: padding, repeats, ideals, parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.errors import EvaluationError
from evaluation.grades import PADDING, REPEAT, UNJUDGED, grade_matrix
from evaluation.schema import Qrels
from retrieval.errors import ScoringError
from retrieval.schema import empty_run, make_run


def ranking(*chunks_of_query):
    """A run that ranks these chunks in this order."""
    rows = [
        (query, chunk, -rank) for query, chunks in enumerate(chunks_of_query) for rank, chunk in enumerate(chunks)
    ]
    return make_run(*zip(*rows, strict=True), depth=100) if rows else empty_run()


def judgments(rows, n_queries, n_parts=None):
    """Qrels of (query, chunk, grade, group, parts) rows."""
    columns = np.asarray(sorted(rows), dtype=np.int64).reshape(-1, 5).T
    query, chunk, group = (columns[at].astype(np.int32) for at in (0, 1, 3))
    parts = np.asarray(n_parts or [1] * n_queries, dtype=np.int32)
    return Qrels(query, chunk, columns[2].astype(np.int8), group, columns[4], parts)


# chunks 3 and 4 overlap and cover one span (class 0), 7 covers another (class 1), 5 is judged irrelevant, 9 unknown
OVERLAPPING = [(0, 3, 2, 0, 1), (0, 4, 3, 0, 1), (0, 7, 1, 1, 1), (0, 5, 0, -1, 0)]


def test_credit_once_counts_a_class_at_its_first_chunk():
    grades = grade_matrix(ranking([9, 3, 5, 4, 7]), judgments(OVERLAPPING, 1), 1, "once")
    assert grades.grades.tolist() == [[UNJUDGED, 2, 0, REPEAT, 1]]
    assert grades.ideal.tolist() == [[3, 1]]  # the class once, with its best grade, though rank 2 has grade 2
    assert (grades.n_relevant[0], grades.n_nonrelevant[0]) == (2, 1)
    assert grades.judged.tolist() == [[0, 1, 2, 3, 4]]  # a repeat is judged
    assert grades.hits.tolist() == [[0, 1, 1, 1, 2]]  # but gains nothing


def test_credit_each_counts_every_chunk():
    grades = grade_matrix(ranking([9, 3, 5, 4, 7]), judgments(OVERLAPPING, 1), 1, "each")
    assert grades.grades.tolist() == [[UNJUDGED, 2, 0, 3, 1]]
    assert grades.ideal.tolist() == [[3, 2, 1]]
    assert grades.n_relevant[0] == 3


def test_classes_of_two_queries_are_apart():
    qrels = judgments([(0, 3, 1, 0, 1), (1, 3, 2, 0, 1), (1, 4, 2, 0, 1)], 2)
    grades = grade_matrix(ranking([3], [4, 3]), qrels, 2, "once")
    assert grades.grades.tolist() == [[1, PADDING], [2, REPEAT]]
    assert grades.ideal.tolist() == [[1], [2]]


def test_short_empty_and_unjudged_rankings():
    grades = grade_matrix(ranking([5], [], [3, 4]), judgments([(0, 5, 0, -1, 0), (1, 2, 1, 0, 1)], 3), 3)
    assert grades.grades.tolist() == [[0, PADDING], [PADDING, PADDING], [UNJUDGED, UNJUDGED]]
    assert grades.length.tolist() == [1, 0, 2]
    assert grades.n_relevant.tolist() == [0, 1, 0]
    assert grades.first.tolist() == [0, 0, 0]


def test_nothing_ranked_and_nothing_judged():
    grades = grade_matrix(empty_run(), judgments([], 2), 2)
    assert grades.grades.tolist() == [[PADDING], [PADDING]]
    assert grades.ideal.tolist() == [[0], [0]]


def test_all_parts_are_complete_at_the_last_missing_one():
    # part 0 in chunks 1 and 2, part 1 in chunk 8, which covers both; query 1 never finds its part 1
    rows = [(0, 1, 1, 0, 0b01), (0, 2, 1, 1, 0b01), (0, 8, 1, 2, 0b11), (1, 1, 1, 0, 0b01), (1, 6, 1, 1, 0b10)]
    qrels = judgments(rows, 3, n_parts=[2, 2, 0])
    grades = grade_matrix(ranking([2, 9, 1, 8], [1, 9], [1]), qrels, 3)
    assert grades.complete_at.tolist() == [4, 0, 0]
    first = grade_matrix(ranking([8, 1], [6, 1], [1]), qrels, 3)
    assert first.complete_at.tolist() == [1, 2, 0]


def test_a_repeat_still_shows_its_part():
    # chunks 3 and 4 are one class, but only 4 also covers part 1
    qrels = judgments([(0, 3, 1, 0, 0b01), (0, 4, 1, 0, 0b11)], 1, n_parts=[2])
    assert grade_matrix(ranking([3, 4]), qrels, 1, "once").complete_at.tolist() == [2]


def test_part_63_is_a_part_like_any_other():
    qrels = judgments([(0, 1, 1, 0, -1), (0, 2, 1, 1, 1)], 1, n_parts=[64])  # all 64 bits set
    assert grade_matrix(ranking([2, 1]), qrels, 1).complete_at.tolist() == [2]


def test_duplicates_are_refused_before_they_are_graded():
    with pytest.raises(ScoringError, match="stands twice"):
        make_run([0, 0], [3, 3], [2.0, 1.0], depth=10)


def test_ties_are_frozen_by_chunk():
    run = make_run([0, 0, 0], [7, 5, 3], [1.0, 1.0, 1.0], depth=10)
    assert grade_matrix(run, judgments(OVERLAPPING, 1), 1).grades.tolist() == [[2, 0, 1]]  # chunks 3, 5, 7


def test_inputs_stay_as_they_were():
    run, qrels = ranking([3, 4, 7]), judgments(OVERLAPPING, 1)
    before = qrels.grade.copy()
    grade_matrix(run, qrels, 1, "once")
    assert (qrels.grade == before).all()


@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        (ranking([1], [2]), judgments([], 1), "the run names query row 1, but there are 1 queries"),
        (ranking([1]), judgments([(1, 3, 1, 0, 1)], 1), "the qrels names query row 1"),
        (
            ranking([1]),
            judgments([(0, 3, -1, -1, 0)], 1),
            "query row 0, chunk row 3 has grade -1; grades are 0 and up",
        ),
        (ranking([1]), judgments([], 2), "n_parts has 2 entries for 1 queries"),
    ],
)
def test_what_does_not_fit_is_refused(run, qrels, message):
    with pytest.raises(EvaluationError, match=message):
        grade_matrix(run, qrels, 1)


@given(st.permutations(range(12)), st.lists(st.integers(0, 3), min_size=12, max_size=12), st.integers(0, 12))
def test_once_equals_each_when_no_class_has_two_chunks(order, grades, length):
    qrels = judgments([(0, chunk, grade, chunk if grade else -1, 1) for chunk, grade in enumerate(grades)], 1)
    run = ranking(order[:length])
    once, each = grade_matrix(run, qrels, 1, "once"), grade_matrix(run, qrels, 1, "each")
    assert once.grades.tolist() == each.grades.tolist()
    assert once.ideal.tolist() == each.ideal.tolist()


@given(st.permutations(range(12)), st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_a_whole_ranking_credits_every_class_once(order, classes):
    qrels = judgments([(0, chunk, 1, group, 1) for chunk, group in enumerate(classes)], 1)
    grades = grade_matrix(ranking(order), qrels, 1, "once")
    assert grades.hits[0, -1] == grades.n_relevant[0] == len(set(classes))
