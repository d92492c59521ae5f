"""Judged extracts: how they are read, when they decide on a citation, and what a cited passage is worth by them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evaluation.answers.labels import grades, label
from evaluation.answers.tables import CITATIONS
from evaluation.benchmark import BenchmarkSpec, load_benchmark
from evaluation.errors import BenchmarkError, OrphanError
from evaluation.judging import prepare, read_inputs
from evaluation.request import read_request
from evaluation.schema import Evidence
from ingestion.artifacts import ArtifactStore
from ingestion.config import load
from retrieval.schema import Queries
from tests.unit.evaluation.answers.made import judged_of
from tests.unit.evaluation.papers import corpus_of, spans_of, write_lines

CUTS = [(0, 50), (50, 100)]
CORPUS = corpus_of({"x.pdf": ["a" * 100]}, {"x.pdf": CUTS})
QUERIES = Queries.of(["q1", "q2"], ["?", "??"], None, None, ["x", "x"])
# Evidence of question 0: 20-40 with grade 3. Judged quotes of it: 20-30 grade 0, 60-70 grade 2, 80-90 grade 1.
SPANS = spans_of((0, 0, 20, 40, 3), (1, 0, 0, 10, 1))
EXTRACTS = spans_of((0, 0, 20, 30, 0), (0, 0, 60, 70, 2), (0, 0, 80, 90, 1), (1, 0, 60, 70, 3))
JUDGED = replace(judged_of(CORPUS, SPANS, QUERIES), extracts=EXTRACTS)


def graded(*places: tuple[int, int], query: int = 0, extracts=EXTRACTS):
    start, end = np.asarray(places, dtype=np.int64).T
    rows = np.full(len(places), query, dtype=np.int64), np.zeros(len(places), dtype=np.int64)
    grade, parts = grades(replace(JUDGED, extracts=extracts), *rows, start, end, 2)
    return list(zip(grade.tolist(), parts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("start", "end", "grade", "parts"),
    [
        (20, 30, 0, 0),  # somebody judged just this, and said no: the evidence around it does not count
        (20, 40, 3, 1),  # 10 of 20 shared with the extract: not the same stretch, so the evidence decides
        (20, 36, 0, 0),  # 10 of 16 is .625
        (20, 37, 3, 1),  # 10 of 17 is .588
        (30, 40, 3, 1),  # touches the extract and shares nothing with it
        (60, 70, 2, 0),  # nobody judged evidence here; the quote itself is right
        (62, 70, 2, 0),  # 8 of 10
        (64, 72, -1, 0),  # 6 of 12 is .5
        (80, 90, 1, 0),
    ],
)
def test_the_extract_that_is_the_same_stretch_decides_upwards_and_downwards(start, end, grade, parts):
    assert graded((start, end)) == [(grade, parts)]


def test_of_two_extracts_the_more_alike_decides_and_of_equals_the_better():
    two = spans_of((0, 0, 60, 70, 3), (0, 0, 60, 74, 0))
    assert graded((60, 70), extracts=two) == [(3, 0)]
    assert graded((60, 73), extracts=two) == [(0, 0)]  # 13 of 14 against 10 of 13
    assert graded((62, 72), extracts=spans_of((0, 0, 60, 70, 1), (0, 0, 64, 74, 2))) == [(2, 0)]  # 8 of 12 each


def test_an_extract_speaks_for_its_own_question_only():
    assert graded((60, 70), query=1) == [(3, 0)]
    assert graded((80, 90), query=1) == [(-1, 0)]


def test_grades_agree_with_a_loop_over_all_pairs():
    rng = np.random.default_rng(3)

    def drawn(n):
        start = rng.integers(0, 80, n)
        return rng.integers(0, 2, n), start, start + rng.integers(3, 20, n), rng.integers(0, 4, n)

    spans, extracts = (spans_of(*zip(q, [0] * 25, s, e, g, strict=True)) for q, s, e, g in (drawn(25), drawn(25)))
    judged = replace(judged_of(CORPUS, spans, QUERIES), extracts=extracts)
    query, start, end, _ = drawn(200)
    found, _ = grades(judged, query, np.zeros(200, np.int64), start, end, 2)
    for q, s, e, grade in zip(query, start, end, found, strict=True):
        best, alike = -1, (0.0, -1)
        for at in range(25):
            shared = min(e, spans.end[at]) - max(s, spans.start[at])
            if spans.query[at] == q and shared > 0 and 2 * shared >= min(e - s, spans.end[at] - spans.start[at]):
                best = max(best, int(spans.grade[at]))
            shared = min(e, extracts.end[at]) - max(s, extracts.start[at])
            if extracts.query[at] == q and shared > 0:
                union = max(e, extracts.end[at]) - min(s, extracts.start[at])
                alike = max(alike, (shared / union, int(extracts.grade[at])))
        assert grade == (alike[1] if alike[0] >= 0.6 else best)


def test_a_cited_passage_counts_wherever_in_it_the_quote_stands():
    def cited(start, end, chunk, qid="q1"):
        return (
            "s",
            "g",
            "retrieved",
            qid,
            1,
            "S1",
            1,
            f"x.pdf:{chunk}",
            "id-x.pdf",
            1,
            start,
            end,
            "a" * (end - start),
        )

    rows = [cited(0, 10, 0), cited(20, 30, 0), cited(90, 99, 1), cited(60, 70, 1), cited(0, 50, 0, "q2")]
    table = pd.DataFrame(rows, columns=CITATIONS)
    found = label(table, JUDGED)
    assert found["relevant"].tolist() == [False, False, False, True, False]
    # The first chunk holds the evidence of q1; the second its quote of grade 2, whoever cites which part of it.
    assert found["source_relevant"].tolist() == [True, True, True, True, False]
    assert label(table, replace(JUDGED, extracts=None))["source_relevant"].tolist() == [
        True,
        True,
        False,
        False,
        False,
    ]


def folder(tmp_path, *extracts):
    evidence = [{"qid": "q", "doc": "x.pdf", "page": 1, "quote": "the judged words", "grade": 3}]
    write_lines(tmp_path / "queries.jsonl", [{"qid": "q", "question": "what?"}])
    write_lines(tmp_path / "evidence.jsonl", evidence)
    if extracts:
        write_lines(tmp_path / "extracts.jsonl", extracts)
    return BenchmarkSpec(path=str(tmp_path))


def extract(quote="a quote", qid="q", grade=2):
    return {"qid": qid, "doc_name": "x.pdf", "page": 1, "quote": quote, "grade": grade, "source": "hand"}


def test_extracts_are_read_beside_the_evidence_and_do_not_touch_its_digest(tmp_path):
    without = load_benchmark(folder(tmp_path), "test")
    found = load_benchmark(folder(tmp_path, extract(), extract("another", qid="elsewhere")), "test")
    assert (without.extracts, found.digest) == ((), without.digest)
    assert found.extracts == (Evidence("q", "x.pdf", 1, -1, -1, "a quote", 2, "hand"),)
    assert found.evidence == without.evidence
    with pytest.raises(BenchmarkError, match=r"extracts\.jsonl, line 1"):
        load_benchmark(folder(tmp_path, {**extract(), "grade": "high"}), "test")


def test_extracts_that_are_not_in_the_corpus_are_refused_with_their_number(tmp_path):
    (tmp_path / "pdf").mkdir()
    shutil.copy(sorted((Path(__file__).parents[4] / "corpus" / "pdf").glob("*.pdf"))[0], tmp_path / "pdf" / "x.pdf")
    write_lines(tmp_path / "queries.jsonl", [{"qid": "q", "question": "what?"}])
    write_lines(tmp_path / "evidence.jsonl", [{"qid": "q", "doc": "x.pdf", "page": 1, "quote": "", "grade": 3}])
    write_lines(tmp_path / "extracts.jsonl", [extract("words that stand nowhere in it")])
    overrides = [f"benchmark.path={tmp_path}", f"corpus.path={tmp_path / 'pdf'}", f"artifacts={tmp_path / 'a'}"]
    overrides += ["strategy=bm25", "tracking=none"]
    request = read_request(load(overrides), overrides, {})
    with pytest.raises(OrphanError, match="1 of 1 are not in it"):
        prepare(request, read_inputs(request), ArtifactStore(request.artifacts))
