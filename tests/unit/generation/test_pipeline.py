"""From questions to answers: evidence in order, confidence on the way, failures that stay apart."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from scipy.special import expit

from generation.errors import CapacityError
from generation.generator import SILENT, Listener, Tools
from generation.pipeline import ContextSpec, answer, each, gathered, retrieved, unaided
from generation.schema import Answer, Claim, Evidence
from generation.words import Rarity
from retrieval.build import build_strategy, strategy_config
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.unit.generation.bundled import bundled, confidence, logistic
from tests.unit.generation.sources import evidence, passage

TOOLS = Tools(Rarity({"bm25": 2.0, "satur": 1.0}, 4.0), confidence(logistic(-1.0, coverage=3.0)))
FOUND = evidence("BM25 saturates with the number of occurrences.", question="Does BM25 saturate?")


def context() -> Context:
    return Context(bundled().corpus, bundled().store, remember=False)


class Model:
    """A generator that quotes the first source, and remembers."""

    def answer(self, evidence: Evidence, tools: Tools, listener: Listener = SILENT) -> Answer:
        time.sleep(0.01)
        claim = Claim("It does.", (evidence.sources[0].cite(0, 46),))
        listener.on_claim(claim)
        return Answer(evidence.question, (claim,), evidence.sources, generator="model")

    def from_memory(self, question: str, tools: Tools) -> Answer:
        return Answer(question, (Claim("It does, I think.", ()),), (), generator="memory")


@pytest.mark.parametrize("wrong", [{"passages": 0}, {"sources": 0}, {"budget": 0}, {"similar": 0}, {"similar": 1.1}])
def test_what_becomes_evidence_is_checked(wrong):
    with pytest.raises(ValueError, match="must be"):
        ContextSpec(**wrong)


def test_evidence_is_of_the_first_passages_within_the_limits():
    ranked = [passage(f"Text number {at} is of {'many ' * at}words.", at) for at in range(1, 7)]
    spec = ContextSpec(passages=4, sources=3, budget=100)
    (found,) = gathered(context(), ["?"], [ranked], spec, lambda text: len(text.split()))
    assert [source.passage.rank for source in found.sources] == [1, 2, 3]
    assert [(left.rank, left.reason) for left in found.left_out] == [(4, "beyond the limit of 3 sources")]
    assert (found.tokens, found.relations) == (7 + 8 + 9, ())


def test_evidence_comes_in_the_order_of_the_questions():
    asked = ["What does the Silent Chunk Rule forbid?", "zzzq xwvvk", "What is a floor inversion?"]
    queries = Queries.of(["q1", "q2", "q3"], asked)
    stage = build_strategy(strategy_config("bm25"))
    found = retrieved(context(), stage, queries, ContextSpec(passages=3))
    assert [own.question for own in found] == asked
    assert [len(own.sources) + len(own.left_out) for own in found] == [3, 0, 3]
    single = retrieved(context(), stage, Queries.of(["q"], asked[2:]), ContextSpec(passages=3))
    assert single == found[2:]


def test_relations_come_with_the_graph_mode_only():
    asked = ["How do BM25 and TF-IDF compare?"]
    with_graph = gathered(context(), asked, [[]], ContextSpec(graph_mode="relations"))
    assert with_graph[0].relations
    assert all("BM25" in line or "TF-IDF" in line for line in with_graph[0].relations)
    assert gathered(context(), asked, [[]], ContextSpec())[0].relations == ()


def test_an_answer_has_confidence_and_its_seconds_and_the_listener_hears_the_same():
    told: list[Claim] = []
    made = answer(Model(), FOUND, TOOLS, Listener(on_claim=told.append))
    assert made.claims[0].probability == pytest.approx(expit(2), abs=1e-6)
    assert (made.claims[0].level, made.answerable) == ("HIGH", 0.5)
    assert tuple(told) == made.claims
    assert 0.01 <= made.usage.seconds < 1


def test_without_sources_a_generator_is_asked_for_what_it_remembers():
    assert unaided(Model(), FOUND, TOOLS) == Answer(
        FOUND.question, (Claim("It does, I think.", ()),), (), generator="memory"
    )


def test_who_cannot_remember_is_asked_without_sources():
    class Offline:
        def answer(self, evidence: Evidence, tools: Tools, listener: Listener = SILENT) -> Answer:
            return Answer(evidence.question, (), evidence.sources, refused=True, reason="no passage was retrieved")

    made = unaided(Offline(), FOUND, TOOLS)
    assert (made.refused, made.sources, made.question) == (True, (), FOUND.question)


@pytest.mark.parametrize("workers", [1, 4])
def test_answers_keep_their_order_and_a_failure_stays_alone(workers):
    many = [replace(FOUND, question=str(at)) for at in range(12)]
    threads: set[int] = set()

    def ask(own: Evidence) -> Answer:
        threads.add(threading.get_ident())
        time.sleep(0.02 if int(own.question) % 3 == 0 else 0)
        if own.question == "5":
            raise CapacityError("overloaded")
        return Answer(own.question, (), ())

    found = each(ask, many, workers)
    assert [one.question for one in found if isinstance(one, Answer)] == [str(at) for at in range(12) if at != 5]
    assert isinstance(found[5], CapacityError)
    assert (len(threads) > 1) is (workers > 1)


def test_a_fault_of_ours_is_not_taken_for_a_failed_answer():
    def ask(own: Evidence) -> Answer:
        raise KeyError("a fault")

    for workers in (1, 2):
        with pytest.raises(KeyError):
            each(ask, [FOUND], workers)
