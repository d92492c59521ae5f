"""Chat generators of one run: what their routers share, how long they wait, and whose keys are protected."""

from __future__ import annotations

import pytest

from evaluation.answers import request
from evaluation.answers.request import read_answers
from evaluation.errors import RequestError
from generation.router.environment import Environment
from ingestion.config import load, to_plain

BOTH = {"ANTHROPIC_API_KEY": "x" * 20, "AWS_PROFILE": "work"}


@pytest.fixture
def protected(monkeypatch) -> list[Environment]:
    """The environments whose keys were protected."""
    found: list[Environment] = []
    monkeypatch.setattr(request, "protect", found.append)
    return found


def routers(environ, monkeypatch, *more: str):
    monkeypatch.setattr(request, "current_environment", lambda: Environment(environ))
    plain = to_plain(load(["strategy=bm25", "generator=chat", "generators=[chat,grounded]", *more]))
    answers = read_answers(plain, {"generator": "mine"})
    assert answers is not None
    return answers.routers


def test_they_share_limits_breakers_and_caps_and_wait_for_a_route_that_failed(protected, monkeypatch):
    found = routers(BOTH, monkeypatch, "generator.route=anthropic/bedrock")
    assert {name: [route.name for route in router.chain] for name, router in found.items()} == {
        "mine": ["anthropic/bedrock"],
        "chat": ["anthropic/direct", "anthropic/bedrock"],
    }
    mine, chat = found.values()
    assert mine.lanes is chat.lanes
    assert mine.spending is chat.spending
    assert mine.lanes.of(mine.chain[0]) is chat.lanes.of(chat.chain[1])
    assert [router._policy.breaker_wait for router in found.values()] == [90.0, 90.0]
    assert [environment.secrets() for environment in protected] == [{"ANTHROPIC_API_KEY": "x" * 20}]


def test_without_a_route_nothing_is_protected_and_the_error_says_what_to_set(protected, monkeypatch):
    with pytest.raises(
        RequestError, match="generator 'mine' asks a language model, and none is configured: set ANTH"
    ):
        routers({}, monkeypatch)
    assert protected == []


def test_a_run_without_a_chat_generator_does_not_look_at_keys(protected, monkeypatch):
    monkeypatch.setattr(request, "current_environment", lambda: pytest.fail("read the environment"))
    answers = read_answers(to_plain(load(["strategy=bm25", "generator=grounded"])), {"generator": "grounded"})
    assert answers is not None
    assert (dict(answers.routers), protected) == ({}, [])
