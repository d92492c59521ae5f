"""Lift, generators and rank 1: pairs by hand, intervals and p-values by the machinery that they come from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from evaluation.answers.compared import against_first, generators, lift
from evaluation.answers.questions import Questions
from evaluation.answers.values import VALUES
from evaluation.families import holm
from evaluation.randomise import sign_flips
from evaluation.stats import intervals
from retrieval.schema import Queries
from tests.unit.evaluation.answers.made import RULES, SETTINGS

N = 24
QIDS = [f"q{at:02d}" for at in range(N)]
QUERIES = Queries.of(QIDS, QIDS, None, None, [f"d{at % 12:02d}" for at in range(N)])
OURS = replace(RULES, primary="answer F1")


def values_of(*arms):
    """Rows of strategy, generator, context, metric and the values of all questions; NaN has no row."""
    parts = [
        pd.DataFrame(
            {
                "strategy": s,
                "generator": g,
                "context": c,
                "qid": QIDS,
                "metric": m,
                "value": np.asarray(v, dtype=float),
            }
        )
        for s, g, c, m, v in arms
    ]
    return pd.concat(parts, ignore_index=True).dropna()[VALUES]


def drawn(seed, centre):
    return np.clip(np.random.default_rng(seed).normal(centre, 0.15, N), 0, 1)


def test_lift_pairs_contexts_and_corrects_them_together():
    with_, none, oracle = drawn(0, 0.6), drawn(1, 0.2), drawn(2, 0.7)
    table = values_of(
        ("bm25", "g", "retrieved", "answer F1", with_),
        ("bm25", "g", "none", "answer F1", none),
        ("bm25", "g", "oracle", "answer F1", oracle),
        ("bm25", "g", "retrieved", "citation precision", with_),
    )
    found = lift(table, QUERIES, OURS, 0)
    assert found[["strategy", "generator", "a", "b", "metric"]].to_numpy().tolist() == [
        ["bm25", "g", "retrieved", "none", "answer F1"],
        ["bm25", "g", "oracle", "retrieved", "answer F1"],
    ]
    want = intervals(np.round(np.stack([with_ - none, oracle - with_]), 12), QUERIES.cluster, 0, 500)
    np.testing.assert_array_equal(
        found[["diff", "lo", "hi"]].to_numpy(float), np.stack([want.mean, want.lo, want.hi], 1)
    )
    p = sign_flips(np.stack([with_, none, oracle]), np.asarray([[0, 1], [2, 0]]), QUERIES.cluster, 0, 2000)
    np.testing.assert_array_equal(found["p"], p)
    np.testing.assert_array_equal(found["p_adjusted"], holm(p))
    assert found["wins"].tolist() == [int((with_ > none).sum()), int((oracle > with_).sum())]
    assert found["verdict"][0] == "higher"
    assert found["sentence"][0].startswith(
        "g with retrieved evidence (bm25) is higher than g without evidence (bm25)"
    )


def test_contexts_that_all_strategies_share():
    table = values_of(
        ("bm25", "g", "retrieved", "answer F1", drawn(0, 0.6)),
        ("rrf", "g", "retrieved", "answer F1", drawn(1, 0.6)),
        ("", "g", "none", "answer F1", drawn(2, 0.2)),
    )
    found = lift(table, QUERIES, OURS, 0)
    assert found[["strategy", "a", "b"]].to_numpy().tolist() == [
        ["bm25", "retrieved", "none"],
        ["rrf", "retrieved", "none"],
    ]
    assert found["n"].tolist() == [N, N]


def test_generators_meet_on_the_context_of_one_strategy_only():
    table = values_of(
        ("a", "x", "retrieved", "answer F1", drawn(0, 0.5)),
        ("a", "y", "retrieved", "answer F1", drawn(1, 0.5)),
        ("b", "x", "retrieved", "answer F1", drawn(2, 0.5)),
        ("a", "x", "none", "answer F1", drawn(5, 0.5)),
        ("a", "y", "none", "answer F1", drawn(6, 0.5)),
    )
    found = generators(table, QUERIES, OURS, 0)
    assert found[["strategy", "context", "a", "b"]].to_numpy().tolist() == [["a", "retrieved", "x", "y"]]
    assert found["diff"][0] == pytest.approx((drawn(0, 0.5) - drawn(1, 0.5)).mean())


def test_pairs_without_a_common_question_are_left_out_and_take_no_verdict_from_others():
    half = np.where(np.arange(N) < 12, 0.9, np.nan)
    table = values_of(
        ("a", "x", "retrieved", "answer F1", half),
        ("a", "y", "retrieved", "answer F1", np.where(np.isnan(half), 0.1, np.nan)),
        ("a", "z", "retrieved", "answer F1", drawn(3, 0.2)),
    )
    found = generators(table, QUERIES, OURS, 0)
    assert found[["a", "b", "n"]].to_numpy().tolist() == [["x", "z", 12], ["y", "z", 12]]
    assert found["verdict"][0] == "higher"


def test_against_rank_1_only_where_both_answered():
    ours = np.where(np.arange(N) % 3 == 0, np.nan, 0.75)
    first = np.where(np.arange(N) % 4 == 0, np.nan, 0.5)
    state = np.where(np.arange(N) < 20, "answerable", "unanswerable")
    questions = Questions(
        pd.DataFrame({"state": state, "cluster": QUERIES.cluster}, index=pd.Index(QIDS, name="qid")), 2
    )
    table = values_of(
        ("a", "g", "retrieved", "citation precision", np.where(np.arange(N) < 20, ours, 0.0)),
        ("a", "first", "retrieved", "citation precision", np.where(np.arange(N) < 20, first, 0.0)),
        ("b", "g", "retrieved", "citation precision", ours),
    )
    by_passage = table.assign(metric="source precision", value=1 - table["value"])
    found = against_first(pd.concat([by_passage, table]), questions, 0, SETTINGS)
    assert found["metric"].tolist() == ["citation precision"] * 2 + ["source precision"] * 2
    np.testing.assert_allclose(found["diff"][:2], -found["diff"][2:])  # 1 - a - (1 - b) is b - a
    found = found[:2]
    both = int((np.arange(20) % 3 > 0)[np.arange(20) % 4 > 0].sum())
    assert both == 10
    assert found[["strategy", "questions", "n"]].to_numpy().tolist() == [
        ["a", "all", both + 4],
        ["a", "answerable", both],
    ]
    assert found["diff"].tolist() == pytest.approx([0.25 * both / (both + 4), 0.25])
    assert found["lo"][1] == found["hi"][1] == 0.25


def test_nothing_to_compare():
    table = values_of(("a", "g", "retrieved", "answer F1", drawn(0, 0.5)))
    assert lift(table, QUERIES, OURS, 0).empty
    assert generators(table, QUERIES, OURS, 0).empty
    assert "sentence" in lift(table, QUERIES, OURS, 0)
