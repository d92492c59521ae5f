"""The same question through all routes, over real sockets and each vendor's wire format: one outcome for all."""

from __future__ import annotations

import json
import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litellm")

from generation.errors import (
    AuthError,
    CancelledError,
    CapacityError,
    ContextOverflowError,
    GenerationError,
    ProviderError,
    QuotaError,
    RateLimitError,
)
from generation.router.litellm_client import LiteLlmClient
from generation.router.wire import Call, Message, Reply, Target
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

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier.*:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance:DeprecationWarning"),
]

ROUTES = {
    "anthropic": ("anthropic", "direct", "claude-sonnet-5"),
    "bedrock": ("anthropic", "bedrock", "claude-sonnet-5"),
    "openai": ("openai", "direct", "gpt-5.5"),
    "azure": ("openai", "azure", "gpt-5.5"),
    "gemini": ("gemini", "direct", "gemini-3.8-flash"),
    "vertex": ("gemini", "vertex", "gemini-3.8-flash"),
    "compatible": ("compatible", "any", "llama3"),
}
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
EVERYWHERE = pytest.mark.parametrize("name", list(ROUTES))
LINES = [
    {"claim": "Zürich lies on a lake.", "citations": [{"source": "S1", "quote": "“Zürich” — on the lake"}]},
    {
        "claim": 'It has 443,037 people; “finishReason”: \\ " \n 文書 🙂',
        "citations": [{"source": "S2", "quote": "x"}],
    },
    {"end": True, "claims": 2},
]
TEXT = "\n".join(json.dumps(line, ensure_ascii=False) for line in LINES)
SHORT = "one two three four"
SYSTEM, QUESTION = "Answer from the sources, in JSON Lines.", "Where is “Zürich”?\n[S1] …"
CALL = Call((Message("system", SYSTEM), Message("user", QUESTION)), max_output_tokens=1_000, timeout=10.0)


class Route:
    """A fake provider with a client that gets to it."""

    def __init__(self, server: FakeProvider, folder: Path) -> None:
        provider, route, model = ROUTES[server.provider]
        self.server = server
        self.environment = server.environment(folder)
        self.client = LiteLlmClient(self.environment)
        self.target = Target(provider, route, model, server.settings)

    def ask(
        self,
        stream: bool,
        pieces: list[str] | None = None,
        cancelled: Callable[[], bool] | None = None,
        call: Call = CALL,
    ) -> Reply:
        on_text = ([] if pieces is None else pieces).append if stream else None
        return self.client.complete(self.target, call, on_text, cancelled)

    def fail(self, behaviour: Behaviour, stream: bool) -> GenerationError:
        """The error that a behaviour leads to."""
        self.server.script = [behaviour]
        with pytest.raises(GenerationError) as caught:
            self.ask(stream)
        return caught.value


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Route]]:
    """Routes by name, each with one server for all tests."""
    opened: dict[str, Route] = {}

    def route(name: str) -> Route:
        if name not in opened:
            opened[name] = Route(FakeProvider(name), tmp_path_factory.mktemp(name))
        return opened[name]

    yield route
    for each in opened.values():
        each.server.kill()


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
    "filtered": (refused_content(), ProviderError),
    "filtered midway": (refused_content("one"), ProviderError),
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
def test_no_cut_of_a_stream_passes_as_a_reply(name: str, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    for length in range(len(SHORT) + 1):
        error = route.fail(truncated(length, SHORT, clean=bool(length % 2)), True)
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
        _until(lambda: route.server.abandoned > before)


@EVERYWHERE
@STREAMED
def test_a_slow_server_is_left_at_the_time_limit(name: str, stream: bool, routes: Callable[[str], Route]) -> None:
    route = routes(name)
    route.server.script = [trickle(0.1, TEXT, pieces=30)]
    begin = time.monotonic()
    with pytest.raises(CapacityError, match=r"no whole reply within 0\.3 seconds"):
        route.ask(stream, call=Call(CALL.messages, timeout=0.3))
    assert time.monotonic() - begin < 1.5


@EVERYWHERE
def test_nothing_is_logged_or_printed(
    name: str, routes: Callable[[str], Route], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    route = routes(name)
    with caplog.at_level(logging.DEBUG):
        for stream in (False, True):
            route.server.script = [answer(SHORT)]
            route.ask(stream)
            route.fail(echo_key(), stream)
            route.fail(fails_midway(5, SHORT), stream)
            route.fail(broken_json(), stream)
    time.sleep(0.2)  # LiteLLM logs from threads of its own
    printed = capsys.readouterr()
    told = caplog.text + printed.out + printed.err
    assert not any(secret in told for secret in route.server.secrets)
    assert QUESTION not in told
    assert "Give Feedback" not in told
    assert [record for record in caplog.records if record.name.startswith("LiteLLM")] == []
    assert (printed.out, printed.err) == ("", "")


@EVERYWHERE
def test_keys_stay_with_their_call(name: str, routes: Callable[[str], Route]) -> None:
    import litellm

    route = routes(name)
    route.server.script = [answer(SHORT)]
    route.ask(False)
    shown = (
        repr(vars(route.client)) + repr(route.client) + repr({k: v for k, v in vars(litellm).items() if "key" in k})
    )
    assert not any(secret in shown for secret in route.server.secrets)


PROCESS = {
    **dict.fromkeys(
        (
            *("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "OPENAI_BASE_URL", "OPENAI_API_BASE", "AZURE_API_BASE"),
            *("AZURE_OPENAI_ENDPOINT", "GEMINI_API_BASE", "VERTEXAI_API_BASE", "AWS_BEDROCK_RUNTIME_ENDPOINT"),
            *("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"),
        ),
        "http://127.0.0.1:9",
    ),
    **dict.fromkeys(
        (
            *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_API_KEY"),
            *("AZURE_AD_TOKEN", "AZURE_OPENAI_AD_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AWS_ACCESS_KEY_ID"),
            *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "VERTEXAI_PROJECT"),
        ),
        "of-the-process",
    ),
    "AWS_REGION_NAME": "eu-west-3",
    "VERTEXAI_LOCATION": "europe-west9",
    "VERTEXAI_CREDENTIALS": "nowhere.json",
    "NO_PROXY": "",
    "no_proxy": "",
}


@EVERYWHERE
@STREAMED
def test_only_the_given_environment_counts(
    name: str, stream: bool, routes: Callable[[str], Route], monkeypatch: pytest.MonkeyPatch
) -> None:
    route = routes(name)
    route.server.script = [answer(SHORT)]
    route.ask(stream)  # a token of Google's is kept from here on, since its library does look for proxies
    for variable, value in PROCESS.items():
        monkeypatch.setenv(variable, value)
    before = len(route.server.requests)
    assert route.ask(stream).text == SHORT
    (request,) = route.server.requests[before:]
    shown = request.target + repr(request.headers)
    assert not [word for word in ("of-the-process", "eu-west-3", "europe-west9") if word in shown]


def test_no_other_server_is_asked(routes: Callable[[str], Route], monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    connect, asked = socket.socket.connect, []

    def noted(self: socket.socket, address: Any) -> None:
        asked.append(address[0])
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", noted)
    for name in ROUTES:
        route = routes(name)
        for stream in (False, True):
            route.server.script = [answer(SHORT)]
            route.ask(stream)
    assert set(asked) == {"127.0.0.1"}


def _until(condition: Callable[[], bool], seconds: float = 3.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
