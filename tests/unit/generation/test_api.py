"""Answers from Python: what holds for every answer over the bundled corpus, and what is refused beforehand."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from generation import pipeline
from generation.api import Answerer, Route, answer
from generation.errors import RequestError
from generation.generator import Listener
from generation.pipeline import ContextSpec, retrieved
from generation.quotes import Folded
from generation.schema import LEVELS, Answer, Claim, Usage
from generation.visible import without_hidden
from ingestion.config import ROOT
from ingestion.errors import ConfigError, IngestionError
from retrieval.api import Searcher
from retrieval.build import build_strategy, strategy_config
from retrieval.errors import FilterError, StrategyNotFoundError
from retrieval.filters import Where
from retrieval.schema import Queries
from retrieval.stage import Context
from tests.unit.evaluation.papers import corpus_of
from tests.unit.generation.asking import forget_keys
from tests.unit.generation.bundled import bundled, flat, page_begins, questions, rarity, shipped, texts

SAMPLE = 25
QUESTION = "What does the Silent Chunk Rule forbid?"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch, tmp_path):
    """No key of the machine and no `.env` of the checkout."""
    forget_keys(monkeypatch)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module", params=["bm25", "rrf_graph_dedup_mmr"])
def answers(request) -> list[Answer]:
    """All questions of the benchmark, answered offline over one retrieval."""
    answerer = Answerer.open(bundled(), Route(), [f"strategy={request.param}"])
    return answerer.answers(questions())


def timeless(made: Answer) -> str:
    return json.dumps(replace(made, usage=replace(made.usage, seconds=0.0)).as_json(), ensure_ascii=False)


def digest(made: list[Answer]) -> str:
    return hashlib.sha256("\n".join(map(timeless, made)).encode()).hexdigest()


def test_every_answer_has_claims_or_a_reason(answers):
    assert [made.question for made in answers] == list(questions())
    for made in answers:
        assert made.refused is (not made.claims)
        assert made.refused is bool(made.reason)
        assert (made.generator, made.route, made.fallback, made.removed) == ("grounded", "", "", {})
        assert made.answerable is not None
        assert 0 <= made.answerable <= 1
        assert made.usage == Usage(seconds=made.usage.seconds)
    assert 0.5 * len(answers) < sum(not made.refused for made in answers) < len(answers)


def test_every_claim_cites_sources_of_ours(answers):
    for made in answers:
        assert [source.id for source in made.sources] == [f"S{at}" for at in range(1, len(made.sources) + 1)]
        sources = {source.id: source.passage for source in made.sources}
        for claim in made.claims:
            assert claim.citations
            assert 0 < claim.probability < 1
            assert (claim.level in LEVELS, claim.rule in LEVELS) == (True, True)
            for place in claim.citations:
                passage = sources[place.source]
                assert (place.chunk_id, place.doc_name) == (passage.chunk_id, passage.doc_name)
                assert place.section == passage.section
        assert made.cited == tuple(dict.fromkeys(place.source for c in made.claims for place in c.citations))


def test_every_quote_stands_in_its_document_where_it_says(answers):
    quotes = 0
    for place in (place for made in answers for claim in made.claims for place in claim.citations):
        document = texts()[place.doc_name]
        assert flat(document[place.char_start : place.char_end]) == flat(place.quote)
        begins = page_begins()[place.doc_name]
        end = [*begins[1:], len(document) + 1][place.page - 1]
        assert begins[place.page - 1] <= place.char_start < end
        quotes += 1
    assert quotes > len(answers) // 2


def test_no_claim_says_a_word_that_its_quotes_lack(answers):
    for claim in (claim for made in answers for claim in made.claims):
        quoted = " ".join(" ".join(without_hidden(place.quote).split()) for place in claim.citations)
        assert claim.text == quoted
        for place in claim.citations:  # what a live model's quote must pass holds here too
            assert Folded.of(place.quote).find(place.quote) is not None


def test_claims_of_an_answer_differ_in_place(answers):
    for made in answers:
        places = [place for claim in made.claims for place in claim.citations]
        for at, one in enumerate(places):
            for other in places[at + 1 :]:
                apart = one.char_end <= other.char_start or other.char_end <= one.char_start
                assert apart or one.doc_name != other.doc_name


def test_a_second_run_and_one_question_at_a_time_give_the_same_bytes():
    answerer = Answerer.open(bundled(), Route())
    batch = answerer.answers(questions()[:SAMPLE])
    assert digest(batch) == digest(answerer.answers(questions()[:SAMPLE]))
    assert digest(batch[:4]) == digest([answer(text, searcher=bundled()) for text in questions()[:4]])


PROGRAM = f"""
from generation.api import Answerer, Route
from tests.unit.generation.bundled import bundled, questions
from tests.unit.generation.test_api import digest
print(digest(Answerer.open(bundled(), Route(), ["strategy=rrf_graph_dedup_mmr"]).answers(questions()[:{SAMPLE}])))
"""


def test_another_hash_seed_gives_the_same_bytes():
    made = Answerer.open(bundled(), Route(), ["strategy=rrf_graph_dedup_mmr"]).answers(questions()[:SAMPLE])
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.stdout.strip() == digest(made), done.stderr


@pytest.mark.parametrize(
    "question", ["zzzq xwvvk?", "", "   ", "?!", "文書はどこ", "the of and", "\u200b", "a" * 5000]
)
@pytest.mark.parametrize("generator", ["grounded", "first"])
def test_a_question_without_a_known_word_is_refused_with_a_reason(question, generator):
    made = answer(question, searcher=bundled(), overrides=[f"generator={generator}"])
    assert (made.refused, made.reason, made.claims) == (True, "no passage was retrieved", ())


@pytest.mark.parametrize("strategy", ["bm25", "tfidf", "rrf_graph_dedup_mmr"])
def test_an_empty_corpus_answers_nothing_and_fails_nowhere(strategy, tmp_path):
    nothing = Searcher(corpus_of({}), replace(bundled().store, root=tmp_path))
    made = answer(QUESTION, searcher=nothing, strategy=strategy)
    assert (made.refused, made.reason, made.sources) == (True, "no passage was retrieved", ())


def test_a_folder_without_papers_is_an_error_that_names_it(tmp_path):
    with pytest.raises(IngestionError, match=r"no .*pdf"):
        answer(QUESTION, corpus=tmp_path)


def test_a_document_that_may_not_be_cited_is_not():
    everywhere = answer(QUESTION, searcher=bundled())
    name = everywhere.claims[0].citations[0].doc_name
    other = next(doc for doc in sorted(texts()) if doc != name)
    made = answer(QUESTION, searcher=bundled(), where=Where.read(document=other))
    assert {source.passage.doc_name for source in made.sources} <= {other}
    with pytest.raises(FilterError, match="not in this corpus"):
        answer(QUESTION, searcher=bundled(), where=Where.read(document="nowhere.pdf"))


def test_overrides_and_graph_mode_reach_the_answer():
    made = answer(QUESTION, searcher=bundled(), overrides=["generator.claims=1", "context.sources=2"])
    assert (len(made.claims), len(made.sources)) == (1, 2)
    plain, related = (
        Answerer.open(bundled(), Route(), [f"context.graph_mode={mode}"]).evidence(
            ["How do BM25 and TF-IDF compare?"]
        )
        for mode in ("none", "relations")
    )
    assert plain[0].relations == ()
    assert related[0].relations
    assert related[0].sources == plain[0].sources


def test_the_parts_put_together_by_hand_give_the_same_answer():
    ctx = Context(bundled().corpus, bundled().store, remember=False)
    stage = build_strategy(strategy_config("rrf"))
    (evidence,) = retrieved(ctx, stage, Queries.of(["q"], [QUESTION]), ContextSpec())
    answerer = Answerer.open(bundled(), Route(), ["strategy=rrf"])
    by_hand = pipeline.answer(answerer.generator, evidence, pipeline.Tools(rarity(), shipped()))
    assert timeless(by_hand) == timeless(answer(QUESTION, searcher=bundled(), strategy="rrf"))


def test_a_listener_hears_the_claims_in_order():
    told: list[Claim] = []
    for generator in ("grounded", "first"):
        made = answer(
            QUESTION,
            searcher=bundled(),
            overrides=[f"generator={generator}"],
            listener=Listener(on_claim=told.append),
        )
        assert tuple(told) == made.claims
        told.clear()


def test_auto_without_a_key_answers_offline_and_says_so():
    made = answer(QUESTION, searcher=bundled(), route=Route(provider="auto"))
    assert made.fallback.startswith("answered offline: no language model is configured")
    assert timeless(replace(made, fallback="")) == timeless(answer(QUESTION, searcher=bundled()))


def test_offline_by_name_is_what_was_asked_for():
    made = answer(QUESTION, searcher=bundled(), route=Route(provider="offline"), overrides=["generator.claims=1"])
    assert (made.fallback, len(made.claims)) == ("", 1)


@pytest.mark.parametrize(
    ("route", "overrides", "named"),
    [
        (Route(provider="anthropic"), [], "set ANTHROPIC_API_KEY"),
        (Route(provider="antropic"), [], "did you mean 'anthropic'"),
        (Route(route="bedrok"), [], "did you mean 'bedrock'"),
        (Route(model="gpt-5.5"), [], "no route to 'gpt-5.5' is configured"),
        (Route(router="nofile"), [], "router=nofile: no such file"),
        (Route(), ["generator=chat"], "no language model is configured: set ANTHROPIC_API_KEY"),
        (Route(provider="offline"), ["generator=chat"], "no language model is configured"),
        (Route(provider="auto"), ["generator=first"], "provider=auto: the generator.*asks no language model"),
        (Route(provider="openai", model="gpt-5.5"), ["generator=grounded"], "provider=openai model=gpt-5.5: the gen"),
    ],
)
def test_a_route_that_leads_nowhere_is_refused_before_anything_is_read(route, overrides, named):
    with pytest.raises(RequestError, match=named):
        Answerer.open(None, route, [*overrides, "corpus.path=nowhere"])


def test_names_that_are_wrong_come_with_the_nearest_right_one():
    with pytest.raises(StrategyNotFoundError, match="did you mean 'bm25'"):
        answer(QUESTION, strategy="bm26")
    with pytest.raises(ConfigError, match="did you mean 'grounded'"):
        answer(QUESTION, overrides=["generator=grounde"])
    with pytest.raises(ConfigError, match="relations"):
        answer(QUESTION, graph_mode="relation")
    with pytest.raises(ConfigError, match="claims must be at least 1"):
        answer(QUESTION, overrides=["generator.claims=0"])
    with pytest.raises(RequestError, match="scale not above 0"):
        answer(QUESTION, overrides=["confidence.claim.features.rank.scale=0"])


def test_the_example_of_the_module_is_true():
    import generation.api

    program = generation.api.__doc__.split("\n\n", 1)[1].replace('corpus="papers/", ', "searcher=bundled(), ")
    said: list[str] = []
    exec(program, {"bundled": bundled, "print": lambda *parts: said.append(str(parts))})
    assert said
    assert all(".pdf" in line for line in said)
