"""The fit of confidence on questions whose truth is known, and the examples that it learns from."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.special import logit
from scipy.stats import rankdata

from evaluation.answers.examples import PLACE, examples
from evaluation.answers.fit import _recalibrated, fit
from evaluation.answers.fitted import apply
from evaluation.answers.fitting import fit_logistic
from evaluation.answers.questions import Questions
from evaluation.errors import EvaluationError
from generation.confidence import Confidence
from generation.extracts import quotes_of
from generation.features import Asked, claim_features, document_shares
from generation.schema import Evidence
from tests.unit.evaluation.answers.lessons import lessons, rarity_of, sample, shuffled

ROOT = Path(__file__).parents[4]
JUDGED = lessons()
RARITY, QUESTIONS = rarity_of(JUDGED), Questions.of(JUDGED)


@pytest.fixture(scope="module")
def own():
    return sample(JUDGED)


@pytest.fixture(scope="module")
def model(own):
    return fit([own], QUESTIONS, RARITY, 0, 0.15)


def fitted(*samples, most_wrong=0.15):
    return fit(samples, QUESTIONS, RARITY, 0, most_wrong)


def chance_of_order(score, label):
    """Chance that a right one scores above a wrong one (Mann and Whitney), ties half."""
    ranks, right = rankdata(score), label == 1
    n = right.sum()
    return (ranks[right].sum() - n * (n + 1) / 2) / (n * (len(right) - n))


def test_examples_are_every_extract_with_its_features_and_grade(own):
    rows = own.table.to_dict("records")
    at = 0
    for number, evidence in enumerate(own.evidence):
        asked = Asked(evidence.question, RARITY)
        shares = document_shares(asked, evidence.sources)
        for source in evidence.sources:
            passage = source.passage
            for extract in quotes_of(passage).extracts:
                row, spans = rows[at], JUDGED.spans
                at += 1
                assert [row[name] for name in PLACE[:4]] == [
                    number,
                    *(JUDGED.benchmark.queries.qid[number],),
                    f"p{number // 5:02d}",
                    source.id,
                ]
                wanted = claim_features(asked, extract, source, shares[passage.doc_name])
                assert {name: row[name] for name in row if name not in PLACE} == wanted
                grade = -1
                for k in range(len(spans.query)):
                    low, high = int(spans.start[k]), int(spans.end[k])
                    shared = min(extract.end, high) - max(extract.start, low)
                    same = spans.query[k] == number and f"p{spans.doc[k]:02d}.pdf" == passage.doc_name
                    if same and shared > 0 and 2 * shared >= min(extract.end - extract.start, high - low):
                        grade = max(grade, int(spans.grade[k]))
                assert row["grade"] == grade
    assert at == len(rows)


def test_no_extract_at_all_is_said():
    with pytest.raises(EvaluationError, match="can be quoted"):
        examples([Evidence(question, ()) for question in JUDGED.benchmark.queries.query], JUDGED, RARITY)


def test_the_claim_model_tells_right_extracts_from_wrong_ones(own, model):
    probability = apply(model["claim"], own.table)
    right = (own.table["grade"] >= 2).to_numpy(float)
    assert chance_of_order(probability, right) > 0.9
    assert model["claim"]["features"]["coverage"]["weight"] > 0
    # Of 48 answerable questions the sentence that says all is right in 40, the other one in 8.
    best = own.table.assign(p=probability).sort_values("p").groupby("qid").tail(1)
    able = best[~best["qid"].isin(QUESTIONS.table.index[QUESTIONS.table["state"] == "unanswerable"])]
    assert (able["grade"] >= 2).mean() == pytest.approx(40 / 48)


def test_probabilities_of_chosen_claims_mean_what_they_say(own, model):
    seen = model["fitted"]
    assert seen["extracts"] == len(own.table)
    assert (seen["questions"], seen["documents"], seen["arms"]) == (60, 12, ["made"])
    assert seen["labelled"] == int((own.table["grade"] >= 0).sum())
    share = seen["right claims"] / seen["claims"]
    assert seen["brier"] < share * (1 - share)  # better than the overall rate for all


def test_questions_without_an_answer_are_refused_and_the_threshold_keeps_its_promise(model):
    seen = model["fitted"]
    assert seen["area"] > 0.9
    assert seen["refused right"] == 1.0
    assert seen["refused wrong"] <= 0.15
    assert fitted(sample(JUDGED), most_wrong=0.0)["fitted"]["refused wrong"] == 0.0
    assert Confidence.read(model).refuse == model["refuse"]
    assert (model["high"], model["medium"]) == (0.8, 0.5)


def test_recalibration_is_one_model_that_says_what_both_steps_say():
    rng = np.random.default_rng(5)
    table = sample(JUDGED).table.drop(columns=list(PLACE))
    labels, clusters = (rng.random(len(table)) < 0.3).astype(int), [f"d{at % 9}" for at in range(len(table))]
    claim = fit_logistic(table, labels, clusters, 0)
    first = apply(claim.model, table)
    scaled = fit_logistic(table.assign(logit=logit(first))[["logit"]], (rng.random(len(table)) < first), clusters, 0)
    both = apply(scaled.model, {"logit": logit(first)})
    np.testing.assert_allclose(apply(_recalibrated(claim.model, scaled.model), table), both, atol=2e-5)


def test_the_order_of_rows_and_samples_changes_no_bit(own, model):
    assert fitted(shuffled(own, 3)) == model
    two, other = replace(own, arm="another"), fitted(own, replace(own, arm="another"))
    assert other == fitted(shuffled(two, 4), own)
    assert other["fitted"]["arms"] == ["another", "made"]


def test_another_hash_seed_changes_no_bit(model):
    code = (
        "import yaml\nfrom evaluation.answers.fit import fit\nfrom evaluation.answers.questions import Questions\n"
        "from tests.unit.evaluation.answers.lessons import lessons, rarity_of, sample\njudged = lessons()\n"
        "print(yaml.safe_dump(fit([sample(judged)], Questions.of(judged), rarity_of(judged), 0, 0.15)))"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(
        command, cwd=ROOT, env={"PYTHONHASHSEED": "4711"}, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == yaml.safe_dump(model).strip()


def test_too_little_to_learn_from_is_said(own):
    with pytest.raises(EvaluationError, match="two at least"):
        fitted(replace(own, table=own.table[own.table["cluster"] == "p00"]))
    with pytest.raises(EvaluationError, match="labels 0 and 1"):
        fitted(replace(own, table=own.table.assign(grade=0)))
    answerable = own.table[~own.table["qid"].isin(QUESTIONS.table.index[QUESTIONS.table["state"] == "unanswerable"])]
    with pytest.raises(EvaluationError, match="labels 0 and 1"):
        fitted(replace(own, table=answerable))
