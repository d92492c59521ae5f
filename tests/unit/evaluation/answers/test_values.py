"""Every metric of a handful of answers, worked out by hand: what a refusal, a failure and an empty context count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evaluation.answers.labels import label
from evaluation.answers.questions import Questions
from evaluation.answers.tables import ANSWERS, CITATIONS, CLAIMS, Tables
from evaluation.answers.values import METRICS, summarise, values
from evaluation.stats import intervals
from retrieval.schema import Queries
from tests.unit.evaluation.answers.made import SETTINGS, judged_of
from tests.unit.evaluation.papers import corpus_of, spans_of

#       0         1         2         3         4         5
TEXT = "Fusion adds ranks. Sixty is usual. It helps. No more is known."
RANKS, SIXTY, HELPS, MORE = (0, 18), (19, 34), (35, 44), (45, 62)
CORPUS = corpus_of({"x.pdf": [TEXT]})
QUERIES = Queries.of(
    ["fused", "open", "usual", "whole"],
    ["What does fusion add?", "Who asks?", "What is usual?", "What helps, and what is usual?"],
    ["single_hop", "", "numeric", "multi_hop"],
    None,
    ["x"] * 4,
)
UNANSWERABLE = Queries.of(
    [*QUERIES.qid, "never"],
    [*QUERIES.query, "What is unknown?"],
    [*QUERIES.kind, "unanswerable"],
    None,
    [*QUERIES.cluster, ""],
)
# Sorted by qid: fused 0, never 1, open 2, usual 3, whole 4. Of `open` nothing relevant is judged.
SPANS = spans_of(
    *((0, 0, *RANKS, 3), (1, 0, *HELPS, 0), (2, 0, *HELPS, 1), (3, 0, *SIXTY, 3), (4, 0, *HELPS, 2)),
    *((4, 0, *SIXTY, 3),),
    part=[0, -1, 0, 0, 0, 1],
)
ANSWERED = {"fused": "It adds ranks.", "usual": "Sixty, 60."}
JUDGED = judged_of(CORPUS, SPANS, UNANSWERABLE, answers={**ANSWERED, "whole": "It helps; sixty."})
QUESTIONS = Questions.of(JUDGED)


def tables_of(said, context="retrieved"):
    """`said`: by qid the claims as lists of cited places, None for a refusal, an error as text for a failure."""
    answers, claims, citations = [], [], []
    for qid, cited in said.items():
        key = ("s", "g", context, qid)
        failed, refused = isinstance(cited, str), cited is None
        parts = [] if failed or refused else cited
        texts = [" ".join(TEXT[slice(*at)] for at in places) or "Out of thin air." for places in parts]
        usage = (0.1, 10, 5, 0.0, False, 0.5, 1.0, cited if failed else "")
        answers.append((*key, refused, "", len(parts), " ".join(texts), *usage))
        for number, (places, text) in enumerate(zip(parts, texts, strict=True), 1):
            claims.append((*key, number, text, "LOW", "LOW", 0.5, bool(places)))
            citations += [(*key, number, "S1", 1, "x.pdf:0", "id-x.pdf", 1, *at, TEXT[slice(*at)]) for at in places]
    frames = (answers, ANSWERS), (claims, CLAIMS), (citations, CITATIONS)
    return Tables.of(*(pd.DataFrame(rows, columns=names) for rows, names in frames), UNANSWERABLE.qid)


def found(said, context="retrieved"):
    """Value by qid and metric."""
    tables = tables_of(said, context)
    table = values(tables, label(tables.citations, JUDGED, QUESTIONS), QUESTIONS)
    return {qid: dict(zip(rows["metric"], rows["value"], strict=True)) for qid, rows in table.groupby("qid")}


def test_answers_by_hand():
    got = found({"fused": [[RANKS, MORE]], "whole": [[SIXTY], [MORE], []], "usual": [[SIXTY]], "open": [[HELPS]]})
    # One of two citations is relevant, the other unjudged; the quotes hold the claim.
    assert got["fused"] == {
        "citation precision": 0.5,
        "citation precision judged": 1.0,
        "source precision": 1.0,  # the one chunk holds all spans
        "citation recall": 1.0,
        # fusion adds ranks no more is known | it adds ranks: two shared of 7 and of 3
        "answer F1": pytest.approx(2 * 2 / (7 + 3)),
        "answer exact": 0.0,
        "faithfulness": 1.0,
        "supported claims": 1.0,
        "verbatim": 1.0,
        "refusal accuracy": 1.0,
        "refused": 0.0,
        "cited characters": 35.0,
    }
    # Two parts are needed, one is covered; of three claims one cites nothing.
    assert got["whole"]["citation recall"] == 0.5
    assert got["whole"]["citation precision"] == 0.5
    assert got["whole"]["supported claims"] == got["whole"]["faithfulness"] == pytest.approx(2 / 3)
    assert "numbers" not in got["whole"]  # no numeric question
    assert got["usual"]["numbers"] == 1.0
    # Nobody knows whether this one can be answered, and it has no reference.
    assert set(got["open"]) == {"faithfulness", "supported claims", "verbatim", "refused", "cited characters"}


def test_refusals_by_hand():
    got = found({"fused": None, "usual": None, "never": None, "open": None})
    nothing = {"citation recall": 0.0, "answer F1": 0.0, "answer exact": 0.0, "refusal accuracy": 0.0, "refused": 1.0}
    assert got["fused"] == nothing
    assert got["usual"] == {**nothing, "numbers": 0.0}
    assert got["never"] == {"refusal accuracy": 1.0, "refused": 1.0}
    assert got["open"] == {"refused": 1.0}


def test_an_unanswerable_question_that_is_answered():
    got = found({"never": [[HELPS]]})["never"]
    assert got["citation precision"] == got["citation precision judged"] == got["refusal accuracy"] == 0.0
    assert got["source precision"] == 0.0
    assert "citation recall" not in got
    assert "answer F1" not in got


def test_an_answer_without_citations_has_no_precision_to_speak_of():
    got = found({"fused": [[]]})["fused"]
    assert (got["citation precision"], got["citation recall"], got["supported claims"]) == (0.0, 0.0, 0.0)
    assert got["source precision"] == 0.0
    assert "citation precision judged" not in got
    assert "verbatim" not in got


def test_without_context_only_the_text_and_the_refusal_count():
    got = found({"fused": [[]], "never": None}, context="none")
    assert set(got["fused"]) == {"answer F1", "answer exact", "refusal accuracy", "refused"}
    assert got["never"] == {"refusal accuracy": 1.0, "refused": 1.0}


def test_a_failed_call_has_no_value():
    got = found({"fused": "CapacityError: busy", "usual": [[SIXTY]]})
    assert list(got) == ["usual"]


def test_the_summary_is_the_mean_of_the_values_with_the_interval_of_their_clusters():
    tables = tables_of({"fused": [[RANKS]], "usual": None, "never": [[HELPS]], "whole": [[SIXTY]]})
    table = values(tables, label(tables.citations, JUDGED, QUESTIONS), QUESTIONS)
    assert list(dict.fromkeys(table["metric"])) == [name for name in METRICS if name in set(table["metric"])]
    summary = summarise(table, QUESTIONS, 7, SETTINGS).set_index("metric")
    recall = summary.loc["citation recall"]
    assert (recall["n"], recall["mean"], recall["note"]) == (3, 0.5, "too few documents")  # 1, 0 and 1/2
    accuracy = np.asarray([[1.0, 0.0, np.nan, 0.0, 1.0]])
    want = intervals(accuracy, QUESTIONS.table["cluster"].to_numpy(str), 7, 500, binary=[True])
    assert summary.loc["refusal accuracy", ["mean", "lo", "hi"]].tolist() == [0.5, want.lo[0], want.hi[0]]
    assert summary.loc["refusal accuracy", "clusters"] == 2
