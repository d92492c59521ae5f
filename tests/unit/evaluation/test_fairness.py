"""Leave-one-out, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.errors import EvaluationError
from evaluation.fairness import distinct, leave_one_out
from evaluation.metrics import parse_metric
from evaluation.schema import Qrels
from retrieval.schema import Run, make_run


def run(*rankings: list[int]) -> Run:
    rows = [(query, chunk, -rank) for query, order in enumerate(rankings) for rank, chunk in enumerate(order)]
    return make_run(*np.asarray(rows).T, 10)


def qrels(rows: list[tuple[int, int, int, int]], n_queries: int = 2) -> Qrels:
    """Rows of query, chunk, grade, class."""
    query, chunk, grade, group = (np.asarray(column) for column in zip(*sorted(rows), strict=True))
    return Qrels(
        query.astype(np.int32),
        chunk.astype(np.int32),
        grade.astype(np.int8),
        group.astype(np.int32),
        np.zeros(len(rows), np.int64),
        np.ones(n_queries, np.int32),
    )


# Two questions, top 2 of each strategy pooled. Question 0: chunk 0 relevant (a and b have it), chunk 1 relevant (only
# c), chunk 3 judged 0 (only b). Question 1: chunk 5 relevant (only c), chunk 6 relevant (nobody has it in the top 2).
RUNS = {"a": run([0, 9], [8, 9]), "b": run([3, 0], [8, 6]), "c": run([1, 9], [5, 8])}
JUDGED = qrels([(0, 0, 1, 0), (0, 1, 1, 1), (0, 3, 0, -1), (1, 5, 1, 0), (1, 6, 1, 1)])


def test_a_strategy_loses_what_only_it_found():
    found = leave_one_out(RUNS, JUDGED, 2, parse_metric("R@2"), k=1).set_index("strategy")
    # R@2 now: a 1/2 and 0, b 1/2 and 1/2, c 1/2 and 1/2. Top 1 pooled: only c had chunks 1 and 5, only a chunk 0,
    # only b chunk 3 (grade 0). Without c's: one relevant chunk a question is left, c finds neither: 0; a 1 and 0.
    assert found["score"].to_dict() == {"a": 0.25, "b": 0.5, "c": 0.5}
    assert found.loc["c", ["unique", "unique_relevant", "n", "n_without"]].tolist() == [2, 2, 2, 2]
    assert found.loc["c", ["score_without", "change", "rank", "rank_without"]].tolist() == [0.0, -0.5, 1, 3]
    # Without chunk 3, judged 0, recall stays.
    assert found.loc["b", ["unique", "unique_relevant", "change", "rank", "rank_without"]].tolist() == [1, 0, 0, 1, 1]
    # Without chunk 0, a has nothing of question 0: 0 and 0; b 0 and 1/2; c 1 and 1/2.
    assert found.loc["a", ["unique", "score_without", "rank_without"]].tolist() == [1, 0.0, 3]


def test_a_question_that_keeps_nothing_relevant_leaves_the_means():
    found = leave_one_out(
        {"a": RUNS["a"], "c": RUNS["c"]}, qrels([(0, 0, 1, 0), (1, 5, 2, 0)]), 2, parse_metric("RR"), k=2
    ).set_index("strategy")
    assert found.loc["c", ["n", "score", "n_without", "score_without"]].tolist() == [2, 0.5, 1, 0.0]
    assert found.loc["a", ["n_without", "score_without"]].tolist() == [1, 0.0]


def test_a_copy_of_the_same_span_in_another_top_keeps_the_judgment():
    same = [(0, 0, 1, 0), (0, 1, 1, 0)]  # chunks 0 and 1 overlap and show one span
    runs = {"a": run([0, 9]), "c": run([1, 9])}
    found = leave_one_out(runs, qrels(same, 1), 1, parse_metric("RR"), k=1)
    assert found["unique"].tolist() == [0, 0]
    apart = leave_one_out(runs, qrels([(0, 0, 1, 0), (0, 1, 1, 1)], 1), 1, parse_metric("RR"), k=1)
    assert apart["unique"].tolist() == [1, 1]
    assert apart["score_without"].tolist() == [0.0, 0.0]


def test_what_nobody_pooled_stays_for_all():
    found = leave_one_out(RUNS, qrels([(1, 6, 1, 0)]), 2, parse_metric("R@2"), k=1)
    assert found["unique"].tolist() == [0, 0, 0]
    assert (found["change"] == 0).all()


def test_equal_rankings_count_once():
    runs, twins = distinct({"a": RUNS["a"], "b": RUNS["b"], "twin": RUNS["a"]})
    assert list(runs) == ["a", "b"]
    assert twins == ["twin has the same ranking as a"]


def test_metrics_over_texts_are_refused():
    with pytest.raises(EvaluationError, match="nDCG@5"):
        leave_one_out(RUNS, JUDGED, 2, parse_metric("EvRecall@1000w"), k=5)
