"""Pools, their files, and judgments that come back from them."""

from __future__ import annotations

import csv
import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.errors import RequestError
from evaluation.judging import Judged
from evaluation.locate import Library, locate
from evaluation.options import RefusedError, read_options
from evaluation.pool.__main__ import main
from evaluation.pool.evidence_file import EvidenceFile
from evaluation.pool.file import Passage, PoolError, read_judgments, read_pool, write_pool
from evaluation.pool.importing import _refuse, plan
from evaluation.pool.pooling import (
    chunks_of,
    judged_shares,
    pairs_of,
    passages,
    pool,
    queries_of,
    unjudged,
    with_pool,
)
from evaluation.qrels import span_qrels
from evaluation.schema import Benchmark, Evidence
from retrieval.schema import Queries, Run, make_run
from tests.unit.evaluation.papers import corpus_of, write_lines

PAGES = ["alpha beta gamma delta. epsilon zeta", "eta theta. iota kappa lambda mu."]
WHOLE = "\n".join(PAGES)
CUTS = [(0, 23), (24, 47), (48, len(WHOLE))]  # the second chunk runs over the page break at 36


def judged_corpus(*evidence: Evidence) -> Judged:
    corpus = corpus_of({"p.pdf": PAGES, "other.pdf": ["nothing here"]}, {"p.pdf": CUTS})
    queries = Queries.of(["q1", "q2"], ["what is alpha", "what is mu"], cluster=["p", "p"])
    benchmark = Benchmark("x", queries, evidence=evidence)
    spans = locate(benchmark, corpus)
    return Judged(benchmark, corpus, corpus.chunk_ids, span_qrels(spans, corpus, 2), spans, {})


def evidence(qid: str, quote: str, grade: int = 3, source: str = "llm:x") -> Evidence:
    return Evidence(qid, "p.pdf", 1, -1, -1, quote, grade, source)


def run(judged: Judged, *rankings: list[str]) -> Run:
    assert judged.corpus is not None
    row_of = judged.corpus.row_of
    rows = [(query, row_of[name], -rank) for query, order in enumerate(rankings) for rank, name in enumerate(order)]
    return make_run(*np.asarray(rows).T, 10)


def ids(judged: Judged, pairs: np.ndarray) -> list[tuple[int, str]]:
    names = [str(judged.ids[chunk]) for chunk in chunks_of(pairs)]
    return list(zip(queries_of(pairs).tolist(), names, strict=True))


def test_the_pool_is_the_union_of_the_tops_and_lists_what_nobody_judged():
    judged = judged_corpus(evidence("q1", "alpha beta gamma delta."), evidence("q2", "epsilon zeta eta theta.", 0))
    runs = {
        "a": run(judged, ["p.pdf:0", "p.pdf:1", "p.pdf:2"], ["p.pdf:2"]),
        "b": run(judged, ["p.pdf:2", "p.pdf:0"], ["p.pdf:1", "other.pdf:0", "p.pdf:0"]),
    }
    pairs = pool(runs, k=2)
    everything = {(0, "p.pdf:0"), (0, "p.pdf:1"), (0, "p.pdf:2"), (1, "p.pdf:2"), (1, "p.pdf:1"), (1, "other.pdf:0")}
    assert set(ids(judged, pairs)) == everything
    new = unjudged(pairs, judged.qrels)  # grade 0 is a judgment too
    assert set(ids(judged, new)) == everything - {(0, "p.pdf:0"), (1, "p.pdf:1")}


def test_judged_at_k_before_and_after():
    judged = judged_corpus(evidence("q1", "alpha beta gamma delta."))
    runs = {
        "a": run(judged, ["p.pdf:0", "p.pdf:1"], ["p.pdf:2"]),
        "b": run(judged, ["p.pdf:2", "p.pdf:0"], ["p.pdf:1", "p.pdf:2"]),
    }
    assert judged_shares(runs, judged.qrels, 2, 2) == {"a": 0.25, "b": 0.25}  # 1/2 and 0, 1/2 and 0
    later = with_pool(pool({"a": runs["a"]}, 2), judged, 0.5)
    # a is judged whole; of b question 1 lacks chunk 2, question 2 lacks chunk 1: 1/2 and 1/2.
    assert judged_shares(runs, later, 2, 2) == {"a": 1.0, "b": 0.5}
    assert later.grade.max() == 3
    by_document = replace(judged, spans=None)
    assert judged_shares(runs, with_pool(pool({"a": runs["a"]}, 2), by_document, 0.5), 2, 2) == {"a": 1.0, "b": 0.5}


def test_rows_are_blind_and_their_order_depends_on_nothing_but_question_and_passage():
    judged = judged_corpus()
    names = ["p.pdf:0", "p.pdf:1", "p.pdf:2", "other.pdf:0"]
    one = passages(pool({"a": run(judged, names, names)}, 4), judged)
    other = passages(pool({"b": run(judged, names[::-1], names[::-1])}, 4), judged)
    assert one == other
    fewer = passages(pool({"a": run(judged, names[:2], names[:2])}, 4), judged)
    assert [row for row in one if row.chunk_id in names[:2]] == fewer
    place = {"page", "char_start", "char_end"}
    told = {"qid", "query", "chunk_id", "doc_name", "quote", "grade", "comment", "source"}
    assert {field.name for field in fields(Passage)} == place | told  # neither rank nor strategy
    assert [row.qid for row in one] == ["q1"] * 4 + ["q2"] * 4
    orders = [[row.chunk_id for row in one if row.qid == qid] for qid in ("q1", "q2")]
    assert orders[0] != orders[1]


def test_a_row_over_two_pages_is_found_again_in_any_extraction():
    judged = judged_corpus()
    row = next(row for row in passages(pool({"a": run(judged, ["p.pdf:1"])}, 1), judged))
    assert (row.page, row.char_start, row.char_end, row.quote) == (1, 24, 47, "epsilon zeta\neta theta.")
    said = Evidence("q1", row.doc_name, row.page, row.char_start, row.char_end, row.quote, 1, "hand")
    assert judged.corpus is not None
    library = Library(judged.corpus)
    assert library.find(said) == (library.row("p.pdf"), 24, 47)
    moved = corpus_of({"p.pdf": ["A new first page.", "alpha beta gamma delta.  epsilon zeta", "eta theta. iota"]})
    place = Library(moved).find(said)
    assert place is not None
    text = "\n".join(moved.pages["text"].to_pylist())
    assert text[place[1] : place[2]] == "epsilon zeta\neta theta."


def test_outside_ids_without_a_text_are_left_out():
    judged = judged_corpus()
    pairs = pairs_of(np.asarray([0, 0], np.int32), np.asarray([0, 99], np.int32))
    assert len(passages(pairs, judged)) == 1


PASSAGE = Passage("007", 'what; is, "it"?', "c1", "p.pdf", 1, 0, 23, "alpha beta gamma delta.")


@pytest.mark.parametrize("name", ["pool.jsonl", "pool.csv"])
def test_a_pool_comes_back_as_it_was_written(tmp_path, name):
    rows = [PASSAGE, replace(PASSAGE, qid="q2", quote="=SUM(A1) and \n ümläut", char_start=-1, char_end=-1)]
    write_pool(tmp_path / name, rows)
    assert read_pool(tmp_path / name) == rows
    write_pool(tmp_path / name, rows)  # the same bytes again are no loss
    with pytest.raises(PoolError, match="may hold judgments"):
        write_pool(tmp_path / name, rows[:1])
    with pytest.raises(PoolError, match="no such file"):
        read_pool(tmp_path / "elsewhere.csv")


def test_a_spreadsheet_neither_calculates_nor_changes_a_row(tmp_path):
    path = tmp_path / "pool.csv"
    write_pool(path, [replace(PASSAGE, quote="=1+1", comment="@x")])
    rows = list(csv.reader(path.open(encoding="utf-8-sig")))
    assert [cell for cell in rows[1] if cell.startswith(("=", "+", "-", "@"))] == []
    filled = [dict(zip(rows[0], rows[1], strict=True)) | {"grade": "2"}]
    with (tmp_path / "filled.csv").open("w", encoding="utf-8-sig", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0], delimiter=";")  # as spreadsheets of many countries save it
        writer.writeheader()
        writer.writerows(filled)
    found = read_judgments(tmp_path / "filled.csv", "hand")
    assert found.rows == (replace(PASSAGE, quote="=1+1", comment="@x", grade=2, source="hand"),)


def test_of_a_judgment_file_the_last_row_of_each_source_counts(tmp_path):
    row = {"qid": "q", "query": "", "chunk_id": "c", "doc_name": "p.pdf", "page": 1, "quote": "alpha"}
    lines = [
        row | {"grade": 1, "source": "hand:a"},
        row | {"grade": 3, "source": "hand:b"},
        row | {"grade": 2, "source": "hand:a"},
        row | {"grade": 1, "source": "hand:c"},
        row | {"grade": None, "source": "hand:c", "undo": True},
        row | {"grade": 7},
    ]
    path = write_lines(tmp_path / "p.judgments.jsonl", lines)
    path.write_text(path.read_text() + '{"qid": "q", "gra')  # a crash
    found = read_judgments(path)
    assert [(row.source, row.grade) for row in found.rows] == [("hand:a", 2), ("hand:b", 3)]
    assert found.open == 1
    assert len(found.problems) == 1
    assert "line 6" in found.problems[0]


@pytest.fixture
def benchmark(tmp_path) -> Path:
    folder = tmp_path / "bench"
    questions = [{"qid": qid, "query": qid, "split": split} for qid, split in (("q1", "test"), ("q2", "dev"))]
    write_lines(folder / "queries.jsonl", questions)
    old = {"qid": "q1", "doc_name": "p.pdf", "page": 1, "quote": "alpha  beta gamma", "grade": 3, "source": "hand"}
    (folder / "evidence.jsonl").write_text(json.dumps(old | {"part": "a"}) + "\n\n" + json.dumps(old | {"qid": "q2"}))
    return folder


def row(qid: str, quote: str, grade: int, source: str = "hand") -> Passage:
    return Passage(qid, "", "c", "p.pdf", 1, -1, -1, quote, grade, source=source)


def test_judgments_are_added_with_their_place_and_nothing_else_changes(benchmark):
    corpus = judged_corpus().corpus
    target = EvidenceFile.open(benchmark)
    before = (benchmark / "evidence.jsonl").read_text()
    rows = [row("q2", "epsilon zeta eta theta.", 0), row("q1", "iota kappa lambda mu.", 2, "llm:m")]
    found = plan(rows, target, corpus)
    assert not found.problems
    target.add(found.new)
    target.write()
    after = (benchmark / "evidence.jsonl").read_text()
    assert after.startswith(before)
    added = [json.loads(line) for line in after[len(before) :].splitlines() if line]
    assert added == [
        {"qid": "q2", "doc_name": "p.pdf", "page": 1, "char_start": 24, "char_end": 47,
         "quote": "epsilon zeta eta theta.", "grade": 0, "source": "hand", "part": ""},
        {"qid": "q1", "doc_name": "p.pdf", "page": 2, "char_start": 11, "char_end": 32,
         "quote": "iota kappa lambda mu.", "grade": 2, "source": "llm:m", "part": ""},
    ]  # fmt: skip
    assert plan(rows, EvidenceFile.open(benchmark), corpus).known == 2  # a second import adds nothing


def test_rows_are_refused_with_their_reason(benchmark):
    corpus, target = judged_corpus().corpus, EvidenceFile.open(benchmark)
    rows = [
        row("q9", "alpha beta gamma", 1),
        row("q1", "words that are nowhere in these papers", 1),
        row("q1", "alpha beta gamma", 1),  # graded 3 by hand, found although blanks differ
        row("q1", "delta. epsilon zeta", 1, "someone"),
        row("q2", "iota kappa lambda mu.", 1),
        row("q2", "iota  kappa lambda mu.", 2),
    ]
    found = plan(rows, target, corpus)
    assert [problem.split(": ")[-1].split(";")[0] for problem in found.problems] == [
        f"no such question in {target.path}",
        "not in the corpus",
        "hand gave grade 3 too",
        "source 'someone' must be hand, hand:<name>, llm:<model> or imported:<set>",
        "hand gave grade 1 too",
    ]
    assert len(found.new) == 1
    with pytest.raises(RefusedError, match="5 rows are refused, nothing was written"):
        _refuse(benchmark, found.problems)


def test_another_grade_of_the_same_source_replaces_the_old_one_only_when_told(benchmark):
    corpus, target = judged_corpus().corpus, EvidenceFile.open(benchmark)
    rows = [row("q1", "alpha beta gamma", 1), row("q1", "alpha beta gamma", 0, "hand:b")]
    found = plan(rows, target, corpus, replace_old=True)
    assert (len(found.changed), len(found.new)) == (1, 1)  # another source is another judgment
    target.change(found.changed)
    target.add(found.new)
    target.write()
    lines = (benchmark / "evidence.jsonl").read_text().split("\n")
    changed = json.loads(lines[0])
    assert (changed["grade"], changed["part"], changed["char_start"]) == (1, "a", 0)
    assert json.loads(lines[2])["grade"] == 3  # of q2
    assert [json.loads(line)["grade"] for line in lines if line] == [1, 3, 0]


def test_questions_that_hold_their_evidence_keep_every_other_line(tmp_path):
    corpus = judged_corpus().corpus
    path = tmp_path / "questions.jsonl"
    untouched = '{"question":   "spelt by hand"}'
    path.write_text(f'\ufeff{{"qid": "q1", "question": "a", "note": "mine"}}\n{untouched}\n')
    target = EvidenceFile.open(path)
    target.add(plan([row("q1", "iota kappa lambda mu.", 2)], target, corpus).new)
    target.write()
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    assert lines[1] == untouched
    first = json.loads(lines[0])
    assert first["note"] == "mine"
    assert first["evidence"] == [
        {"doc": "p.pdf", "page": 2, "char_start": 11, "char_end": 32, "quote": "iota kappa lambda mu.", "grade": 2,
         "source": "hand"}
    ]  # fmt: skip
    again = EvidenceFile.open(path)
    found = plan([row("q1", "iota kappa lambda mu.", 3)], again, corpus, replace_old=True)
    again.change(found.changed)
    again.write()
    assert json.loads(path.read_text(encoding="utf-8-sig").splitlines()[0])["evidence"][0]["grade"] == 3


def test_arguments_are_checked(tmp_path, capsys):
    assert main(["--help"]) == 0
    for arguments, hint in (
        ([], "runs is missing"),
        (["runs=x", "strategy=bm25"], "did you mean 'strategies'?"),
        (["runs=x", "k=0"], "whole number from 1"),
        (["runs=x", "out=pool.xlsx"], ".jsonl or .csv"),
        (["runs=x", "unjudged=maybe"], "true or false"),
        ([f"runs={tmp_path}"], "no results folder"),
        (["import=x.csv"], "into is missing"),
        (["import=x.csv", f"into={tmp_path}"], "queries.jsonl"),
        (["import=x.csv", "into=x", "source=me"], "hand:<name>"),
    ):
        assert main(arguments) == 2, arguments
        assert hint in capsys.readouterr().err, arguments
    with pytest.raises(RequestError, match="given twice"):
        read_options(["k=1", "k=2"], ["k"])
    options = read_options(["x=[a, b,a]", "outside.z=f", "corpus.path=p", "word"], ["x", "outside."], ["corpus"])
    assert options.names("x") == ("a", "b")
    assert (options.below("outside."), options.overrides, options.words) == (
        {"z": "f"},
        ("corpus.path=p",),
        ("word",),
    )
