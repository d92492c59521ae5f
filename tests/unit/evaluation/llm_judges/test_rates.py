"""Rates by generator, as judged and corrected, and what is printed and stored of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evaluation.llm_judges.asking import Failure, Votes
from evaluation.llm_judges.corrected import prediction_powered, rogan_gladen
from evaluation.llm_judges.items import Items
from evaluation.llm_judges.kinds import CORRECTNESS, FAITHFULNESS, PREFERENCE, Item, Kind
from evaluation.llm_judges.rates import Judged, rates, verdict_table
from evaluation.llm_judges.summary import shown, summarise
from evaluation.llm_judges.verdicts import Resampling
from evaluation.stats import wilson

HOW = Resampling(5, 500)
NONE = -1


def items_of(generator: str, n: int) -> list[Item]:
    return [Item(("bm25", generator, "retrieved", f"q{at}"), f"paper-{at}", {}) for at in range(n)]


def judged(kind: Kind, verdicts: list[int], labels: list[int]) -> Judged:
    items = tuple(items_of("grounded", len(verdicts) // 2) + items_of("small-1", len(verdicts) - len(verdicts) // 2))
    return Judged(kind, items, np.asarray(verdicts, np.int8), np.asarray(labels, np.int8))


def test_failed_items_count_nowhere():
    verdicts = [2, 2, 1, 0, NONE, 2, 2, 2, 2, 2]
    table = rates(judged(CORRECTNESS, verdicts, [NONE] * 10), HOW).set_index(["generator", "measure"])
    share = table.loc[("grounded", "correct")]
    assert (share["n"], share["failed"], share["verdicts"], share["mean"]) == (4, 1, "1/1/2", 0.5)
    assert (share["lo"], share["hi"]) == pytest.approx(tuple(float(end) for end in wilson(2, 4)))
    assert share["note"] == "too few documents"
    assert table.loc[("grounded", "score"), "mean"] == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    assert table.loc[("small-1", "correct"), "mean"] == 1.0
    assert "ppi" not in table.columns


def test_all_calls_of_a_generator_may_fail():
    table = rates(judged(FAITHFULNESS, [NONE, NONE, 1, 0], [NONE, 1, 1, NONE]), HOW)
    assert table["n"].tolist() == [0, 2]
    assert np.isnan(table["mean"][0])
    assert np.isnan(table["ppi"][0])


def test_corrections_use_all_labels_for_the_judge_and_own_ones_for_the_generator():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 200)
    said = np.where(rng.random(200) < 0.85, truth, 1 - truth)
    labels = np.where(rng.random(200) < 0.4, truth, NONE)
    found = judged(FAITHFULNESS, said.tolist(), labels.tolist())
    table = rates(found, HOW).set_index("generator")
    values, known = said.astype(float), np.where(labels == NONE, np.nan, labels)
    clusters, own = np.asarray(found.clusters), np.arange(200) < 100
    powered = prediction_powered(values[own], known[own], clusters[own])
    gladen = rogan_gladen(values, known, clusters, own)
    row = table.loc["grounded"]
    assert (row["ppi"], row["ppi_lo"], row["ppi_hi"]) == (powered.value, powered.lo, powered.hi)
    assert (row["corrected"], row["corrected_lo"], row["corrected_hi"]) == (gladen.value, gladen.lo, gladen.hi)
    assert row["labelled"] == int((labels[:100] != NONE).sum())


def test_a_preference_is_a_share_and_a_score_with_ties_as_halves():
    items = tuple(Item(("bm25", "a", "b", "retrieved", f"q{at}"), f"p{at}", {}) for at in range(4))
    table = rates(Judged(PREFERENCE, items, np.asarray([2, 1, 0, 2], np.int8), np.full(4, NONE, np.int8)), HOW)
    assert table["measure"].tolist() == ["a preferred", "score"]
    assert table["mean"].tolist() == [0.5, 0.625]
    assert table["verdicts"].tolist() == ["1/1/2"] * 2


def test_the_table_of_items_shows_votes_as_they_were_cast():
    items = (Item(("bm25", "a", "b", "retrieved", "q0"), "p0", {}),)
    votes = np.asarray([[[2, 2, -1], [0, 1, 0]]], np.int8)
    table = verdict_table(
        Judged(PREFERENCE, items, np.asarray([1], np.int8), np.asarray([2], np.int8)), votes, [("why", "so")]
    )
    assert table.to_dict("records") == [
        {
            "strategy": "bm25",
            "generator_a": "a",
            "generator_b": "b",
            "context": "retrieved",
            "qid": "q0",
            "cluster": "p0",
            "verdict": "tie",
            "label": "a",
            "votes": "2,2,-|0,1,0",
            "reason": "why",
        }
    ]


def test_what_must_be_known_is_said_and_stored():
    items = tuple(Item(("bm25", "grounded", "judge-7", "retrieved", f"q{at}"), f"p{at}", {}) for at in range(4))
    votes = np.asarray([[[2, 2], [2, 2]], [[2, 2], [0, 0]], [[1, 1], [2, 1]], [[-1, -1], [0, 0]]], np.int8)
    failures = tuple(Failure(items[3].key, 0, repeat, "overloaded") for repeat in (0, 1))
    cast = Votes(votes, (("x",),) * 4, failures, 16, 0, 0)
    found = summarise(
        "llm:anthropic/direct:judge-7", PREFERENCE, Items(items, {"pairs": 3}), cast, np.full(4, NONE, np.int8), HOW
    )
    said = shown(found)
    assert "2 calls failed and count nowhere" in said
    assert "bm25 grounded judge-7 retrieved q3, order 1, repeat 2: overloaded" in said
    assert "left out: 3 pairs" in said
    assert "position bias: 0.333 [0.061 0.792] of 3 pairs flip" in said  # Wilson for 1 of 3
    assert "(1 toward the first shown, 0 toward the second)" in said
    assert "judge-7 seems to be the judge's own model" in said
    assert "no hand labels" in said
    stored = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert stored["judged"] == 3
    assert stored["position"] == pytest.approx(
        {"n": 3, "share": 1 / 3, "lo": 0.0615, "hi": 0.7923, "toward_first": 1, "toward_second": 0}, abs=1e-4
    )
    assert stored["failures"][1]["key"][-1] == "q3"
    assert stored["self_agreement"]["raw"]["value"] == pytest.approx(12 / 14)
    assert stored["labels"] is None
