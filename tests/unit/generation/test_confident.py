"""Confidence of claims that a model made: as of the extracts that it quotes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scipy.special import expit

from generation.confident import Judge
from generation.generator import Tools
from generation.generators.grounded import Grounded
from generation.pipeline import ContextSpec, retrieved
from generation.schema import HIGH, LOW, MEDIUM, Answer, Claim, Evidence
from generation.words import Rarity
from retrieval.build import build_strategy, strategy_config
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.unit.generation.bundled import bundled, confidence, logistic, questions, rarity, shipped
from tests.unit.generation.sources import evidence

RARITY = Rarity({"bm25": 2.0, "satur": 1.0, "cosin": 1.0}, 4.0)
FOUND = evidence(
    "BM25 saturates with the number of occurrences. Cosine similarity is a ratio of two norms.",
    "Cosine similarity saturates at no point at all.",
    question="Does BM25 saturate?",
)
FIRST, SECOND = FOUND.sources
COVERS = FIRST.cite(0, 46)  # both words of the question: coverage 1
NOTHING = FIRST.cite(47, 89)  # none of them
HALF = SECOND.cite(0, 47)  # `satur`, 1 of 3
JUDGE = Judge(FOUND, RARITY, confidence(logistic(-1.0, coverage=3.0)))


def judged(*places):
    return JUDGE.claim(Claim("It does.", places))


def test_a_claim_is_as_likely_as_its_quote():
    assert COVERS.quote == "BM25 saturates with the number of occurrences."
    found = judged(COVERS)
    assert (found.probability, found.level, found.rule) == (pytest.approx(expit(2), abs=1e-6), HIGH, HIGH)
    found = judged(HALF)  # rank 2, but its score is .5, and a third is covered
    assert (found.probability, found.level, found.rule) == (pytest.approx(expit(0), abs=1e-6), MEDIUM, MEDIUM)
    found = judged(NOTHING)
    assert (found.probability, found.level) == (pytest.approx(expit(-1), abs=1e-6), LOW)


def test_the_best_of_several_quotes_counts():
    assert judged(NOTHING, COVERS, HALF) == replace(judged(COVERS), citations=(NOTHING, COVERS, HALF))


def test_a_claim_without_a_quote_is_not_to_be_relied_on():
    found = judged()
    assert (found.probability, found.level, found.rule) == (0.0, LOW, LOW)


def test_what_a_generator_is_sure_of_stays():
    own = Claim("It does.", (NOTHING,), 0.99, HIGH, MEDIUM)
    assert JUDGE.claim(own) is own
    answer = JUDGE.answer(Answer(FOUND.question, (own,), FOUND.sources, answerable=0.25))
    assert (answer.claims, answer.answerable) == ((own,), 0.25)


def test_answerability_is_of_the_evidence_and_not_of_the_answer():
    few = JUDGE.answer(Answer(FOUND.question, (), FOUND.sources, refused=True, reason="so"))
    many = JUDGE.answer(Answer(FOUND.question, (Claim("It does.", (NOTHING,)),), FOUND.sources))
    assert few.answerable == many.answerable == 0.5  # a model without weights
    nothing = Judge(Evidence("Does it?", ()), RARITY, JUDGE.confidence)
    assert nothing.answer(Answer("Does it?", (), ())).answerable is None


def test_extracts_judged_as_quotes_are_as_likely_as_the_offline_generator_says():
    """The two ways to a probability agree: the same words at the same place, whoever took them."""
    ctx = Context(bundled().corpus, bundled().store, remember=False)
    asked = questions()[:40]
    queries = Queries.of([f"q{at:03}" for at in range(len(asked))], list(asked))
    stage = build_strategy(strategy_config("bm25"))
    compared = 0
    for own in retrieved(ctx, stage, queries, ContextSpec()):
        made = Grounded().answer(own, Tools(rarity(), shipped()))
        judge = Judge(own, rarity(), shipped())
        for claim in made.claims:
            if len(claim.citations) == 1:
                again = judge.claim(replace(claim, probability=None, level=LOW, rule=LOW))
                assert again == claim
                compared += 1
        assert judge.answer(replace(made, answerable=None)).answerable == (made.answerable if own.sources else None)
    assert compared > 30
