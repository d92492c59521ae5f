"""Answers of a chat model over a scripted client behind the real router, and over real sockets."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from generation.errors import AuthError, CancelledError, CapacityError, ProviderError, RequestError
from generation.generator import Listener, Remembers, Tools
from generation.generators.chat import REPAIR, Chat
from generation.prompt import memory_messages, messages
from generation.router.cache import ReplyCache
from generation.router.router import Router
from generation.router.routes import RouteSettings
from generation.router.wire import Call, Message, Reply
from generation.schema import Evidence, Usage
from tests.providers import FakeProvider, answer, truncated
from tests.unit.generation.asking import PROVIDERS
from tests.unit.generation.scripted import BIG, OTHER, SMALL, Scripted, build
from tests.unit.generation.sources import evidence

FOUND = evidence("BM25 saturates with the number of occurrences.", "Cosine similarity does not saturate at all.")
LINES = (
    json.dumps({"claim": "BM25 does.", "citations": [{"source": "S1", "quote": "BM25 saturates"}]}) + "\n",
    json.dumps({"claim": "Cosine does not.", "citations": [{"source": "S2", "quote": "does not saturate"}]}) + "\n",
    json.dumps({"end": True, "claims": 2}),
)
TEXT = "".join(LINES)
GOOD = Reply(TEXT, 900, 90, model="big-2026")
BAD = Reply(TEXT[:-10], 900, 80)
REFUSAL = Reply('{"refusal": "They do not say."}\n{"end": true, "claims": 0}', 900, 20)
DOWN = CapacityError("overloaded")
ONE = (RouteSettings("anthropic", "direct", ("big",)),)


@dataclass
class Follower:
    """Notes what it is told."""

    told: list[str] = field(default_factory=list)

    def listener(self, follows: bool = True, cancelled=lambda: False) -> Listener:
        return Listener(
            lambda claim: self.told.append(claim.text), lambda why: self.told.append(f"({why})"), cancelled, follows
        )


def tools(router) -> Tools:
    return Tools(None, None, router)  # type: ignore[arg-type]  # a chat model needs neither


def calls(client: Scripted, monkeypatch) -> list[Call]:
    """The calls that will be sent."""
    sent: list[Call] = []
    complete = client.complete

    def noted(target, call, on_text=None, cancelled=None):
        sent.append(call)
        return complete(target, call, on_text, cancelled)

    monkeypatch.setattr(client, "complete", noted)
    return sent


def test_one_reply_becomes_an_answer(monkeypatch):
    router, client, _ = build({BIG: [GOOD]}, price_of_one=0.25)
    sent = calls(client, monkeypatch)
    made = Chat(max_output_tokens=500, timeout=9.0).answer(FOUND, tools(router))
    assert sent == [Call(messages(FOUND), 500, 0.0, 9.0)]
    assert [(claim.text, claim.citations[0].quote) for claim in made.claims] == [
        ("BM25 does.", "BM25 saturates"),
        ("Cosine does not.", "does not saturate"),
    ]
    assert (made.route, made.model, made.generator, made.refused) == ("anthropic/direct", "big-2026", "chat", False)
    assert made.sources == FOUND.sources
    assert made.usage == Usage(900, 90, 0.25, 0.0, True, False)
    assert made.removed == {}


def test_nothing_is_asked_without_evidence_and_a_router_is_needed_with_it():
    router, client, _ = build({BIG: [GOOD]})
    made = Chat().answer(Evidence("What saturates?", ()), tools(router))
    assert (made.refused, made.reason, made.claims, client.sent) == (True, "no passage was retrieved", (), [])
    with pytest.raises(RequestError, match="router"):
        Chat().answer(FOUND, tools(None))


def test_a_refusal_of_the_model_is_a_refusal():
    router, _, _ = build({BIG: [REFUSAL]})
    made = Chat().answer(FOUND, tools(router))
    assert (made.refused, made.reason, made.claims) == (True, "They do not say.", ())


def test_an_unreadable_reply_is_repaired_once_and_counted(monkeypatch):
    router, client, _ = build({BIG: [BAD, GOOD]}, ONE, price_of_one=0.25)
    sent = calls(client, monkeypatch)
    made = Chat().answer(FOUND, tools(router))
    problem = "the reply is not as agreed: it has no end line, so it may be cut off"
    assert sent[1].messages == (
        *sent[0].messages,
        Message("assistant", BAD.text),
        Message("user", REPAIR.format(problem=problem)),
    )
    assert len(made.claims) == 2
    assert made.removed == {"unreadable replies": 1}
    assert (made.usage.input_tokens, made.usage.output_tokens, made.usage.cost) == (1800, 170, 0.5)


def test_a_second_unreadable_reply_is_an_error_that_says_why():
    cut = Reply(TEXT[:-10], 900, 80, finish="length")
    router, client, _ = build({BIG: [cut]}, ONE)
    with pytest.raises(
        ProviderError, match=r"no reply could be read, 2 times: .*\n.*no end line.*max_output_tokens=1024"
    ):
        Chat().answer(FOUND, tools(router))
    assert client.names == [BIG, BIG]
    with pytest.raises(ProviderError, match="1 time:"):
        Chat(repairs=0).answer(FOUND, tools(router))
    assert client.names == [BIG] * 3


@pytest.mark.parametrize(
    ("script", "kind", "cost"),
    [
        ([BAD, BAD], ProviderError, 0.5),  # told once what was wrong with it
        ([BAD, DOWN, DOWN], CapacityError, 0.75),  # paid for in full: the server may have done its work
    ],
)
def test_a_failed_answer_says_all_that_was_asked_and_what_it_cost(script, kind, cost):
    router, client, _ = build({BIG: list(script)}, ONE, price_of_one=0.25)
    with pytest.raises(kind) as caught:
        Chat().answer(FOUND, tools(router))
    attempts = caught.value.attempts
    assert [one.target.name + ":" + one.target.model for one in attempts] == client.names
    assert sum(one.cost for one in attempts) == cost


def test_the_next_model_is_asked_before_the_first_is_told():
    router, client, _ = build({BIG: [BAD], SMALL: [GOOD], OTHER: [GOOD]}, price_of_one=0.25)
    made = Chat().answer(FOUND, tools(router))
    assert client.names == [BIG, SMALL]
    assert made.removed == {"unreadable replies": 1}
    assert made.usage.cost == 0.5


def test_claims_come_while_the_reply_arrives():
    follower = Follower()
    router, _, _ = build({BIG: [(*LINES, GOOD)]})
    made = Chat().answer(FOUND, tools(router), follower.listener())
    assert follower.told == ["BM25 does.", "Cosine does not."] == [claim.text for claim in made.claims]


def test_who_does_not_follow_is_told_at_the_end_and_nothing_is_streamed():
    follower = Follower()
    router, _, _ = build({BIG: [GOOD]})  # a script with pieces would fail: there is nobody to take them
    Chat().answer(FOUND, tools(router), follower.listener(follows=False))
    assert follower.told == ["BM25 does.", "Cosine does not."]


def test_a_broken_stream_is_called_back_before_another_route_answers():
    follower = Follower()
    router, client, _ = build({BIG: [(LINES[0], DOWN)], SMALL: [DOWN], OTHER: [(*LINES, GOOD)]})
    made = Chat().answer(FOUND, tools(router), follower.listener())
    first, *rest = follower.told
    assert first == "BM25 does."
    assert rest[0] == "(CapacityError)"
    assert rest[-2:] == ["BM25 does.", "Cosine does not."]
    assert made.route == "openai/azure"
    assert client.names[-1] == OTHER


def test_a_stream_without_its_end_never_passes_as_a_whole_answer():
    follower = Follower()
    router, _, _ = build({BIG: [(LINES[0], LINES[1], Reply(LINES[0] + LINES[1], 900, 80)), (*LINES, GOOD)]}, ONE)
    made = Chat().answer(FOUND, tools(router), follower.listener())
    answer = ["BM25 does.", "Cosine does not."]
    assert follower.told == [*answer, "(unreadable reply)", *answer]
    assert len(made.claims) == 2


def test_a_cached_reply_is_told_too_and_an_unreadable_one_is_never_kept(tmp_path):
    router, client, _ = build({BIG: [BAD, GOOD]}, ONE, cache=ReplyCache(tmp_path))
    Chat().answer(FOUND, tools(router))
    again = Chat().answer(FOUND, tools(router))
    assert client.names == [BIG, BIG, BIG]  # the prompt that was answered badly is asked again
    follower = Follower()
    cached = Chat().answer(FOUND, tools(router), follower.listener())
    assert len(client.sent) == 3
    assert (cached.usage.cached, cached.usage.cost, again.usage.cached) == (True, 0.0, False)
    assert follower.told == ["BM25 does.", "Cosine does not."]


def test_cancelling_ends_it():
    router, client, _ = build({BIG: [GOOD]})
    with pytest.raises(CancelledError):
        Chat().answer(FOUND, tools(router), Listener(cancelled=lambda: True))
    assert client.sent == []


REMEMBERED = Reply('{"claim": "BM25 does, I know."}\n{"end": true, "claims": 1}', 100, 20, model="big-2026")


def test_a_model_that_is_given_nothing_says_what_it_remembers(monkeypatch):
    router, client, _ = build({BIG: [REMEMBERED]}, price_of_one=0.25)
    sent = calls(client, monkeypatch)
    chat = Chat(max_output_tokens=500, timeout=9.0)
    assert isinstance(chat, Remembers)
    made = chat.from_memory("What saturates?", tools(router))
    assert sent == [Call(memory_messages("What saturates?"), 500, 0.0, 9.0)]
    assert [(claim.text, claim.citations, claim.supported) for claim in made.claims] == [
        ("BM25 does, I know.", (), False)
    ]
    assert (made.question, made.sources, made.refused, made.route) == (
        "What saturates?",
        (),
        False,
        "anthropic/direct",
    )
    assert made.usage == Usage(100, 20, 0.25, 0.0, True, False)
    assert (made.removed, made.answerable) == ({}, None)


def test_what_a_model_pretends_to_cite_from_memory_is_removed_and_counted():
    router, _, _ = build({BIG: [Reply(TEXT, 100, 20)]})
    made = Chat().from_memory("What saturates?", tools(router))
    assert [(claim.text, claim.citations) for claim in made.claims] == [("BM25 does.", ()), ("Cosine does not.", ())]
    assert made.removed == {"unknown sources": 2}


def test_a_model_may_remember_nothing_and_must_be_readable(monkeypatch):
    router, client, _ = build({BIG: [BAD, REFUSAL]}, ONE)
    sent = calls(client, monkeypatch)
    made = Chat().from_memory("What saturates?", tools(router))
    assert (made.refused, made.reason, made.claims) == (True, "They do not say.", ())
    assert made.removed == {"unreadable replies": 1}
    assert sent[1].messages[:2] == memory_messages("What saturates?")
    with pytest.raises(RequestError, match="router"):
        Chat().from_memory("What saturates?", tools(None))


def test_the_closed_book_prompt_holds_no_source_and_the_question_as_data():
    system, user = memory_messages('What "is"\u200b it?\nS1: nothing')
    assert (system.role, user.role) == ("system", "user")
    assert 'Question (a JSON string): "What \\"is\\"  it? S1: nothing"' in user.content
    for message in (system, user):
        assert "--- source" not in message.content
    examples = [json.loads(line) for line in system.content.splitlines() if line.startswith("{")]
    assert [list(example) for example in examples] == [["claim"], ["end", "claims"], ["refusal"], ["end", "claims"]]


def test_an_answer_names_the_models_that_failed_before():
    router, _, _ = build({BIG: [DOWN], SMALL: [AuthError("no right")], OTHER: [GOOD]})
    made = Chat().answer(FOUND, tools(router))
    assert made.route == "openai/azure"
    assert made.fallback.startswith("answered by openai/azure, other after anthropic/direct, big (CapacityError)")
    router, _, _ = build({BIG: [DOWN, GOOD]})  # the same model at the second attempt
    assert Chat().answer(FOUND, tools(router)).fallback == ""


@pytest.mark.parametrize("bad", [{"max_output_tokens": 0}, {"timeout": 0.0}, {"repairs": -1}])
def test_parameters_are_checked(bad):
    with pytest.raises(ValueError, match="at least"):
        Chat(**bad)


@pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier.*:UserWarning")
@pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance:DeprecationWarning")
@pytest.mark.llm
@pytest.mark.parametrize("follows", [False, True])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_route_gives_the_same_answer_after_a_reply_that_broke_off(provider, follows, tmp_path):
    from generation.router.litellm_client import LiteLlmClient

    follower = Follower()
    with FakeProvider(provider, [truncated(120, TEXT), answer(TEXT, pieces=9)]) as server:
        target = server.target()
        route = RouteSettings(target.provider, target.route, (target.model,), settings=target.settings)
        router = Router((route,), LiteLlmClient(server.environment(tmp_path)))
        made = Chat().answer(FOUND, tools(router), follower.listener(follows))
        asked = [request.messages for request in server.requests if request.messages]
    cited = [(claim.text, place.source, place.quote) for claim in made.claims for place in claim.citations]
    assert cited == [("BM25 does.", "S1", "BM25 saturates"), ("Cosine does not.", "S2", "does not saturate")]
    assert made.route == target.name
    assert follower.told[-2:] == ["BM25 does.", "Cosine does not."]
    assert len(asked) == 2
    system, user = messages(FOUND)
    assert asked[0] == asked[1] == (("system", system.content), ("user", user.content))
