"""The top of rankings with grades, and where the passages stand."""

from __future__ import annotations

import numpy as np

from evaluation.arms import RAN, Arm
from evaluation.beir import load_beir, load_corpus
from evaluation.explain.shown import PASSAGES, SHOWN, passages, questions, shown
from evaluation.judging import Judged
from evaluation.qrels import id_qrels
from evaluation.schema import Benchmark, Qrels
from ingestion.schema import Corpus
from retrieval.schema import Queries, empty_run, make_run
from tests.unit.evaluation.papers import corpus_of, write_lines


def judged_of(corpus, ids=(), rows=((0, 1, 3), (0, 2, 0), (1, 0, 1))):
    query, chunk, grade = np.asarray(rows, dtype=np.int32).T
    group = np.where(grade > 0, 0, -1).astype(np.int32)
    qrels = Qrels(query, chunk, grade.astype(np.int8), group, np.zeros(len(rows), np.int64), np.ones(2, np.int32))
    queries = Queries.of(["q1", "q2"], ["one?", "two?"], kind=["numeric", ""], cluster=["a", ""])
    names = np.asarray([*corpus.chunk_ids, *ids], dtype=object)
    return Judged(Benchmark("hand", queries), corpus, names, qrels, None, {})


CORPUS = corpus_of({"a.pdf": ["alpha", "beta"], "b.pdf": ["gamma"]}, {"a.pdf": [(0, 5), (6, 10)]})


def test_the_top_of_every_ranking_with_its_own_grades():
    run = make_run([0, 0, 0, 1], [2, 1, 0, 3], [3.0, 2.0, 1.0, 1.0], 10)
    arms = [Arm("x", RAN, run=run), Arm("gone", "absent"), Arm("none", RAN, run=empty_run())]
    found = shown(arms, judged_of(CORPUS, ["out"]), 2)
    assert found.columns.tolist() == SHOWN
    assert found.to_numpy().tolist() == [
        ["x", "q1", 1, "b.pdf:0", 0],
        ["x", "q1", 2, "a.pdf:1", 3],
        ["x", "q2", 1, "out", -1],
    ]
    assert shown([], judged_of(CORPUS)).columns.tolist() == SHOWN


def test_questions_as_asked():
    rows = questions(judged_of(CORPUS)).to_numpy().tolist()
    assert rows == [["q1", "one?", "numeric", "a"], ["q2", "two?", "", "q2"]]


def test_passages_of_what_is_shown():
    chunks = CORPUS.chunks.to_pylist()
    chunks[1] |= {"page_start": 3, "page_end": 4, "section": "2 Method"}
    corpus = Corpus.of(CORPUS.chunks.from_pylist(chunks, CORPUS.chunks.schema), CORPUS.documents, CORPUS.pages)
    run = make_run([0, 0, 1, 1], [1, 2, 1, 3], [2.0, 1.0, 2.0, 1.0], 10)
    judged = judged_of(corpus, ["out"])
    top = shown([Arm("x", RAN, run=run)], judged)
    top.loc[len(top)] = ["y", "q1", 1, "of another chunking", -1]
    found = passages(judged, top)
    assert found.columns.tolist() == PASSAGES
    assert found.to_numpy().tolist() == [
        ["a.pdf:1", "a.pdf", "3-4", "2 Method", "beta"],
        ["b.pdf:0", "b.pdf", "1", "", "gamma"],
        ["out", "", "", "", ""],
    ]
    assert passages(judged, top[:0]).columns.tolist() == PASSAGES


def test_a_collection_without_pdfs_and_one_without_a_corpus(tmp_path):
    write_lines(
        tmp_path / "corpus.jsonl", [{"_id": "d1", "title": "One", "text": "text"}, {"_id": "d2", "text": "t"}]
    )
    write_lines(tmp_path / "queries.jsonl", [{"_id": "q1", "text": "one?"}])
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\tgone\t1\n")
    corpus, benchmark = load_corpus(tmp_path), load_beir(tmp_path, "test")
    run = make_run([0, 0, 0], [1, 0, 2], [3.0, 2.0, 1.0], 10)
    judged = Judged(benchmark, corpus, *id_qrels(benchmark, [], corpus.chunk_ids), None, {})
    top = shown([Arm("x", RAN, run=run)], judged)
    assert top[["chunk_id", "grade"]].to_numpy().tolist() == [["d2", -1], ["d1", 2], ["gone", 1]]
    assert passages(judged, top)[["chunk_id", "document", "pages", "text"]].to_numpy().tolist() == [
        ["d1", "d1", "1", "One text"],
        ["d2", "d2", "1", "t"],
        ["gone", "", "", ""],
    ]
    alone = Judged(benchmark, None, *id_qrels(benchmark, []), None, {})
    top = shown([Arm("x", RAN, run=make_run([0], [1], [1.0], 10))], alone)
    assert passages(alone, top).to_numpy().tolist() == [["gone", "", "", "", ""]]
