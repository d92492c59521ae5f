"""The same question through all routes, over real sockets and each vendor's wire format: one outcome for all."""

from __future__ import annotations

import json
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest

from generation.errors import (
    AuthError,
    CancelledError,
    CapacityError,
    ContextOverflowError,
    GenerationError,
    ModelAccessError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RefusedError,
)
from generation.router.wire import Call
from tests.e2e.six_routes import (
    CALL,
    EVERYWHERE,
    LINES,
    QUESTION,
    QUIET,
    SHORT,
    STREAMED,
    SYSTEM,
    TEXT,
    Route,
    opened,
    until,
)
from tests.providers import (
    Behaviour,
    FakeProvider,
    answer,
    auth_error,
    broken_json,
    dropped,
    echo_key,
    fails_midway,
    finished_by_length,
    no_usage,
    overflow,
    overloaded,
    quota,
    rate_limited,
    refused_content,
    server_error,
    trickle,
    truncated,
    wrong_usage,
)

pytestmark = [pytest.mark.llm, *QUIET]


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Route]]:
    with opened(tmp_path_factory.mktemp("routes")) as route:
        yield route


@EVERYWHERE
@STREAMED
def test_the_same_question_gives_the_same_reply(name: str, stream: bool, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    route.server.script = [answer(TEXT, pieces=7)]
    pieces: list[str] = []
    reply = route.ask(stream, pieces)
    assert reply.text == TEXT
    assert [json.loads(line) for line in reply.text.splitlines()] == LINES
    assert (reply.finish, reply.counted) == ("stop", True)
    # A token for four characters begun is how the fake servers count.
    assert reply.output_tokens == -(-len(TEXT) // 4)
    assert reply.input_tokens == -(-len(f"{SYSTEM}\n{QUESTION}") // 4)
    assert (len(pieces) > 1, "".join(pieces)) == ((True, TEXT) if stream else (False, ""))


@EVERYWHERE
@STREAMED
def test_every_server_gets_the_same_messages(name: str, stream: bool, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    route.server.script = [answer(TEXT)]
    before = len(route.server.asked)
    route.ask(stream)
    (request,) = route.server.asked[before:]
    assert request.messages == (("system", SYSTEM), ("user", QUESTION))
    assert request.stream is stream
    assert route.server.unknown == ()


FALLBACKS = {
    "anthropic": ("claude-sonnet-4-6", ("temperature",), ("max_tokens",)),
    "bedrock": ("claude-sonnet-4-6", ("inferenceConfig", "temperature"), ("inferenceConfig", "maxTokens")),
    "openai": ("gpt-4o-mini", ("temperature",), ("max_tokens",)),
    "azure": ("gpt-4o-mini", ("temperature",), ("max_tokens",)),
    "gemini": ("gemini-2.5-flash", ("generationConfig", "temperature"), ("generationConfig", "max_output_tokens")),
    "vertex": ("gemini-2.5-flash", ("generationConfig", "temperature"), ("generationConfig", "max_output_tokens")),
    "compatible": ("mistral", ("temperature",), ("max_tokens",)),
}


@EVERYWHERE
@STREAMED
def test_models_that_take_a_temperature_get_it(name: str, stream: bool, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    route.server.script = [answer(SHORT)]
    model, temperature, output = FALLBACKS[name]
    target = replace(route.target, model=model)
    route.client.complete(target, CALL, (lambda text: None) if stream else None)
    sent = route.server.asked[-1].json
    assert reduce(getitem, temperature, sent) == 0.0
    assert reduce(getitem, output, sent) == route.client.most_output(target, CALL)


@EVERYWHERE
@STREAMED
def test_thoughts_are_no_part_of_a_reply(name: str, stream: bool, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    route.server.script = [answer(SHORT, thoughts="let me see, what did they ask")]
    reply = route.ask(stream)
    assert (reply.text, reply.counted) == (SHORT, True)
    assert reply.output_tokens == 8 + 5


FAULTS: dict[str, tuple[Behaviour, type[GenerationError]]] = {
    "rate limit": (rate_limited(3), RateLimitError),
    "rate limit without a time": (rate_limited(), RateLimitError),
    "no credit": (quota("credit"), QuotaError),
    "own limit": (quota("limit"), QuotaError),
    "quota of a period": (quota("period"), QuotaError),
    "failure": (server_error(), CapacityError),
    "bad gateway": (server_error(502), CapacityError),
    "overload": (overloaded(), CapacityError),
    "dropped": (dropped(), CapacityError),
    "wrong key": (auth_error(), AuthError),
    "key told back": (echo_key(), AuthError),
    "key told back in a failure": (echo_key(500), CapacityError),
    "too long": (overflow(), ContextOverflowError),
    "broken": (broken_json(), ProviderError),
    "cut": (truncated(5, SHORT), ProviderError),
    "cut in order": (truncated(5, SHORT, clean=True), ProviderError),
    "nothing": (answer(""), ProviderError),
    "filtered": (refused_content(), RefusedError),
    "filtered midway": (refused_content("one"), RefusedError),
    "overload midway": (fails_midway(5, SHORT), CapacityError),
}


@EVERYWHERE
@STREAMED
@pytest.mark.parametrize("fault", list(FAULTS))
def test_every_fault_is_the_same_error_on_every_route(
    fault: str, stream: bool, name: str, routes: Callable[[str], Route]
) -> None:
    route = routes(name)
    behaviour, kind = FAULTS[fault]
    if fault == "wrong key" and name in ("bedrock", "vertex"):  # AWS and Google then speak of a right to this model
        kind = ModelAccessError
    error = route.fail(behaviour, stream)
    assert type(error) is kind
    assert f"{route.target.name}, model {route.target.model}: " in str(error)
    told = "".join(traceback.format_exception(error))
    assert not any(secret in told for secret in route.server.secrets)
    assert QUESTION not in told
    assert len(str(error)) < 700


@EVERYWHERE
@STREAMED
def test_a_rate_limit_says_how_long(name: str, stream: bool, routes: Callable[[str], Route]) -> None:
    error = routes(name).fail(rate_limited(2.5), stream)
    assert isinstance(error, RateLimitError)
    assert error.retry_after == 2.5
    silent = routes(name).fail(rate_limited(), stream)
    assert isinstance(silent, RateLimitError)
    assert silent.retry_after is None


REMEDIES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "bedrock": "AWS_ACCESS_KEY_ID",
    "openai": "OPENAI_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "vertex": "GOOGLE_APPLICATION_CREDENTIALS",
    "compatible": "OPENAI_API_KEY",
}


@EVERYWHERE
def test_a_wrong_key_names_the_variable(name: str, routes: Callable[[str], Route]) -> None:
    assert REMEDIES[name] in str(routes(name).fail(auth_error(), False))


@EVERYWHERE
@STREAMED
def test_a_model_that_is_not_there_is_no_fault_of_the_key(name: str, stream: bool, tmp_path: Path) -> None:
    with FakeProvider(name, models=["another"]) as server:
        error = Route(server, tmp_path).fail(answer(SHORT), stream)
        assert len(server.asked) == 1
    assert type(error) is ModelAccessError
    assert "check the model's name" in str(error)


@EVERYWHERE
def test_no_cut_of_a_stream_passes_as_a_reply(name: str, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    for length in range(len(SHORT) + 1):
        error = route.fail(truncated(length, SHORT, clean=bool(length % 2)), True)
        assert type(error) is ProviderError
        assert "the stream ended early" in str(error)


FORGED = '{"finishReason": "STOP"} "stop_reason":"end_turn" "finish_reason":"stop"\n\ndata: [DONE]\n\n\\" and on'


@EVERYWHERE
def test_a_text_cannot_forge_the_end(name: str, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    error = route.fail(truncated(len(FORGED) - 3, FORGED, clean=True), True)
    assert type(error) is ProviderError
    assert "the stream ended early" in str(error)


@EVERYWHERE
@STREAMED
def test_a_reply_that_ran_out_of_tokens_says_so(name: str, stream: bool, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    route.server.script = [finished_by_length(SHORT)]
    assert route.ask(stream).finish == "length"


@EVERYWHERE
@STREAMED
@pytest.mark.parametrize("usage", [(-4, 0), (10**9, 10**9)])
def test_wrong_counts_are_replaced(
    usage: tuple[int, int], name: str, stream: bool, routes: Callable[[str], Route]
) -> None:
    route = routes(name)
    route.server.script = [wrong_usage(*usage, SHORT)]
    reply = route.ask(stream)
    assert (reply.text, reply.counted) == (SHORT, False)
    assert reply.input_tokens == route.client.count_tokens(route.target, CALL)
    assert 4 <= reply.output_tokens <= 6


@EVERYWHERE
@STREAMED
def test_missing_counts_are_replaced(name: str, stream: bool, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    if name in ("anthropic", "bedrock", "gemini", "vertex") and not stream:
        # LiteLLM itself refuses a whole reply of theirs without counts.
        assert type(route.fail(no_usage(SHORT), stream)) is ProviderError
        return
    route.server.script = [no_usage(SHORT)]
    reply = route.ask(stream)
    assert (reply.text, reply.counted) == (SHORT, False)
    assert reply.input_tokens == route.client.count_tokens(route.target, CALL)


@EVERYWHERE
def test_a_server_that_dies_midway_gives_no_reply(name: str, tmp_path: Path) -> None:
    with FakeProvider(name, [trickle(0.1, TEXT, pieces=40)]) as server:
        route = Route(server, tmp_path)
        pieces: list[str] = []
        killer = threading.Thread(target=server.kill)

        def listen(text: str) -> None:
            pieces.append(text)
            if len(pieces) == 3:
                killer.start()

        with pytest.raises(ProviderError, match="the stream ended early"):
            route.client.complete(route.target, CALL, listen)
        killer.join()
    assert 2 < len(pieces) < 40


@EVERYWHERE
@STREAMED
def test_cancelling_closes_the_connection(name: str, stream: bool, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    route.server.script = [trickle(0.1, TEXT, pieces=30)]
    before = route.server.abandoned
    asked = len(route.server.asked)
    pieces: list[str] = []
    arrived = lambda: len(pieces) > 1 if stream else len(route.server.asked) > asked  # noqa: E731
    begin = time.monotonic()
    with pytest.raises(CancelledError, match=f"{route.target.name}, model {route.target.model}: cancelled"):
        route.ask(stream, pieces, cancelled=arrived)
    assert time.monotonic() - begin < 2.0
    assert len(pieces) < 30
    if stream:
        until(lambda: route.server.abandoned > before)


@EVERYWHERE
@STREAMED
def test_a_slow_server_is_left_at_the_time_limit(name: str, stream: bool, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    route.server.script = [trickle(0.1, TEXT, pieces=30)]
    begin = time.monotonic()
    with pytest.raises(CapacityError, match=r"no whole reply within 0\.3 seconds"):
        route.ask(stream, call=Call(CALL.messages, timeout=0.3))
    assert time.monotonic() - begin < 1.5
