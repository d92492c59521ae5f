"""LanceDB: the scores and order of a full sort, filters inside the engine, and files that searching leaves alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ingestion.artifacts import ArtifactStore
from retrieval.retrievers.lance import Lance
from retrieval.stage import Context
from tests.contract.conftest import corpus_of, corpus_rows, fresh  # noqa: F401
from tests.unit.retrieval.stand_in import (
    QUERIES,
    Hashed,
    by_sorting,
    check_filters,
    check_nothing,
    check_ranking,
    large_corpus,
    large_queries,
    rankings,
    share_found,
)

pytest.importorskip("lancedb")
FLAT, GRAPH = Lance(Hashed()), Lance(Hashed(), flat_below=0)


@pytest.fixture(scope="module")
def corpus():
    return large_corpus()


def context(corpus, folder: Path, depth: int = 20) -> Context:
    return Context(corpus, ArtifactStore(folder), depth=depth)


@pytest.mark.parametrize("stage", [FLAT, GRAPH], ids=["flat", "graph"])
def test_a_tiny_corpus_is_ranked_as_by_a_full_sort(stage, fresh):  # noqa: F811
    check_ranking(stage, fresh, corpus_of(corpus_rows()), QUERIES[:8])


def test_a_flat_search_is_a_full_sort(fresh, corpus):  # noqa: F811
    check_ranking(FLAT, fresh, corpus, QUERIES)


@pytest.mark.parametrize(("stage", "least"), [(FLAT, 1.0), (GRAPH, 0.98)], ids=["flat", "graph"])
def test_filters(stage, least, fresh, corpus):  # noqa: F811
    check_filters(stage, fresh, corpus, least)


def test_nothing_asked_or_allowed_nothing_found(fresh, corpus):  # noqa: F811
    check_nothing(GRAPH, fresh, corpus)


def test_the_facts_say_recall_and_what_is_indexed(tmp_path, corpus):
    for stage, share in ((FLAT, 0.0), (GRAPH, 1.0)):
        said = context(corpus, tmp_path).remembered(stage, large_queries())
        found, expected = rankings(said.run, len(QUERIES)), by_sorting(corpus, QUERIES, 20)
        assert said.facts["ANN recall@10"].value == pytest.approx(share_found(found, expected))
        assert said.facts["ANN recall@10"].value >= 0.99
        scanned = said.facts["vectors scanned, not in a graph"]
        assert 1 - scanned.value / scanned.of == share


def test_a_depth_beyond_ef_and_beyond_the_corpus(tmp_path, corpus):
    run = context(corpus, tmp_path, depth=1_000).search(Lance(Hashed(), ef=10), large_queries())
    assert len(run) == len(QUERIES) * len(corpus)


def test_a_query_alone_is_ranked_as_in_the_batch(fresh, corpus):  # noqa: F811
    whole = fresh(corpus).search(GRAPH, large_queries())
    alone = fresh(corpus).search(GRAPH, large_queries().take([7]))
    assert rankings(alone, 1)[0] == rankings(whole, len(QUERIES))[7]


def test_searching_leaves_the_files_as_they_were_built(tmp_path, corpus):
    first = context(corpus, tmp_path).search(GRAPH, large_queries())
    store = ArtifactStore(tmp_path)  # as another process would: every digest is checked
    again = Context(corpus, store, depth=20, remember=False).search(GRAPH, large_queries())
    assert first.fingerprint == again.fingerprint
    assert store.damaged == []
    assert all(built.cached for built in store.built.values())


def test_an_absent_package_is_named_with_the_remedy(monkeypatch):
    assert FLAT.missing() is None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert FLAT.missing() == "lancedb is not installed; pip install 'rankproof[lance]'"


@pytest.mark.parametrize("wrong", [{"m": 0}, {"ef": 0}, {"refine_factor": 0}, {"flat_below": -1}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match="at least"):
        Lance(Hashed(), **wrong)
