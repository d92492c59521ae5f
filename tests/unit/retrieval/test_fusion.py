"""RRF, linear and adaptive fusion, each number worked out beside it."""

from __future__ import annotations

from math import log
from types import SimpleNamespace

import numpy as np
import pytest

from ingestion.artifacts import ArtifactStore
from retrieval.errors import FusionError
from retrieval.fusers.adaptive import Adaptive, choose_alpha, mean_idf
from retrieval.fusers.linear import Linear
from retrieval.fusers.rrf import Rrf
from retrieval.schema import Queries, empty_run, make_run
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows

ONE = Queries.of(["q"], ["rank"])
CTX = SimpleNamespace(depth=10)


def ranked(run):
    return dict(zip(run.chunk.tolist(), run.score.tolist(), strict=True))


def list_of(*chunks):
    """A ranking of one query in this order."""
    return make_run([0] * len(chunks), chunks, -np.arange(len(chunks)), 100)


def test_rrf_by_hand_with_absent_chunks():
    run = Rrf(k=60).fuse(CTX, ONE, {"a": list_of(7, 3, 5), "b": list_of(3, 9)})
    expected = {3: 1 / 62 + 1 / 61, 7: 1 / 61, 9: 1 / 62, 5: 1 / 63}  # what is absent from a list gains nothing there
    assert run.chunk.tolist() == list(expected)
    assert ranked(run) == pytest.approx(expected, abs=1e-12)


def test_rrf_ties_go_to_the_smaller_row():
    assert Rrf().fuse(CTX, ONE, {"a": list_of(8, 2), "b": list_of(2, 8)}).chunk.tolist() == [2, 8]


def test_rrf_weights_by_branch_name():
    run = Rrf(k=1, weights=(("b", 3.0),)).fuse(CTX, ONE, {"a": list_of(7, 3), "b": list_of(9, 3)})
    # 9: 3/2 = 1.5; 3: 1/3 + 3/3 = 1.3333; 7: 1/2
    assert ranked(run) == pytest.approx({9: 1.5, 3: 4 / 3, 7: 0.5})
    assert run.chunk.tolist() == [9, 3, 7]


def test_rrf_keeps_queries_apart_and_obeys_depth():
    a = make_run([0, 0, 1], [4, 5, 5], [2, 1, 1], 9)
    b = make_run([1, 1], [4, 5], [2, 1], 9)
    run = Rrf(k=0).fuse(SimpleNamespace(depth=1), Queries.of(["x", "y"], ["", ""]), {"a": a, "b": b})
    # query 1: chunk 5 = 1 + 1/2, chunk 4 = 1
    assert (run.query.tolist(), run.chunk.tolist(), run.score.tolist()) == ([0, 1], [4, 5], [1.0, 1.5])


def test_rrf_refuses_a_weight_of_no_branch():
    with pytest.raises(FusionError, match=r"weights\.c: no such branch; there are a, b"):
        Rrf(weights=(("c", 1.0),)).fuse(CTX, ONE, {"a": list_of(1), "b": list_of(2)})


def test_rrf_of_empty_lists_is_empty():
    assert len(Rrf().fuse(CTX, ONE, {"a": empty_run(), "b": empty_run()})) == 0


SPARSE = make_run([0] * 3, [1, 2, 3], [10.0, 6.0, 2.0], 9)  # min-max: 1, .5, 0
DENSE = make_run([0] * 3, [2, 4, 1], [0.9, 0.8, 0.4], 9)  # min-max: 1, .8, 0


@pytest.mark.parametrize("names", [("sparse", "dense"), ("dense", "sparse")])
def test_alpha_is_the_weight_of_dense_whatever_the_order(names):
    runs = {"sparse": SPARSE, "dense": DENSE}
    run = Linear(alpha=0.3).fuse(CTX, ONE, {name: runs[name] for name in names})
    # 1: .7*1 + .3*0 = .7; 2: .7*.5 + .3*1 = .65; 4: .3*.8 = .24; 3: .7*0 = 0, retrieved and so ranked
    assert ranked(run) == pytest.approx({1: 0.7, 2: 0.65, 4: 0.24, 3: 0.0})
    assert run.chunk.tolist() == [1, 2, 4, 3]


@pytest.mark.parametrize(("alpha", "expected"), [(0.0, [1, 2, 3, 4]), (1.0, [2, 4, 1, 3])])
def test_the_ends_of_alpha_are_the_two_branches(alpha, expected):
    # with 0: chunk 4 is absent from sparse, 0 like chunk 3, and the smaller row is first
    assert Linear(alpha).fuse(CTX, ONE, {"sparse": SPARSE, "dense": DENSE}).chunk.tolist() == expected


def test_a_constant_list_counts_1_for_what_it_retrieved():
    constant = make_run([0, 0], [5, 6], [3.0, 3.0], 9)
    run = Linear(0.5).fuse(CTX, ONE, {"sparse": constant, "dense": DENSE})
    assert ranked(run) == pytest.approx({5: 0.5, 6: 0.5, 2: 0.5, 4: 0.4, 1: 0.0})
    assert run.chunk.tolist() == [2, 5, 6, 4, 1]


def test_a_single_hit_counts_1_and_each_query_is_scaled_alone():
    sparse = make_run([0, 1, 1], [5, 5, 6], [100.0, 2.0, 1.0], 9)
    run = Linear(0.5).fuse(CTX, Queries.of(["a", "b"], ["", ""]), {"sparse": sparse, "dense": empty_run()})
    assert run.query.tolist() == [0, 1, 1]
    assert run.score.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("names", [("sparse",), ("dense", "bm25"), ("dense", "sparse", "graph")])
def test_other_branches_are_refused(names):
    with pytest.raises(FusionError, match="branches named sparse and dense; there are " + ", ".join(sorted(names))):
        Linear().fuse(CTX, ONE, {name: list_of(1) for name in names})


@pytest.mark.parametrize(
    ("fuser", "value"), [(Rrf, {"k": -1.0}), (Linear, {"alpha": 1.1}), (Linear, {"alpha": -0.1})]
)
def test_parameters_out_of_range_are_refused(fuser, value):
    with pytest.raises(ValueError, match="must be"):
        fuser(**value)


@pytest.mark.parametrize(
    ("query", "idf", "alpha"),
    [
        ("methods for ranking", 0.5, 0.5),  # nothing to see
        ("", 0.0, 0.5),
        ("methods for ranking", 0.75, 0.5),  # not above .75
        ("methods for ranking", 0.76, 0.4),  # rare words
        ("the RRF method", 0.5, 0.4),  # an acronym
        ("methods with 60 candidates", 0.5, 0.4),  # a number
        ('the "lost in the middle" effect', 0.5, 0.4),  # a quotation
        ("the LangChain library", 0.5, 0.4),  # a coined term
        ("RRF against BM with 60 candidates", 0.5, 0.2),  # three signs
        ('RRF, BM, MMR and IDF with 60 or 70 "candidates"', 0.9, 0.1),  # at most three count: .5 - .3 - .1
        ("what is the best way to combine two rankings", 0.5, 0.5),  # nine words
        ("what is the best way to combine two rankings together", 0.5, 0.7),  # ten
        ("tell me the best way to combine two rankings together", 0.5, 0.5),  # no question
        ("How does one combine rankings of RRF type with small effort?", 0.9, 0.5),  # .5 - .1 - .1 + .2
    ],
)
def test_alpha_follows_the_rule(query, idf, alpha):
    assert choose_alpha(query, idf) == pytest.approx(alpha)


@pytest.fixture
def ctx(tmp_path):
    texts = ["rank fusion", "rank chunk", "rank", "chunk"]
    rows = [
        {**row, "text": text, "chunk_id": f"{n}"}
        for n, (row, text) in enumerate(zip(corpus_rows(), texts, strict=False))
    ]
    return Context(corpus_of(rows), ArtifactStore(tmp_path), depth=10)


def test_mean_idf_is_a_share_of_the_largest(ctx):
    from retrieval.analysis import analysed

    corpus = analysed(ctx)
    assert mean_idf("fusion", corpus) == pytest.approx(1.0)  # ln(4/1) / ln 4
    assert mean_idf("chunk", corpus) == pytest.approx(0.5)  # ln(4/2) / ln 4
    assert mean_idf("rank fusion zzzz", corpus) == pytest.approx((log(4 / 3) / log(4) + 1) / 2)
    assert mean_idf("zzzz", corpus) == 0.0


def test_every_query_is_fused_with_its_own_alpha(ctx):
    queries = Queries.of(["a", "b", "c"], ["chunk", "fusion", "RRF of 60 chunk"])
    assert Adaptive().alphas(ctx, queries).tolist() == pytest.approx([0.5, 0.4, 0.3])
    three = [0, 1, 2]
    runs = {"sparse": make_run(three, [0] * 3, [1.0] * 3, 9), "dense": make_run(three, [1] * 3, [1.0] * 3, 9)}
    run = Adaptive().fuse(ctx, queries, runs)
    # single hits count 1: chunk 1 has alpha, chunk 0 has 1 - alpha
    assert run.score.tolist() == pytest.approx([0.5, 0.5, 0.6, 0.4, 0.7, 0.3])
    assert run.chunk.tolist() == [0, 1, 0, 1, 0, 1]


def test_the_trace_holds_the_weight_of_every_question(tmp_path):
    from retrieval.retrievers.bm25 import Bm25
    from retrieval.retrievers.tfidf import Tfidf
    from retrieval.stage import Fused

    ctx = Context(corpus_of(corpus_rows()), ArtifactStore(tmp_path), depth=10)
    questions = Queries.of(["a", "b"], ["reciprocal rank fusion", "What does BM25 do in 2024?"])
    said = ctx.remembered(Fused((("dense", Tfidf()), ("sparse", Bm25())), Adaptive()), questions).events.to_pylist()
    assert [(row["event"], row["query"], row["chunk"]) for row in said] == [("alpha", 0, -1), ("alpha", 1, -1)]
    assert [row["value"] for row in said] == Adaptive().alphas(ctx, questions).tolist()
