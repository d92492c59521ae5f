"""Queries and Run: the only place that ranks, its tie rule and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.errors import RetrievalError, ScoringError
from retrieval.schema import Queries, Run, empty_run, make_run


def test_a_higher_score_comes_first_then_the_smaller_row():
    run = make_run([1, 0, 0, 0, 1], [2, 9, 4, 7, 1], [0.5, 1.0, 1.0, 3.0, 0.25], depth=10)
    assert run.query.tolist() == [0, 0, 0, 1, 1]
    assert run.chunk.tolist() == [7, 4, 9, 2, 1]
    assert run.rank.tolist() == [1, 2, 3, 1, 2]
    assert run.score.tolist() == [3.0, 1.0, 1.0, 0.5, 0.25]
    assert (run.query.dtype, run.chunk.dtype, run.rank.dtype) == (np.int32, np.int32, np.int32)


def test_sums_in_another_order_are_a_tie():
    a, b, c = 0.1, 0.2, 0.3
    one, two = a + b + c, c + b + a
    assert one > two  # 0.6000000000000001 and 0.6
    assert make_run([0, 0], [8, 3], [one, two], depth=2).chunk.tolist() == [3, 8]


def test_a_difference_in_the_last_place_that_counts_is_no_tie():
    assert make_run([0, 0], [3, 8], [0.5, 0.5 + 1e-12], depth=2).chunk.tolist() == [8, 3]
    assert make_run([0, 0], [3, 8], [0.5, 0.5 + 4e-13], depth=2).chunk.tolist() == [3, 8]
    assert make_run([0, 0], [3, 8], [0.5, 0.5 + 4e-7], depth=2, places=6).chunk.tolist() == [3, 8]
    assert make_run([0, 0], [3, 8], [0.5, 0.5 + 1e-6], depth=2, places=6).chunk.tolist() == [8, 3]


def test_minus_zero_is_zero():
    run = make_run([0, 0, 0], [5, 2, 1], [0.0, -0.0, -1e-13], depth=3)
    assert run.chunk.tolist() == [1, 2, 5]
    assert not np.signbit(run.score).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_no_number_is_refused_with_its_rows(bad):
    with pytest.raises(ScoringError, match=str(bad)) as error:
        make_run([0, 3, 3], [1, 6, 7], [1.0, 2.0, bad], depth=5)
    assert (error.value.query, error.value.chunk) == (3, 7)


def test_a_chunk_twice_in_a_ranking_is_refused_with_its_rows():
    with pytest.raises(ScoringError, match="twice") as error:
        make_run([0, 2, 0, 2], [4, 6, 6, 6], [1.0, 2.0, 0.5, 3.0], depth=1)
    assert (error.value.query, error.value.chunk) == (2, 6)
    assert len(make_run([0, 1], [6, 6], [1.0, 1.0], depth=1)) == 2  # in two rankings it may stand


def test_depth_cuts_every_ranking_by_the_tie_rule():
    run = make_run([0] * 4 + [1], [3, 2, 1, 0, 5], [1.0, 1.0, 1.0, 2.0, 9.0], depth=2)
    assert list(zip(run.query.tolist(), run.chunk.tolist(), run.rank.tolist(), strict=True)) == [
        (0, 0, 1),
        (0, 1, 2),
        (1, 5, 1),
    ]


def test_nothing_ranked_is_an_empty_run():
    assert [column.tolist() for column in (empty_run().query, empty_run().chunk, empty_run().rank)] == [[], [], []]
    assert empty_run().bounds(3).tolist() == [0, 0, 0, 0]


def test_against_a_sort_of_tuples():
    rng = np.random.default_rng(7)
    pairs = [(q, c) for q in range(6) for c in range(40) if rng.random() < 0.6]
    scores = rng.integers(0, 8, len(pairs)) / 4
    order = rng.permutation(len(pairs))
    run = make_run([pairs[i][0] for i in order], [pairs[i][1] for i in order], scores[order], depth=9)
    expected = []
    for query in range(6):
        ranked = sorted((-s, c) for (q, c), s in zip(pairs, scores.tolist(), strict=True) if q == query)[:9]
        expected += [(query, c, -s, rank) for rank, (s, c) in enumerate(ranked, 1)]
    columns = (run.query, run.chunk, run.score, run.rank)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected


def test_parts_of_a_run_and_its_file(tmp_path):
    run = make_run([0, 2, 2], [4, 6, 1], [1.0, 2.0, 0.5], depth=5)
    assert run.bounds(4).tolist() == [0, 1, 1, 3, 3]
    assert (run.only(2).query.tolist(), run.only(2).chunk.tolist(), run.only(1).rank.tolist()) == ([0, 0], [6, 1], [])
    assert run.of_queries([1, 4, 7]).query.tolist() == [1, 7, 7]
    run.save(tmp_path / "run.parquet")
    again = Run.load(tmp_path / "run.parquet")
    assert again.fingerprint == run.fingerprint
    assert again.score.tolist() == run.score.tolist()


def test_a_fingerprint_sees_the_ranking_and_not_the_scores():
    run = make_run([0, 0], [4, 6], [1.0, 0.5], depth=5)
    assert run.fingerprint == make_run([0, 0], [6, 4], [7.0, 8.0], depth=5).fingerprint
    assert run.fingerprint != make_run([0, 0], [4, 6], [0.5, 1.0], depth=5).fingerprint


def test_queries_are_sorted_by_id_with_all_their_columns():
    queries = Queries.of(
        ["b", "a", "10", "9"], ["vb", "va", "v10", "v9"], kind=list("wxyz"), cluster=["d1", "", "d2", ""]
    )
    assert queries.qid == ("10", "9", "a", "b")  # ids are strings
    assert queries.query == ("v10", "v9", "va", "vb")
    assert queries.kind == tuple("yzxw")
    assert queries.cluster == ("d2", "9", "a", "d1")  # without a cluster a query is its own
    assert queries.split == ("test",) * 4
    assert queries.take([2, 0]).query == ("va", "v10")


@pytest.mark.parametrize(
    ("qid", "query", "said"),
    [
        (["a", "b", "a"], ["1", "2", "3"], "'a' stands twice"),
        (["a", ""], ["1", "2"], "empty id"),
        (["a"], [], "length"),
    ],
)
def test_queries_that_cannot_be_told_apart_are_refused(qid, query, said):
    with pytest.raises(RetrievalError, match=said):
        Queries.of(qid, query)


def test_a_border_between_id_and_text_counts():
    assert Queries.of(["ab"], ["c"]).fingerprint != Queries.of(["a"], ["bc"]).fingerprint
