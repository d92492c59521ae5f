"""The bundled papers and questions: real enough to learn from, and all of it found."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from evaluation.benchmark import BenchmarkSpec, load_benchmark
from evaluation.locate import locate
from evaluation.qrels import span_qrels
from evaluation.regression.baseline import read_baseline
from ingestion.artifacts import ArtifactStore
from ingestion.config import ROOT, load, to_plain
from ingestion.pipeline import build_chunker, build_ingest, ingest
from retrieval.build import build_strategy, strategy_config
from retrieval.stage import Context

BENCHMARK = ROOT / "corpus" / "benchmark"
SPEC = BenchmarkSpec(kind="bundled", path=str(BENCHMARK))


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> ArtifactStore:
    return ArtifactStore(tmp_path_factory.mktemp("artifacts"))


def corpus_with(store: ArtifactStore, *overrides: str):
    plain = to_plain(load(list(overrides)))
    return ingest(ROOT / "corpus" / "pdf", build_ingest(plain["ingest"]), build_chunker(plain["chunker"]), store)


def rows(name: str) -> list[dict]:
    return [json.loads(line) for line in (BENCHMARK / name).read_text().splitlines()]


def test_there_are_enough_papers_and_questions_of_several_kinds():
    assert len(list((ROOT / "corpus" / "pdf").glob("*.pdf"))) >= 6
    questions = rows("queries.jsonl")
    assert len(questions) >= 30
    assert {"single_hop", "multi_hop", "jargon", "paraphrase", "numeric", "contradiction", "unanswerable"} <= {
        question["kind"] for question in questions
    }
    assert Counter(question["split"] for question in questions).keys() == {"dev", "test"}
    assert {row["grade"] for row in rows("evidence.jsonl")} <= {0, 1, 2, 3}
    assert all(row["source"].startswith(("hand", "llm:", "imported:")) for row in rows("evidence.jsonl"))


def test_dev_and_test_share_no_paper():
    split = {question["qid"]: question["split"] for question in rows("queries.jsonl")}
    papers: dict[str, set[str]] = {"dev": set(), "test": set()}
    for row in rows("evidence.jsonl"):
        papers[split[row["qid"]]].add(row["doc_name"])
    assert papers["dev"]
    assert len(papers["test"]) >= 10  # below ten documents there is no verdict
    assert not papers["dev"] & papers["test"]


def test_every_question_but_the_unanswerable_has_relevant_evidence():
    relevant = {row["qid"] for row in rows("evidence.jsonl") if row["grade"] > 0}
    for question in rows("queries.jsonl"):
        assert (question["qid"] in relevant) == (question["kind"] != "unanswerable"), question["qid"]
        assert bool(question["answer"]) == (question["kind"] != "unanswerable")


def test_every_quote_stands_at_its_stored_place(store):
    corpus = corpus_with(store)
    names = dict(zip(*(corpus.documents[name].to_pylist() for name in ("doc_id", "doc_name")), strict=True))
    page_of = {(names[row["doc_id"]], row["page"]): row["text"] for row in corpus.pages.to_pylist()}
    for row in rows("evidence.jsonl"):
        found = page_of[row["doc_name"], row["page"]][row["char_start"] : row["char_end"]]
        letters = ["".join(filter(str.isalnum, text)).casefold() for text in (found, row["quote"])]
        assert letters[0] == letters[1], row


@pytest.mark.parametrize("words", [100, 200, 400])
def test_rechunking_keeps_every_judgment(store, words):
    corpus = corpus_with(store, f"chunker.max_words={words}")
    benchmark = load_benchmark(SPEC, "all")
    spans = locate(benchmark, corpus)
    assert spans.orphans == ()
    qrels = span_qrels(spans, corpus, len(benchmark.queries))
    judged = {benchmark.queries.qid[row] for row, grade in zip(qrels.query, qrels.grade, strict=True) if grade > 0}
    assert judged == {row.qid for row in benchmark.evidence if row.grade > 0}
    best = {qid: max(row.grade for row in benchmark.evidence if row.qid == qid) for qid in judged}
    for row, qid in enumerate(benchmark.queries.qid):
        if qid in judged:
            assert qrels.grade[qrels.query == row].max() == best[qid]


def test_the_manifest_names_every_paper_and_the_licence():
    text = (ROOT / "corpus" / "MANIFEST.md").read_text()
    assert "CC-BY-4.0" in text
    assert all(path.stem in text for path in Path(ROOT / "corpus" / "pdf").glob("*.pdf"))


def test_the_committed_baseline_is_of_these_papers_and_questions(store):
    """Whoever changes them updates it: `python run_eval.py --config-name nightly baseline=update`."""
    identity = read_baseline(ROOT / "results" / "baselines" / "core").identity
    assert identity["corpus"] == corpus_with(store).fingerprint
    assert identity["judgments"] == load_benchmark(SPEC, "test").digest


@pytest.mark.parametrize("name", ["bm25", "tfidf", "linear_0.5", "rrf_dedup_mmr", "rrf_graph_dedup_mmr"])
def test_rankings_are_those_of_the_committed_baseline(store, name):
    baseline = read_baseline(ROOT / "results" / "baselines" / "core")
    ctx = Context(corpus_with(store), store, depth=baseline.identity["depth"], seed=baseline.identity["seed"])
    run = ctx.search(build_strategy(strategy_config(name)), load_benchmark(SPEC, "test").queries)
    assert run.fingerprint == baseline.arms[name].fingerprint
