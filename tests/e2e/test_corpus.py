"""The bundled papers and questions: real enough to learn from, and all of it found."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from evaluation.benchmark import BenchmarkSpec, load_benchmark
from evaluation.grades import grade_matrix
from evaluation.locate import locate
from evaluation.metrics import judged
from evaluation.qrels import span_qrels
from evaluation.quality.questions import wording
from evaluation.regression.baseline import read_baseline
from ingestion.artifacts import ArtifactStore
from ingestion.config import ROOT, load, to_plain
from ingestion.pipeline import build_chunker, build_ingest, ingest
from ingestion.schema import PAGE_BREAK
from retrieval.build import build_strategy, strategy_config
from retrieval.stage import Context

BENCHMARK = ROOT / "corpus" / "benchmark"
KINDS = {"single_hop", "multi_hop", "jargon", "paraphrase", "numeric", "contradiction", "unanswerable"}
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
    papers = list((ROOT / "corpus" / "pdf").glob("*.pdf"))
    assert len(papers) >= 24
    questions = rows("queries.jsonl")
    splits = Counter(question["split"] for question in questions)
    assert splits.keys() == {"dev", "test"} and splits["dev"] >= 75 and splits["test"] >= 150
    kinds = Counter(question["kind"] for question in questions)
    assert kinds.keys() == KINDS and kinds["unanswerable"] >= 30 and min(kinds.values()) >= 15
    assert {row["grade"] for row in rows("evidence.jsonl")} <= {0, 1, 2, 3}
    assert all(row["source"].startswith(("hand", "llm:", "imported:")) for row in rows("evidence.jsonl"))


def test_reports_have_four_to_eight_pages(store):
    pages = corpus_with(store).documents.select(["doc_name", "pages"]).to_pylist()
    assert all(4 <= row["pages"] <= 8 for row in pages), pages


def test_dev_and_test_share_no_paper():
    """Papers that questions come from, and papers that they need; a passage of any other may help by the way."""
    questions = {question["qid"]: question for question in rows("queries.jsonl")}
    papers: dict[str, set[str]] = {"dev": set(), "test": set()}
    for question in questions.values():
        if question["kind"] != "unanswerable":
            papers[question["split"]].add(question["cluster"])
    for row in rows("evidence.jsonl"):
        if row.get("part"):
            papers[questions[row["qid"]]["split"]].add(Path(row["doc_name"]).stem)
    assert len(papers["dev"]) >= 8
    assert len(papers["test"]) >= 20  # below ten documents there is no verdict
    assert not papers["dev"] & papers["test"]


def test_multi_hop_questions_need_two_papers_or_three():
    """Both versions of a report are one paper."""
    papers: dict[str, set[str]] = {}
    for row in rows("evidence.jsonl"):
        if row.get("part") and row["grade"] > 0:
            papers.setdefault(row["qid"], set()).add(re.sub(r"-v\d$", "", Path(row["doc_name"]).stem))
    joined = [question["qid"] for question in rows("queries.jsonl") if question["kind"] == "multi_hop"]
    assert len(joined) >= 30
    assert all(2 <= len(papers[qid]) <= 3 for qid in joined)


def test_paraphrases_share_hardly_a_word_with_their_evidence():
    words = wording(load_benchmark(SPEC, "all"))
    assert words.loc[words["kind"] == "paraphrase", "shared"].mean() < 0.2


def test_every_question_but_the_unanswerable_has_relevant_evidence():
    relevant = {row["qid"] for row in rows("evidence.jsonl") if row["grade"] > 0}
    for question in rows("queries.jsonl"):
        assert (question["qid"] in relevant) == (question["kind"] != "unanswerable"), question["qid"]
        assert bool(question["answer"]) == (question["kind"] != "unanswerable")


def test_every_quote_stands_at_its_stored_place(store):
    corpus = corpus_with(store)
    names = dict(zip(*(corpus.documents[name].to_pylist() for name in ("doc_id", "doc_name")), strict=True))
    page_of: dict[str, dict[int, str]] = {}
    for row in corpus.pages.to_pylist():
        page_of.setdefault(names[row["doc_id"]], {})[row["page"]] = row["text"]
    for row in rows("evidence.jsonl"):
        pages = page_of[row["doc_name"]]
        onwards = PAGE_BREAK.join(pages[page] for page in range(row["page"], max(pages) + 1))  # a passage may run on
        found = onwards[row["char_start"] : row["char_end"]]
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
    benchmark = load_benchmark(SPEC, "test")
    run = ctx.search(build_strategy(strategy_config(name)), benchmark.queries)
    assert run.fingerprint == baseline.arms[name].fingerprint
    n_queries = len(benchmark.queries)
    qrels = span_qrels(locate(benchmark, ctx.corpus), ctx.corpus, n_queries)
    assert judged(grade_matrix(run, qrels, n_queries), 5).mean() >= 0.95


@pytest.mark.parametrize("page", ["README.md", "docs/collections.md"])
def test_the_tables_of_the_docs_are_those_of_the_committed_baseline(page):
    """Whoever changes results writes the tables again: `python -m evaluation.publish`."""
    place = re.search(r"<!-- results: bundled-core -->(.*?)<!-- /results -->", (ROOT / page).read_text(), re.DOTALL)
    shown = dict(re.findall(r"^\| (\w[\w.]*) \| (\d\.\d{3}) \[", place[1], re.MULTILINE))
    means = read_baseline(ROOT / "results" / "baselines" / "core").values["nDCG@5"].groupby("strategy").mean()
    assert shown == {name: f"{mean:.3f}" for name, mean in means.items()}
