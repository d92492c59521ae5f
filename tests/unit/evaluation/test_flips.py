"""Queries that flip, and two rankings side by side."""

from __future__ import annotations

import pandas as pd
import pytest

from evaluation.errors import RequestError
from evaluation.explain.flips import flips, paired, side_by_side

PER_QUERY = pd.DataFrame(
    [
        (strategy, qid, metric, value)
        for metric in ("nDCG@5", "RR")
        for strategy, values in {
            "bm25": {"q1": 0.5, "q2": 1.0, "q3": 0.2, "q4": 0.1 + 0.2, "q5": 0.0},
            "rrf": {"q1": 0.0, "q2": 0.5, "q3": 0.9, "q4": 0.3, "q6": 1.0},
        }.items()
        for qid, value in values.items()
    ],
    columns=["strategy", "qid", "metric", "value"],
)


def test_largest_difference_first_and_ties_by_qid():
    found = flips(PER_QUERY[::-1], "nDCG@5", "bm25", "rrf")
    # q1 and q2 both .5; q4 differs by 5e-17 only; q5 and q6 have one value each
    assert found.to_numpy().tolist() == [["q3", 0.2, 0.9, -0.7], ["q1", 0.5, 0.0, 0.5], ["q2", 1.0, 0.5, 0.5]]
    assert paired(PER_QUERY, "RR", "rrf", "bm25")["diff"].tolist() == [-0.5, -0.5, 0.7, 0.0]
    assert flips(PER_QUERY, "RR", "rrf", "rrf").empty


@pytest.mark.parametrize(
    ("metric", "a", "message"),
    [
        ("nDCG@50", "bm25", "metric 'nDCG@50' is not in these results; did you mean 'nDCG@5'"),
        ("RR", "bm52", "strategy 'bm52' is not in these results; did you mean 'bm25'"),
    ],
)
def test_wrong_names_offer_the_nearest(metric, a, message):
    with pytest.raises(RequestError, match=message):
        flips(PER_QUERY, metric, a, "rrf")


SHOWN = pd.DataFrame(
    [
        ("bm25", "q1", 1, "c1", 3), ("bm25", "q1", 2, "c2", -1), ("bm25", "q1", 3, "c3", 0),
        ("rrf", "q1", 1, "c2", -1), ("rrf", "q1", 2, "out", -1), ("rrf", "q2", 1, "c1", 2),
    ],
    columns=["strategy", "qid", "rank", "chunk_id", "grade"],
)  # fmt: skip
PASSAGES = pd.DataFrame(
    [
        ("c1", "a.pdf", "3", "Method", "alpha beta"),
        ("c2", "b.pdf", "3-4", "", "word " * 100),
        ("c3", "a.pdf", "1", "", "gamma"),
        ("out", "", "", "", ""),
    ],
    columns=["chunk_id", "document", "pages", "section", "text"],
)


def test_two_rankings_side_by_side():
    lines = side_by_side(SHOWN, PASSAGES, "q1", "bm25", "rrf", k=2, n=3, width=105).splitlines()
    assert lines[0].split() == ["bm25", "|", "rrf"]
    assert [part.strip() for part in lines[2].split("|")] == [
        "1. [grade 3] a.pdf, page 3  (other: -)",
        "1. [unjudged] b.pdf, page 3-4  (other: 2)",
    ]
    assert lines[3].startswith("   alpha beta")
    ends = next(at for at, line in enumerate(lines) if "the top 2 ends here" in line)
    assert lines[ends + 1].startswith("3. [grade 0] a.pdf, page 1  (other: -)")
    assert "2. [unjudged] out  (other: -)" in "\n".join(lines[:ends])
    assert max(map(len, lines)) <= 105
    assert sum(line.count("word") for line in lines) < 2 * 100  # cut
    assert "ends here" not in side_by_side(SHOWN, PASSAGES, "q1", "bm25", "rrf", k=3)
    assert "neither found anything" in side_by_side(SHOWN, PASSAGES, "q9", "bm25", "rrf", k=3)
