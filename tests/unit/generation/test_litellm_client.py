"""The client over real sockets: what goes out, what comes back, what is cancelled, late, secret."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from generation.errors import AuthError, CancelledError, CapacityError, GenerationError, ProviderError, RequestError
from generation.router.litellm_client import LiteLlmClient
from generation.router.prices import Price
from generation.router.wire import Call, Client, Message, Target
from tests.providers import (
    Behaviour,
    FakeProvider,
    answer,
    no_usage,
    server_error,
    slow,
    trickle,
    truncated,
    wrong_usage,
)

pytestmark = [
    pytest.mark.llm,
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier.*:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance:DeprecationWarning"),
]

TEXT = "one two three four"
CALL = Call((Message("system", "be brief"), Message("user", "how many?")), max_output_tokens=300, timeout=5.0)
# By `estimate`: (1 + 2) + 4 and (1 + 2 + 1) + 4 for the messages, 4 for the call; the text (1 + 1 + 2 + 2).
ESTIMATED = (19, 6)


def target(server: FakeProvider, model: str = "m") -> Target:
    return Target("compatible", "any", model, server.settings)


def test_it_is_a_client() -> None:
    client: Client = LiteLlmClient({})
    assert "planted" not in repr(LiteLlmClient({"OPENAI_API_KEY": "planted" * 3}))
    assert client.count_tokens(Target("compatible", "any", "m"), CALL) == ESTIMATED[0]


def test_one_request_goes_out_with_what_was_asked() -> None:
    with FakeProvider("compatible", [answer(TEXT)]) as server:
        reply = LiteLlmClient(server.environment()).complete(target(server), CALL)
        (request,) = server.requests
    assert (reply.text, reply.finish, reply.model, reply.counted) == (TEXT, "stop", "m", True)
    assert request.messages == (("system", "be brief"), ("user", "how many?"))
    assert (request.json["max_tokens"], request.json["temperature"]) == (300, 0.0)
    assert not request.stream


def test_a_stream_is_asked_for_only_where_somebody_listens() -> None:
    pieces: list[str] = []
    with FakeProvider("compatible", [answer(TEXT, pieces=4)]) as server:
        reply = LiteLlmClient(server.environment()).complete(target(server), CALL, pieces.append)
        assert server.requests[0].stream
    assert pieces == ["one ", "two t", "hree", " four"]
    assert reply.text == "".join(pieces)


def test_failures_are_not_repeated() -> None:
    with FakeProvider("compatible", [server_error(), answer(TEXT)]) as server:
        with pytest.raises(CapacityError):
            LiteLlmClient(server.environment()).complete(target(server), CALL)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "model", ["llama3.2:3b", "meta-llama/Llama-3-8B-Instruct", "anthropic/claude-x", "o3", "./m.gguf"]
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_compatible_server_is_asked_for_the_very_model(model: str, stream: bool) -> None:
    with FakeProvider("compatible", [answer(TEXT)]) as server:
        listen = (lambda text: None) if stream else None
        LiteLlmClient(server.environment()).complete(target(server, model), CALL, listen)
        assert server.requests[0].model == model


def test_one_client_serves_many_threads() -> None:
    with FakeProvider("compatible", [answer(lambda request: f"{request.messages[-1][1]} yes")]) as server:
        client = LiteLlmClient(server.environment())

        def ask(number: int) -> str:
            call = Call((Message("user", f"{number}?"),), timeout=20.0)
            return client.complete(target(server), call, (lambda text: None) if number % 2 else None).text

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(ask, range(40))) == [f"{number}? yes" for number in range(40)]


def test_a_server_without_keys_is_asked_without_one() -> None:
    with FakeProvider("compatible", [answer(TEXT)], keyless=True) as server:
        assert LiteLlmClient(server.environment()).complete(target(server), CALL).text == TEXT


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("given", "made", "counted"),
    [
        (20, 5, True),
        (-1, 5, False),
        (20, 0, False),
        (0, 5, False),
        (20, 300, True),  # thoughts may be as many as were asked for
        (20, 601, False),  # more than was asked for and over 100 times of what came
        (1_901, 5, False),
    ],
)
def test_token_counts_that_cannot_be_true_are_replaced(given: int, made: int, counted: bool, stream: bool) -> None:
    with FakeProvider("compatible", [wrong_usage(given, made, TEXT)]) as server:
        listen = (lambda text: None) if stream else None
        reply = LiteLlmClient(server.environment()).complete(target(server), CALL, listen)
    assert reply.counted is counted
    assert (reply.input_tokens, reply.output_tokens) == ((given, made) if counted else ESTIMATED)


@pytest.mark.parametrize("stream", [False, True])
def test_missing_token_counts_are_estimated(stream: bool) -> None:
    with FakeProvider("compatible", [no_usage(TEXT)]) as server:
        listen = (lambda text: None) if stream else None
        reply = LiteLlmClient(server.environment()).complete(target(server), CALL, listen)
    assert (reply.input_tokens, reply.output_tokens, reply.counted) == (*ESTIMATED, False)


@pytest.mark.parametrize("behaviour", [slow(3.0, TEXT), trickle(0.2, TEXT * 4, pieces=16)])
@pytest.mark.parametrize("stream", [False, True])
def test_the_time_limit_holds_for_the_whole_reply(behaviour: Behaviour, stream: bool) -> None:
    call = Call(CALL.messages, timeout=0.6)
    begin = time.monotonic()
    with FakeProvider("compatible", [behaviour]) as server:
        listen = (lambda text: None) if stream else None
        with pytest.raises(CapacityError, match=r"compatible/any, model m: no whole reply within 0.6 seconds"):
            LiteLlmClient(server.environment()).complete(target(server), call, listen)
        assert time.monotonic() - begin < 2.0


def test_nothing_is_sent_once_cancelled() -> None:
    with FakeProvider("compatible", [answer(TEXT)]) as server:
        with pytest.raises(CancelledError):
            LiteLlmClient(server.environment()).complete(target(server), CALL, cancelled=lambda: True)
        assert server.requests == ()


def test_an_error_of_the_listener_goes_through_and_closes_the_connection() -> None:
    def listen(text: str) -> None:
        raise KeyError("the listener's own")

    with FakeProvider("compatible", [trickle(0.05, TEXT * 50, pieces=100)]) as server:
        with pytest.raises(KeyError, match="the listener's own"):
            LiteLlmClient(server.environment()).complete(target(server), CALL, listen)
        _until(lambda: server.abandoned == 1)


def test_a_stream_is_whole_only_if_the_server_says_so() -> None:
    with FakeProvider("compatible") as server:
        client = LiteLlmClient(server.environment())
        for length in range(len(TEXT) + 1):
            server.script = [truncated(length, TEXT, clean=True)]
            with pytest.raises(ProviderError, match="the stream ended early"):
                client.complete(target(server), CALL, lambda text: None)


def test_a_server_that_is_not_there_is_named() -> None:
    client = LiteLlmClient({})
    there = Target("compatible", "any", "m", {"base_url": "http://127.0.0.1:9/v1"})
    with pytest.raises(CapacityError, match=r"no answer from 127\.0\.0\.1 \(ConnectError\)"):
        client.complete(there, CALL)


def test_what_is_wrong_before_anything_is_sent() -> None:
    with pytest.raises(RequestError, match="anthropic/vertex: no such route"):
        LiteLlmClient({}).complete(Target("anthropic", "vertex", "m"), CALL)
    with pytest.raises(AuthError, match="set ANTHROPIC_API_KEY"):
        LiteLlmClient({}).complete(Target("anthropic", "direct", "m"), CALL)


def test_credentials_of_google_that_are_refused(tmp_path: Path) -> None:
    with FakeProvider("vertex") as server:
        given = server.environment(tmp_path)
        there = Target("gemini", "vertex", "gemini-3.8-flash", server.settings)
        file = Path(given["GOOGLE_APPLICATION_CREDENTIALS"])
        content = json.loads(file.read_text())

        def fail(text: str) -> str:
            file.write_text(text)
            with pytest.raises(GenerationError) as caught:
                LiteLlmClient(given).complete(there, CALL)
            assert content["private_key"] not in str(caught.value)
            return f"{type(caught.value).__name__}: {caught.value}"

        assert "AuthError: gemini/vertex, model gemini-3.8-flash: the file with the cred" in fail("{no JSON")
        unknown = json.dumps(content | {"client_email": "nobody@example.com", "project_id": "a"})
        assert "AuthError: gemini/vertex, model gemini-3.8-flash: no credentials (RefreshError)" in fail(unknown)
        elsewhere = json.dumps(content | {"token_uri": "http://127.0.0.1:9/token", "project_id": "b"})
        assert "CapacityError: gemini/vertex, model gemini-3.8-flash: no credentials (Trans" in fail(elsewhere)


def test_an_aws_profile_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(variable, str(tmp_path / "none"))
    client = LiteLlmClient({"AWS_PROFILE": "nobody"})
    with pytest.raises(AuthError, match=r"no credentials \(ProfileNotFound\).*check AWS_ACCESS_KEY_ID"):
        client.complete(Target("anthropic", "bedrock", "claude-sonnet-5"), CALL)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("provider", "route"), [("anthropic", "direct"), ("openai", "direct"), ("gemini", "direct")])
def test_a_redirect_carries_no_key_to_another_server(provider: str, route: str, stream: bool) -> None:
    key = "".join(("planted", "-") * 4)
    given = {f"{provider.upper()}_API_KEY": key}
    with FakeProvider(provider) as elsewhere, redirecting(elsewhere.url) as url:
        there = Target(provider, route, "m", {"base_url": url})
        with pytest.raises(ProviderError, match="status 307"):
            LiteLlmClient(given).complete(there, CALL, (lambda text: None) if stream else None)
        assert elsewhere.requests == ()


@contextmanager
def redirecting(url: str) -> Iterator[str]:
    """A server that sends everybody to another one."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(307)
            self.send_header("Location", url + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_error_has_neither_cause_nor_context() -> None:
    with FakeProvider("compatible", [server_error()]) as server:
        try:
            LiteLlmClient(server.environment()).complete(target(server), CALL)
        except GenerationError as error:
            assert (error.__cause__, error.__context__) == (None, None)
        else:
            pytest.fail("nothing was raised")


def test_prices_are_those_of_the_route() -> None:
    client = LiteLlmClient({"AWS_REGION": "us-east-1"})
    direct = client.price(Target("anthropic", "direct", "claude-sonnet-5"), 1_000_000, 100_000)
    assert direct == pytest.approx(2.0 + 1.0)  # $2 and $10 per million tokens
    bedrock = client.price(Target("anthropic", "bedrock", "claude-sonnet-5"), 1_000_000, 100_000)
    assert bedrock == pytest.approx(2.2 + 1.1)  # a regional profile costs a tenth more
    assert client.price(Target("openai", "direct", "no-such-model"), 10, 10) is None
    assert client.price(Target("compatible", "any", "gpt-5.5"), 10, 10) is None
    own = LiteLlmClient({}, prices={"compatible/any": Price(1.0, 2.0)})
    assert own.price(Target("compatible", "any", "gpt-5.5"), 1_000_000, 1_000_000) == 3.0


def test_models_that_think_ask_for_more_output() -> None:
    client = LiteLlmClient({})
    assert client.most_output(Target("openai", "direct", "gpt-5.5"), CALL) == 8_192
    assert client.most_output(Target("openai", "azure", "gpt-5.5"), CALL) == 8_192
    assert client.most_output(Target("openai", "direct", "gpt-4o-mini"), CALL) == 300
    assert client.most_output(Target("anthropic", "direct", "claude-sonnet-5"), CALL) == 8_192
    assert client.most_output(Target("anthropic", "direct", "claude-sonnet-4-6"), CALL) == 300
    assert client.most_output(Target("anthropic", "bedrock", "claude-sonnet-5"), CALL) == 300
    assert client.most_output(Target("gemini", "vertex", "gemini-3.8-flash"), CALL) == 8_192
    assert client.most_output(Target("compatible", "any", "llama3"), CALL) == 300


def test_openai_models_are_counted_by_their_own_tokenizer() -> None:
    client = LiteLlmClient({})
    # o200k_base by hand: `be| brief`, `how| many|?`
    assert client.count_tokens(Target("openai", "direct", "gpt-5.5"), CALL) == 4 + (4 + 2) + (4 + 3)
    assert client.count_tokens(Target("openai", "azure", "a-deployment"), CALL) == ESTIMATED[0]


def _until(condition: Callable[[], bool], seconds: float = 3.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
