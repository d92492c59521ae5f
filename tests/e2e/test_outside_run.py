"""A run made by bm25s alone joins the table: its values are what pytrec_eval computes from the same file."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import bm25s
import pandas as pd
import pytest
import pytrec_eval

from evaluation.runner import run
from ingestion.config import load
from tests.unit.evaluation.papers import write_lines

THEIRS = {
    "nDCG@5": "ndcg_cut_5", "nDCG@10": "ndcg_cut_10", "RR": "recip_rank", "R@5": "recall_5", "R@100": "recall_100",
    "P@5": "P_5", "Success@5": "success_5", "AP": "map", "Bpref": "bpref",
}  # fmt: skip
METRICS = f"metrics=[{','.join(THEIRS)}]"


def words(text: str) -> list[str]:
    """A tokenizer that shares nothing with our analyser: no stemming, no stop words."""
    return re.findall(r"\w+", text.lower())


def bm25s_run(
    path: Path, documents: dict[str, str], questions: dict[str, str], k: int
) -> dict[str, dict[str, float]]:
    """Index and search with bm25s, write a TREC file; returns it as pytrec_eval wants it."""
    names = list(documents)
    index = bm25s.BM25(method="lucene")
    index.index([words(text) for text in documents.values()], show_progress=False)
    scored, lines = {}, []
    for qid, text in questions.items():
        found, scores = index.retrieve([words(text)], k=min(k, len(names)), show_progress=False)
        rows = {names[row]: float(score) for row, score in zip(found[0], scores[0], strict=True) if score > 0}
        scored[qid] = rows
        lines += [f"{qid} Q0 {name} {rank} {score!r} bm25s\n" for rank, (name, score) in enumerate(rows.items())]
    path.write_text("".join(lines))
    return {qid: rows for qid, rows in scored.items() if rows}


def joined(out: Path, run_file: Path, *overrides: str) -> tuple[pd.DataFrame, dict]:
    """The values of `outside.bm25s` beside what else the overrides ask for, and `arms.json`."""
    given = [f"out={out}", f"ledger={out.parent / 'ledger.jsonl'}", "tracking=none", "benchmark=beir", *overrides]
    assert run(load(given), given, {"bm25s": run_file}).code == 0
    return pd.read_parquet(out / "per_query.parquet"), json.loads((out / "arms.json").read_text())


def assert_equal(
    per_query: pd.DataFrame, judged: dict[str, dict[str, int]], ranked: dict[str, dict[str, float]]
) -> int:
    """Values of the outside arm against pytrec_eval; a question that is not in the run counts 0. Returns how many."""
    theirs = pytrec_eval.RelevanceEvaluator(judged, set(THEIRS.values())).evaluate(ranked)
    ours = per_query[per_query["strategy"] == "bm25s"]
    for row in ours.itertuples():
        expected = theirs[row.qid][THEIRS[row.metric]] if row.qid in theirs else 0.0
        assert row.value == pytest.approx(expected, abs=1e-9), (row.metric, row.qid)
    return len(ours)


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in gzip.open(path, "rt", encoding="utf-8")]


def test_a_run_of_scifact_by_bm25s_joins_the_table(data, tmp_path):
    folder = data / "beir" / "scifact"
    documents = {row["_id"]: f"{row['title']} {row['text']}" for row in read_lines(folder / "corpus.jsonl.gz")}
    texts = {row["_id"]: row["text"] for row in read_lines(folder / "queries.jsonl.gz")}
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        qid, doc, grade = line.split("\t")
        judged.setdefault(qid, {})[doc] = int(grade)
    ranked = bm25s_run(tmp_path / "theirs.trec", documents, {qid: texts[qid] for qid in sorted(judged)[:-3]}, k=100)
    base = [f"benchmark.path={folder}", METRICS, f"artifacts={tmp_path / 'artifacts'}"]
    beside, arms = joined(tmp_path / "beside", tmp_path / "theirs.trec", *base, "suite.strategies=[bm25]")
    alone, _ = joined(tmp_path / "alone", tmp_path / "theirs.trec", *base, "suite=none")
    assert assert_equal(beside, judged, ranked) == len(THEIRS) * len(judged)
    assert assert_equal(alone, judged, ranked) == len(THEIRS) * len(judged)
    means = beside[beside["metric"] == "nDCG@10"].groupby("strategy")["value"].mean()
    assert means["bm25s"] > 0.6  # BEIR's paper has .665 for its BM25 on this collection
    assert means["bm25"] > 0.6
    assert arms["bm25s"]["backend"] == "outside run"
    assert "3 queries of the benchmark are not in the run" in arms["bm25s"]["notes"]


@pytest.fixture
def collection(tmp_path) -> Path:
    """Twelve documents; two have the same text, and so the same score for every question."""
    topics = ["saturation of term frequency", "cosine of two vectors", "fusion of ranked lists", "maximal relevance"]
    folder = tmp_path / "twelve"
    rows = [(f"d{n}", f"{topics[n % 4]} in paper {n}") for n in range(10)]
    rows += [("same text", "inverted lists of postings"), ("same%text", "inverted lists of postings")]
    write_lines(folder / "corpus.jsonl", [{"_id": name, "text": text} for name, text in rows])
    questions = {
        "q1": "postings lists",
        "q2": "cosine vectors",
        "q3": "zebra",
        "q 4": "term saturation",
        "q5": "fusion",
    }
    write_lines(folder / "queries.jsonl", [{"_id": qid, "text": text} for qid, text in questions.items()])
    (folder / "qrels").mkdir()
    judged = [("q1", "same text", 2), ("q1", "same%text", 1), ("q2", "d5", 1), ("q2", "d1", 0), ("q3", "d2", 1)]
    judged += [("q 4", "d4", 2), ("q 4", "d0", 1), ("q5", "d2", 1)]
    (folder / "qrels" / "test.tsv").write_text("".join(f"{qid}\t{doc}\t{grade}\n" for qid, doc, grade in judged))
    return folder


def test_ids_ties_and_questions_without_an_answer(collection, tmp_path):
    documents = {row["_id"]: row["text"] for row in map(json.loads, (collection / "corpus.jsonl").open())}
    questions = {row["_id"]: row["text"] for row in map(json.loads, (collection / "queries.jsonl").open())}
    judged: dict[str, dict[str, int]] = {}
    for line in (collection / "qrels" / "test.tsv").read_text().splitlines():
        qid, doc, grade = line.split("\t")
        judged.setdefault(qid, {})[doc] = int(grade)
    del questions["q5"]  # they left it out
    ranked = bm25s_run(tmp_path / "theirs.trec", documents, questions, k=12)
    assert "q3" not in ranked  # no document has its word
    blanks = {"same text": "same%20text", "same%text": "same%25text", "q 4": "q%204"}
    lines = (tmp_path / "theirs.trec").read_text()
    for name, written in sorted(blanks.items(), reverse=True):
        lines = lines.replace(f"{name} ", f"{written} ")
    marked = [line.replace(" Q0 ", " Q0% ") if "%" in line else line for line in lines.splitlines(keepends=True)]
    (tmp_path / "theirs.trec").write_text("".join(marked))
    base = [f"benchmark.path={collection}", METRICS, f"artifacts={tmp_path / 'artifacts'}"]
    beside, arms = joined(tmp_path / "beside", tmp_path / "theirs.trec", *base, "suite.strategies=[bm25]")
    alone, _ = joined(tmp_path / "alone", tmp_path / "theirs.trec", *base, "suite=none")
    assert assert_equal(beside, judged, ranked) == assert_equal(alone, judged, ranked) == len(THEIRS) * 5
    ours = beside[beside["strategy"] == "bm25s"].set_index(["metric", "qid"])["value"].sort_index()
    assert ours["nDCG@5", "q3"] == ours["nDCG@5", "q5"] == 0.0
    tied = sum(list(rows.values()).count(score) > 1 for rows in ranked.values() for score in rows.values())
    assert tied >= 2
    notes = arms["bm25s"]["notes"]
    assert f"{tied} rows share their score with another" in notes
    assert "2 queries of the benchmark are not in the run" in notes
    assert not any("not in the corpus" in note for note in notes)
    # q1: two equal texts; trec_eval shows the larger id first, 'same%text' (grade 1) before 'same text' (grade 2)
    assert ours["nDCG@5", "q1"] == pytest.approx((1 + 2 / 1.5849625007211562) / (2 + 1 / 1.5849625007211562))
