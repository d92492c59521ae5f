"""Strategies side by side: what is grouped, what is shown, and what never is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ingestion.artifacts import ArtifactStore
from ingestion.errors import ConfigError
from retrieval.api import Searcher
from retrieval.arguments import read
from retrieval.build import build_strategy, strategy_config
from retrieval.compare import as_text, grouped, main
from retrieval.compare_page import page
from retrieval.errors import FilterError
from retrieval.filters import Where
from tests.contract.conftest import corpus_of, corpus_rows

QUESTION = "reciprocal <rank> fusion & retrieval"


@pytest.fixture(scope="module")
def searcher(tmp_path_factory) -> Searcher:
    return Searcher(corpus_of(corpus_rows()), ArtifactStore(tmp_path_factory.mktemp("artifacts")))


@pytest.fixture(scope="module")
def ranked(searcher):
    names = ["bm25", "bm25_reference", "linear_0.3", "rrf_dedup_mmr", "cross_encoder", "oracle"]
    stages = {name: build_strategy(strategy_config(name)) for name in names}
    return searcher.compare(QUESTION, stages, k=3)


def test_each_strategy_has_its_own_top_k(searcher, ranked):
    by_name = {answer.strategy: answer for answer in ranked}
    for name in ("bm25", "rrf_dedup_mmr"):
        alone = searcher.search(QUESTION, name, k=3)
        assert [hit.chunk_id for hit in by_name[name].hits] == [hit.chunk_id for hit in alone]
    assert by_name["linear_0.3"].hits[0].came_from == "dense 1, sparse 1, fuser 1"


def test_who_cannot_run_says_why_and_equal_answers_share_a_block(ranked):
    reasons = {answer.strategy: answer.reason for answer in ranked if answer.reason}
    assert set(reasons) == {"cross_encoder", "oracle"}
    remedies = ("hf download cross-encoder/ms-marco", "pip install 'rankproof[neural]'")  # without a model; torch
    assert any(remedy in reasons["cross_encoder"] for remedy in remedies)
    assert "made from judgments" in reasons["oracle"]
    together = next(names for names, _ in grouped(ranked) if "bm25" in names)
    hits = {answer.strategy: [hit.chunk_id for hit in answer.hits] for answer in ranked}
    assert together == [name for name in hits if hits[name] == hits["bm25"]]
    assert as_text(ranked).count("== ") == len(grouped(ranked))


def test_no_score_is_shown(searcher, ranked):
    scores = {f"{stage.score:.4g}" for answer in ranked for hit in answer.hits for stage in hit.stages}
    scores = {score for score in scores if "." in score}
    assert scores
    for text in (as_text(ranked), page(QUESTION, ranked, searcher.corpus)):
        assert not scores & set(re.findall(r"[\d.]+", text))


def test_the_page_is_one_file_without_an_outside_address_and_escapes(searcher, ranked):
    text = page(QUESTION, ranked, searcher.corpus)
    assert not re.search(r"(?:src|href)=|https?://|@import|url\(", text.replace("hf download", ""))
    assert "<rank>" not in text
    assert "reciprocal &lt;rank&gt; fusion &amp; retrieval" in text
    assert "<mark>reciprocal</mark>" in text
    assert text.count("<section") == 4  # a column per strategy that ran


def test_a_filter_holds_for_all(searcher):
    stages = {name: build_strategy(strategy_config(name)) for name in ("bm25", "rrf_dedup", "random")}
    for answer in searcher.compare("rank fusion", stages, k=5, where=Where(document=("d1",))):
        assert {hit.doc_name for hit in answer.hits} == {"d1.pdf"}
    with pytest.raises(FilterError, match="did you mean"):
        searcher.compare("rank fusion", stages, where=Where(document=("d1.pfd",)))


def test_arguments():
    asked = read(["a question", "k=3", "where.year=2019-2021", "where.section=Method", "suite=smoke"], k=5)
    assert (asked.question, asked.k, asked.overrides) == ("a question", 3, ("suite=smoke",))
    assert asked.where == Where(section="Method", first_year=2019, last_year=2021)
    assert read(["q"], k=5).where is None
    with pytest.raises(ConfigError, match="whole number"):
        read(["q", "k=0"], k=5)
    with pytest.raises(ConfigError, match=r"where\.documents: unknown key; did you mean 'document'"):
        read(["q", "where.documents=x"], k=5)


def test_a_strategy_is_refused_where_a_suite_is_meant(capsys, tmp_path: Path):
    with pytest.raises(ConfigError, match="takes suite="):
        main(["question", "strategy=bm25"])
    assert main(["--help"]) == 0
    assert "side" not in capsys.readouterr().err
