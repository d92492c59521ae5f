"""A finished run comes back from its folder: same request, same judged chunks, same rankings and values."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from evaluation.grades import grade_matrix
from evaluation.metrics import evaluate
from evaluation.replay import ReplayError, replay, request_of
from evaluation.request import read_request
from evaluation.runner import run
from ingestion.config import load
from tests.unit.evaluation.papers import write_lines

TEXTS = {
    "d1": "BM25 saturates the term frequency",
    "d2": "vectors are compared by cosine",
    "d 3": "fusion adds one over rank",
}
QUESTIONS = {"q1": "term frequency in BM25", "q2": "rank fusion", "q3": "zzz"}


def carry_out(folder: Path, *extra: str, outside=None) -> list[str]:
    overrides = [
        f"out={folder / 'out'}",
        f"artifacts={folder / 'artifacts'}",
        "tracking=none",
        f"ledger={folder / 'ledger.jsonl'}",
        *extra,
    ]
    assert run(load(overrides), overrides, outside or {}).code == 0
    return overrides


@pytest.fixture
def collection(tmp_path) -> Path:
    """Three documents in BEIR layout; an id has a blank; no document has a word of q3."""
    folder = tmp_path / "three"
    write_lines(folder / "corpus.jsonl", [{"_id": name, "text": text} for name, text in TEXTS.items()])
    write_lines(folder / "queries.jsonl", [{"_id": name, "text": text} for name, text in QUESTIONS.items()])
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t2\nq1\td2\t1\nq2\td 3\t1\nq3\td2\t1\n")
    return folder


def values_of(found) -> dict[tuple[str, str, str], float]:
    """Values of every arm, metric and query, computed from what came back."""
    queries, metrics = found.judged.benchmark.queries, found.request.metrics
    rows = {}
    for arm, ranking in found.runs.items():
        grades = grade_matrix(ranking, found.judged.qrels, len(queries), found.request.evaluation["credit"])
        table = evaluate(grades, metrics)
        rows |= {
            (arm, metric.name, qid): table[m, q]
            for m, metric in enumerate(metrics)
            for q, qid in enumerate(queries.qid)
            if table[m, q] == table[m, q]
        }
    return rows


def test_a_suite_with_an_outside_run_comes_back_with_its_values(collection, tmp_path):
    trec = tmp_path / "theirs.trec"
    trec.write_text("q1 Q0 d2 1 2.0 x\nq1 Q0 elsewhere 2 1.5 x\nq1 Q0 d1 3 1.0 x\n")
    own = [
        "benchmark=beir",
        f"benchmark.path={collection}",
        "suite.strategies=[bm25,tfidf]",
        "metrics=[nDCG@5,RR,R@1,AP]",
    ]
    overrides = carry_out(tmp_path, *own, "seed=5", outside={"theirs": trec})
    trec.unlink()  # the folder has its copy
    (found,) = replay(tmp_path / "out")
    before = read_request(load(overrides), overrides, {})
    assert replace(found.request, outside={}) == before
    assert list(found.runs) == ["bm25", "tfidf", "theirs"]
    per_query = pd.read_parquet(tmp_path / "out" / "per_query.parquet")
    expected = {(row.strategy, row.metric, row.qid): row.value for row in per_query.itertuples()}
    assert values_of(found) == expected
    assert expected["bm25", "RR", "q3"] == 0.0  # nothing was found for it


def test_one_strategy_with_its_parameters_comes_back(collection, tmp_path):
    own = ["benchmark=beir", f"benchmark.path={collection}", "strategy=bm25", "strategy.first.k1=2", "metrics=[RR]"]
    carry_out(tmp_path, *own)
    request = request_of(tmp_path / "out")
    assert [arm.name for arm in request.arms] == ["bm25"]
    assert request.arms[0].config["first"]["k1"] == 2
    assert request.out == tmp_path / "out"


def test_judgments_without_a_corpus_come_back(tmp_path):
    (tmp_path / "qrels.txt").write_text("007 0 2605.23950 1\n007 0 b 0\n")
    (tmp_path / "r.trec").write_text("007 Q0 b 1 9 x\n007 Q0 2605.23950 2 8 x\n")
    own = ["benchmark=trec", f"benchmark.qrels={tmp_path / 'qrels.txt'}", "suite=none", "metrics=[RR]"]
    carry_out(tmp_path, *own, outside={"mine": tmp_path / "r.trec"})
    (found,) = replay(tmp_path / "out")
    assert found.judged.corpus is None
    assert values_of(found)["mine", "RR", "007"] == 0.5


def test_every_chunker_of_an_ablation_comes_back_with_its_own_corpus(tmp_path):
    root = Path(__file__).parents[3]
    papers = tmp_path / "papers"
    papers.mkdir()
    for path in sorted((root / "corpus" / "pdf").glob("*.pdf"))[:2]:
        shutil.copy(path, papers)
    evidence = [{"doc": next(papers.glob("*.pdf")).name, "page": 1, "quote": ""}]
    write_lines(tmp_path / "q.jsonl", [{"qid": "q", "question": "term frequency", "evidence": evidence}])
    own = [f"corpus.path={papers}", f"benchmark.path={tmp_path / 'q.jsonl'}", "ablation=chunker"]
    chunkers = ["~ablation.chunkers", "+ablation.chunkers.page.kind=page", "+ablation.chunkers.short.kind=sentence"]
    carry_out(tmp_path, *own, *chunkers)
    page, short = replay(tmp_path / "out")
    assert (page.label, list(page.runs)) == ("page", ["bm25_page"])
    assert (short.label, list(short.runs)) == ("short", ["bm25_short"])
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert page.judged.corpus.fingerprint == manifest["chunkings"]["page"] != manifest["chunkings"]["short"]


def test_what_has_changed_or_moved_is_named(collection, tmp_path):
    carry_out(tmp_path, "benchmark=beir", f"benchmark.path={collection}", "strategy=bm25", "metrics=[RR]")
    out = tmp_path / "out"
    elsewhere = collection.rename(tmp_path / "moved")
    (found,) = replay(out, {"benchmark.path": str(elsewhere)})
    assert len(found.judged.ids) == 3
    (elsewhere / "qrels" / "test.tsv").write_text("q1\td2\t2\n")
    with pytest.raises(ReplayError, match="judgments have changed since"):
        replay(out, {"benchmark.path": str(elsewhere)})
    (other,) = replay(out, {"benchmark.path": str(elsewhere)}, same_judgments=False)
    assert values_of(other)["bm25", "RR", "q1"] == 0.0  # d2 is not in its ranking
    write_lines(elsewhere / "corpus.jsonl", [{"_id": "d1", "text": "another"}])
    with pytest.raises(ReplayError, match="chunks have changed"):
        replay(out, {"benchmark.path": str(elsewhere)}, same_judgments=False)
    with pytest.raises(ReplayError, match=r"'benchmark.path'"):
        replay(out, {"benchmark.pat": "x"})
    with pytest.raises(ReplayError, match="no results folder"):
        replay(tmp_path)
