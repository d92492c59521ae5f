"""Labels of citations and claims, worked out by hand on one page of 100 characters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from evaluation.answers.labels import label, label_claims
from evaluation.answers.questions import ABLE, CANNOT, UNKNOWN, Questions
from evaluation.answers.tables import CITATIONS
from evaluation.errors import EvaluationError
from evaluation.qrels import document_qrels
from evaluation.schema import Benchmark, DocumentJudgment
from retrieval.schema import Queries
from tests.unit.evaluation.answers.made import judged_of
from tests.unit.evaluation.papers import corpus_of, spans_of

TEXT = "".join(chr(ord("a") + at % 26) if at % 9 else "\n" for at in range(100))
CORPUS = corpus_of({"x.pdf": [TEXT], "y.pdf": ["The second paper, of two pages.", "Its last page."]})
QUERIES = Queries.of(["q1", "q2", "q3", "q4"], ["?"] * 4, ["", "", "unanswerable", ""], None, ["x", "x", "", "y"])
# Questions 0 to 3. Of question 0: grade 3 at 20-40 (part 0), grade 2 at 60-70 (part 1), grade 0 at 0-100.
SPANS = spans_of(
    *(
        (0, 0, 20, 40, 3),
        (0, 0, 60, 70, 2),
        (0, 0, 0, 100, 0),
        (1, 0, 50, 60, 1),
        (1, 0, 10, 20, 2),
        (2, 0, 0, 50, 0),
    ),
    part=[0, 1, -1, 0, 0, -1],
)
JUDGED = judged_of(CORPUS, SPANS, QUERIES)


def cited(qid, start, end, claim=1, doc="id-x.pdf", quote=None, context="retrieved"):
    text = TEXT[start:end].replace("\n", " ") if quote is None else quote
    return ("s", "g", context, qid, claim, "S1", 1, "x.pdf:0", doc, 1, start, end, text)


def labelled(*rows, judged=JUDGED):
    return label(pd.DataFrame(rows, columns=CITATIONS), judged)


@pytest.mark.parametrize(
    ("qid", "start", "end", "grade", "parts"),
    [
        ("q1", 20, 40, 3, 0b01),  # the judged span itself
        ("q1", 22, 25, 3, 0b01),  # a short citation within it
        ("q1", 10, 30, 3, 0b01),  # 10 of 20 characters of either: exactly half
        ("q1", 10, 29, 0, 0b00),  # 9 of 19 are less than half; the grade 0 around it holds it
        ("q1", 5, 65, 3, 0b11),  # 20 of the first span, 5 of 10 of the second: both parts
        ("q1", 62, 68, 2, 0b10),
        ("q1", 80, 90, 0, 0b00),
        ("q2", 50, 60, 1, 0b00),  # about the subject only
        ("q2", 30, 45, -1, 0b00),  # nothing of this question is judged there
        ("q3", 20, 40, 0, 0b00),
        ("q4", 0, 10, -1, 0b00),
    ],
)
def test_a_citation_has_the_best_grade_of_which_it_shares_half_of_the_shorter(qid, start, end, grade, parts):
    found = labelled(cited(qid, start, end)).iloc[0]
    assert (found["grade"], found["parts"]) == (grade, parts)
    assert found["relevant"] == (grade >= 2)
    assert found["length"] == end - start


def test_labels_agree_with_a_loop_over_all_pairs():
    rng = np.random.default_rng(0)
    spans = spans_of(
        *[
            (q, 0, s, s + n, g)
            for q, s, n, g in zip(*rng.integers([[0], [0], [1], [0]], [[4], [60], [40], [4]], (4, 60)), strict=True)
        ]
    )
    judged = judged_of(CORPUS, spans, QUERIES)
    rows = [
        cited(f"q{q + 1}", s, s + n)
        for q, s, n in zip(*rng.integers([[0], [0], [1]], [[4], [60], [40]], (3, 200)), strict=True)
    ]
    found = labelled(*rows, judged=judged)
    for row, grade in zip(found.itertuples(), found["grade"], strict=True):
        best = -1
        for at in range(len(spans.query)):
            shared = min(row.char_end, spans.end[at]) - max(row.char_start, spans.start[at])
            half = 0.5 * min(row.char_end - row.char_start, spans.end[at] - spans.start[at])
            if QUERIES.qid[spans.query[at]] == row.qid and shared > 0 and shared >= half:
                best = max(best, int(spans.grade[at]))
        assert grade == best


def test_quotes_are_compared_with_the_document_line_breaks_as_blanks():
    second = "The second paper"
    rows = (
        cited("q1", 20, 40),
        cited("q1", 20, 40, quote="something else"),
        cited("q4", 0, 16, 1, "id-y.pdf", second),
    )
    page_2 = cited("q4", 32, 46, 1, "id-y.pdf", "Its last page.")
    assert labelled(*rows, page_2)["verbatim"].tolist() == [True, False, True, True]
    with pytest.raises(EvaluationError, match="from 90 to 101 lies outside of its text, which has 100"):
        labelled(cited("q1", 90, 101, quote="x"))
    with pytest.raises(EvaluationError, match=r"the document 'id-z\.pdf'"):
        labelled(cited("q1", 0, 1, 1, "id-z.pdf"))


def test_a_claim_is_right_wrong_or_without_label():
    rows = [
        *(cited("q1", 20, 40, 1), cited("q1", 80, 90, 1), cited("q1", 80, 90, 2)),
        *(cited("q2", 30, 45, 1), cited("q2", 30, 45, 2), cited("q2", 10, 20, 2), cited("q3", 60, 70, 1)),
    ]
    claims = [("q1", 1), ("q1", 2), ("q1", 3), ("q2", 1), ("q2", 2), ("q3", 1)]
    table = pd.DataFrame([("s", "g", "retrieved", *claim) for claim in claims], columns=CITATIONS[:5])
    found = label_claims(table, labelled(*rows), Questions.of(JUDGED))
    # One relevant citation is enough; grade 0; cites nothing; unjudged alone; unjudged and relevant; unanswerable.
    np.testing.assert_array_equal(found["right"], [1, 0, 0, np.nan, 1, 0])
    assert found["cluster"].tolist() == ["x", "x", "x", "x", "x", "q3"]
    without = label_claims(table.assign(context="none"), labelled(*rows).iloc[:0], Questions.of(JUDGED))
    assert without["right"].isna().all()


def test_what_is_known_of_questions():
    found = Questions.of(JUDGED)
    assert found.table["state"].tolist() == [ABLE, ABLE, CANNOT, UNKNOWN]
    assert found.table["needed"].tolist() == [0b11, 0b1, 0, 0]
    assert found.least == 2
    binary = replace(SPANS, grade=np.minimum(SPANS.grade, 1))
    assert Questions.of(judged_of(CORPUS, binary, QUERIES)).least == 1


def test_a_collection_judged_by_document_grades_a_citation_by_its_chunk():
    judgments = (DocumentJudgment("q1", "id-x.pdf", 2), DocumentJudgment("q2", "id-y.pdf", 1))
    benchmark = Benchmark("b", QUERIES, documents=judgments)
    judged = replace(JUDGED, benchmark=benchmark, spans=None, qrels=document_qrels(benchmark, CORPUS))
    found = labelled(cited("q1", 0, 9), cited("q2", 0, 9), judged=judged)
    assert found["grade"].tolist() == [2, -1]
    assert Questions.of(judged).table["needed"].tolist() == [1, 0, 0, 0]
