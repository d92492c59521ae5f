"""Graph retrieval: activations worked out by hand, batches against one question at a time, and what is said."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from ingestion.artifacts import ArtifactStore
from retrieval.retrievers.graph import Graph, GraphIndex, damped
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.unit.ingestion.test_graph import TEXTS, corpus_of

FOREST, BAGGING, PYTORCH = "random forest", "Bootstrap aggregation (BA)", "PyTorch"


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    return Context(corpus_of(TEXTS), ArtifactStore(tmp_path), depth=10)


def asked(*texts: str) -> Queries:
    return Queries.of([f"q{n}" for n in range(len(texts))], texts)


def test_activation_and_scores_by_hand(ctx):
    """What the chunks hold: a0, a1 {forest, bagging}, a2, b0 {bagging, PyTorch}, b1 {PyTorch, forest}.

    Edges: forest-bagging 2 sentences (one typed), forest-PyTorch 1, bagging-PyTorch 1; degrees 3, 3, 2.
    """
    stage = Graph(hop=0.5)
    graph = stage.graph(ctx)
    index = GraphIndex(None, damped(graph.adjacency, stage.neighbours))
    active = stage.activation(ctx, graph, index, asked("What beats PyTorch?")).toarray()[0]
    idf = math.log(1 + (5 - 3 + 0.5) / (3 + 0.5))  # PyTorch is in 3 of 5 chunks: .538997
    by_label = dict(zip(graph.labels, active.tolist(), strict=True))
    assert by_label[PYTORCH] == pytest.approx(idf)
    assert by_label[FOREST] == pytest.approx(0.5 * idf * 1 / math.sqrt(2 * 3))  # .110022
    assert by_label[BAGGING] == pytest.approx(0.5 * idf * 1 / math.sqrt(2 * 3))
    run = stage.search(ctx, asked("What beats PyTorch?"))
    both, one = idf * (1 + 0.5 / math.sqrt(6)), idf * 2 * 0.5 / math.sqrt(6)
    assert ctx.corpus.chunk_ids[run.chunk].tolist() == ["a002", "b000", "b001", "a000", "a001"]
    assert run.score.tolist() == pytest.approx([both] * 3 + [one] * 2)  # .649019 three times, .220045 twice


def test_without_a_hop_only_chunks_that_hold_the_entity_are_ranked(ctx):
    run = Graph(hop=0.0).search(ctx, asked("PyTorch", "how do random forests and BA differ"))
    names = ctx.corpus.chunk_ids[run.chunk].tolist()
    assert names[:3] == ["a002", "b000", "b001"]
    assert set(names[3:]) == {"a000", "a001", "a002", "b000", "b001"}
    assert names[3:5] == ["a000", "a001"]  # they hold both


def test_hubs_hand_on_less():
    # node 0 is joined to 1 alone (weight 1); node 2 to 1 (weight 1) and to 3..6: node 1 has degree 2, node 2 degree 5
    pairs = [(0, 1), (1, 2), (2, 3), (2, 4), (2, 5), (2, 6)]
    rows, columns = zip(*(pairs + [(b, a) for a, b in pairs]), strict=True)
    weights = damped(csr_array((np.ones(12), (rows, columns)), shape=(7, 7)), strongest=3).toarray()
    assert weights[1, 0] == pytest.approx(1 / math.sqrt(2 * 1))
    assert weights[1, 2] == pytest.approx(1 / math.sqrt(2 * 5))
    assert np.count_nonzero(weights[2]) == 3  # of five neighbours the strongest three, ties by number
    assert np.flatnonzero(weights[2]).tolist() == [3, 4, 5]


def test_a_batch_equals_one_question_at_a_time(ctx):
    texts = ["random forests", "", "BA or PyTorch", "nothing known", "PyTorch and the random forest"]
    for mode in ("local", "global"):
        stage = Graph(mode=mode)
        batch = stage.search(ctx, asked(*texts))
        for row, text in enumerate(texts):
            alone = stage.search(ctx, asked(text))
            part = batch.only(row)
            assert part.chunk.tolist() == alone.chunk.tolist()
            assert part.score.tolist() == alone.score.tolist()


def test_a_question_without_an_entity_is_empty_counted_and_falls_back_only_if_asked_to(ctx):
    questions = asked("what about forests in general", "PyTorch")
    plain = ctx.remembered(Graph(), questions)
    assert set(plain.run.query.tolist()) == {1}
    said = plain.facts["questions without a known entity"]
    assert (said.value, said.of) == (1, 2)
    assert plain.events.num_rows == 0
    fallen = ctx.remembered(Graph(fallback="community"), questions)
    assert set(fallen.run.query.tolist()) == {0, 1}
    assert fallen.events.select(["event", "query", "chunk"]).to_pylist() == [
        {"event": "fell back to communities", "query": 0, "chunk": -1}
    ]
    assert fallen.run.only(1).fingerprint == plain.run.only(1).fingerprint


def test_global_mode_takes_the_words_of_communities():
    from ingestion.graph import GraphSpec, build_graph
    from retrieval.retrievers.graph import _community_similarity

    graph = build_graph(corpus_of(TEXTS), GraphSpec())
    similar = _community_similarity(graph, asked("forests in general", "cooking"))
    community = dict(zip(graph.labels, graph.nodes["community"].to_pylist(), strict=True))
    assert similar[0, community[FOREST]] > 0
    assert not similar[1].any()


@pytest.mark.parametrize("bad", [{"hop": -0.1}, {"neighbours": 0}, {"communities": 0}, {"min_count": 0}])
def test_parameters_are_checked(bad):
    with pytest.raises(ValueError, match="at least"):
        Graph(**bad)
