"""Whether the passages that a generator was given hold an answer, and what was refused all the same; by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from evaluation.answers.labels import passages_hold
from evaluation.answers.refusals import chosen
from evaluation.answers.tables import ANSWERS
from evaluation.stats import wilson
from retrieval.schema import Queries
from tests.unit.evaluation.answers.made import judged_of
from tests.unit.evaluation.papers import corpus_of, spans_of

CORPUS = corpus_of({"x.pdf": ["a" * 100]}, {"x.pdf": [(0, 50), (50, 100)]})
QUERIES = Queries.of(["q1", "q2"], ["?", "??"], None, None, ["x", "x"])
# Question 0: evidence in the first chunk, a relevant judged quote in the second; question 1: nothing that counts.
JUDGED = replace(
    judged_of(CORPUS, spans_of((0, 0, 20, 40, 3), (1, 0, 0, 10, 1)), QUERIES),
    extracts=spans_of((0, 0, 60, 70, 2), (1, 0, 60, 70, 1)),
)
QUESTIONS = pd.DataFrame(
    {"state": ["answerable"] * 4 + ["unanswerable"]}, index=pd.Index(["a", "b", "c", "d", "e"], name="qid")
)


def test_a_passage_holds_an_answer_by_its_grade_or_by_a_judged_quote_in_it():
    chunks = [str(name) for name in CORPUS.chunk_ids]
    first, second = sorted(chunks, key=lambda name: CORPUS.numbers("char_start")[CORPUS.row_of[name]])
    query = np.asarray([0, 0, 1, 1])
    assert passages_hold(JUDGED, query, [first, second, first, second], 2).tolist() == [True, True, False, False]
    without = replace(JUDGED, extracts=None)
    assert passages_hold(without, query, [first, second, first, second], 2).tolist() == [True, False, False, False]
    assert passages_hold(JUDGED, np.zeros(0, np.int64), [], 2).tolist() == []


def test_despite_counts_answerable_questions_whose_passages_hold_an_answer():
    rows = [("a", True, 1.0), ("b", False, 1.0), ("c", True, 0.0), ("d", False, 1.0), ("e", True, 1.0)]
    answers = pd.DataFrame(
        [("s", "g", "retrieved", qid, no, "", 0, "", 0.0, 0, 0, 0.0, False, 0.5, held, "") for qid, no, held in rows],
        columns=ANSWERS,
    )
    questions = type("Known", (), {"table": QUESTIONS})()
    empty = pd.DataFrame(columns=["strategy", "generator", "threshold", "coverage", "risk"])
    found = chosen(answers, questions, empty, 0.95).iloc[0]
    assert (found["wrong"], found["answerable"]) == (0.5, 4)  # a and c of four
    assert (found["despite"], found["held"]) == (pytest.approx(1 / 3), 3)  # a of a, b and d
    lo, hi = wilson([1], [3], 0.95)
    assert [found["despite_lo"], found["despite_hi"]] == pytest.approx([lo[0], hi[0]])
