"""Rulings on claims, on values whose truth is known."""

import numpy as np
import pandas as pd
import pytest

from evaluation.beliefs.claims import ALPHAS, BELIEFS, Claim
from evaluation.beliefs.one_chunk import one_chunk_each
from evaluation.beliefs.ruling import rule, together
from evaluation.beliefs.values import Collection
from evaluation.grades import grade_matrix
from evaluation.metrics import ndcg
from evaluation.schema import Qrels
from retrieval.schema import Queries, make_run

ABOVE = Claim("a above b", {"a - b": {"a": 1.0, "b": -1.0}}, "RR", "above")
NOT_BELOW = Claim("a not below b", {"a - b": {"a": 1.0, "b": -1.0}}, "RR", "not below")


def ruling(claim: Claim, difference: float, spread: float = 0.05, n: int = 60):
    """A ruling on `n` documents whose values of a lead those of b by `difference` on average."""
    noise = np.random.default_rng(5).normal(0, spread, n)
    noise -= noise.mean()
    qids = [f"q{i}" for i in range(n)]
    values = pd.DataFrame({"a": 0.5 + difference + noise, "b": 0.5}, index=qids)
    return rule(claim, values, pd.Series(qids, index=qids), seed=1, flips=20_000)


@pytest.mark.parametrize(
    ("claim", "difference", "spread", "verdict"),
    [
        (ABOVE, 0.05, 0.05, "holds"),  # the error of the mean is .05 / sqrt(60) = .0065
        (ABOVE, -0.05, 0.05, "refuted"),
        (ABOVE, 0.0, 0.02, "refuted"),  # shown to be below .02: error .0026
        (ABOVE, 0.01, 0.2, "undecided"),  # error .026
        (ABOVE, 0.01, 0.02, "holds"),  # small, but shown to be above 0
        (NOT_BELOW, 0.0, 0.02, "holds"),
        (NOT_BELOW, -0.01, 0.02, "holds"),  # below 0, but within the margin
        (NOT_BELOW, -0.05, 0.05, "refuted"),
        (NOT_BELOW, -0.01, 0.2, "undecided"),
    ],
)
def test_verdicts(claim, difference, spread, verdict):
    found = ruling(claim, difference, spread)
    assert found.verdict == verdict
    assert found.diff == pytest.approx(difference)
    assert found.lo < difference < found.hi


def test_one_of_several_contrasts_is_enough_to_refute_and_all_are_needed_to_hold():
    qids = [f"q{i}" for i in range(40)]
    noise = np.random.default_rng(2).normal(0, 0.03, 40)
    values = pd.DataFrame({"a": 0.6 + noise, "low": 0.4, "high": 0.8, "equal": 0.6}, index=qids)
    clusters = pd.Series(qids, index=qids)

    def verdict(*others: str) -> str:
        claim = Claim("", {f"a - {o}": {"a": 1.0, o: -1.0} for o in others}, "RR", "above")
        found = rule(claim, values, clusters, seed=1, flips=20_000)
        assert found.contrast == f"a - {others[-1]}"  # the least one stands for all
        return found.verdict

    assert verdict("low") == "holds"
    assert verdict("low", "high") == "refuted"


def test_few_documents_and_missing_arms_are_not_tested():
    assert ruling(ABOVE, 0.5, n=9).why == "9 questions from 9 documents"
    found = rule(ABOVE, pd.DataFrame({"a": [1.0]}, index=["q"]), pd.Series(["d"], index=["q"]), 1)
    assert (found.verdict, found.why) == ("not tested", "b did not run")


def test_the_fall_along_alpha_is_the_least_squares_slope():
    fall = next(iter(BELIEFS[0].claims[1].contrasts.values()))
    values = {f"alpha={alpha:g}": 0.7 - 0.3 * alpha + (0.01 if alpha in (0.2, 0.8) else 0.0) for alpha in ALPHAS}
    slope = np.polyfit(ALPHAS, list(values.values()), 1)[0]
    assert sum(weight * values[arm] for arm, weight in fall.items()) == pytest.approx(-slope)


def test_nine_blends_stand_against_bm25_alone():
    blends = BELIEFS[0].claims[0].contrasts
    assert len(blends) == 9 and all(c["alpha=0"] == 1 and sum(c.values()) == 0 for c in blends.values())


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "undecided"], "undecided"),
        (["holds", "refuted"], "refuted"),
        (["holds", "not tested"], "undecided"),
        (["not tested", "not tested"], "not tested"),
    ],
)
def test_a_belief_is_as_strong_as_its_weakest_claim(verdicts, expected):
    assert together(verdicts) == expected


def test_coined_questions_are_a_kind_where_there_are_kinds_and_a_form_elsewhere():
    texts = ["what does ColBERTv2 store", "RM3 terms", "what is rank", "use of SVM"]
    clusters = ["a", "b", "c", "d"]
    plain = Collection("x", "test", Queries.of(list("1234"), texts, [""] * 4, ["test"] * 4, clusters), {})
    assert plain.where("coined") == {"1", "2", "4"}
    kinds = ["numeric", "jargon", "jargon", "multi_hop"]
    known = Collection("x", "test", Queries.of(list("1234"), texts, kinds, ["test"] * 4, clusters), {})
    assert known.where("coined") == {"2", "3"} and known.where("multi_hop") == {"4"} and len(known.where("")) == 4


def test_with_one_chunk_as_gold_a_copy_answers_nothing():
    """Chunks 0 and 1 both hold the span: by span either counts, by chunk id only the first of the best."""
    qrels = Qrels(
        *(np.asarray(c, dtype=t) for c, t in (([0, 0, 0], "int32"), ([0, 1, 2], "int32"), ([2, 3, 0], "int8"))),
        np.asarray([0, 0, -1], dtype="int32"),
        np.zeros(3, dtype="int64"),
        np.zeros(1, dtype="int32"),
    )
    gold = one_chunk_each(qrels)
    assert (gold.chunk.tolist(), gold.grade.tolist()) == ([1], [3])
    copy_first = make_run(np.asarray([0, 0]), np.asarray([0, 2]), np.asarray([2.0, 1.0]), 10)
    assert ndcg(grade_matrix(copy_first, gold, 1, "each"), 5)[0] == 0
    assert ndcg(grade_matrix(copy_first, qrels, 1, "once"), 5)[0] == pytest.approx(2 / 3)


def test_what_a_collection_lacks_is_said():
    queries = Queries.of(["q"], ["x"], [""], ["test"], ["d"])
    table = pd.DataFrame([("rrf", "q", "RR", 1.0)], columns=["strategy", "qid", "metric", "value"])
    found = Collection("x", "test", queries, {"beliefs": table})
    claims = {belief.key: belief.claims for belief in BELIEFS}
    assert found.lacks(claims["f"][0]) == "a document is one chunk"
    assert found.lacks(claims["a"][0]) == "no results x-alpha"
    assert found.lacks(claims["e"][0]) == "no gold for RelCov@5"
    assert found.lacks(claims["b"][0]) == ""
