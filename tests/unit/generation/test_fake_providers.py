"""The fake providers themselves: scripts, keys, faults, and the end of a server."""

from __future__ import annotations

import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.providers import (
    FakeProvider,
    answer,
    auth_error,
    broken_json,
    dropped,
    echo_key,
    finished_by_length,
    no_usage,
    overflow,
    overloaded,
    quota,
    rate_limited,
    refused_content,
    server_error,
    slow,
    tokens_of,
    trickle,
    truncated,
    wrong_usage,
)
from tests.unit.generation.asking import MODELS, PROVIDERS, ask, text_of

SHAPES = {
    "anthropic": r"sk-ant-api03-[\w-]{93}AA",
    "bedrock": r"AKIA[A-Z2-7]{16}",
    "openai": r"sk-proj-[\w-]{74}T3BlbkFJ[\w-]{74}",
    "azure": r"[0-9a-f]{32}",
    "gemini": r"AIza[\w-]{35}",
    "compatible": r"sk-\w{22}",
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_request_as_the_vendor_documents_it_is_answered(provider):
    with FakeProvider(provider, [answer("first"), answer("second")]) as server:
        assert [text_of(server, ask(server)) for _ in range(3)] == ["first", "second", "second"]
        assert [request.prompt for request in server.asked] == ["hi"] * 3
        assert not server.unknown
        assert server.asked[0].stream is False


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_wrong_key_is_refused_and_uses_nothing_of_the_script(provider):
    with FakeProvider(provider, [answer("only once"), rate_limited()]) as server:
        refused = ask(server, key="wrong")
        assert refused.status_code == {"bedrock": 403, "gemini": 400}.get(provider, 401)
        assert "only once" not in refused.text
        assert text_of(server, ask(server)) == "only once"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_unknown_path_is_recorded_and_answered_as_the_vendor_does(provider):
    with FakeProvider(provider) as server:
        found = httpx.post(f"{server.url}/v9/nothing", json={})
        assert found.status_code == 404
        assert found.json()
        assert [request.path for request in server.unknown] == ["/v9/nothing"]
        assert not server.asked


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_model_that_is_not_there(provider):
    with FakeProvider(provider, models=["another"]) as server:
        assert ask(server).status_code == (400 if provider == "bedrock" else 404)


STATUS = {
    "rate": dict.fromkeys(MODELS, 429),
    "overloaded": dict.fromkeys(MODELS, 503) | {"anthropic": 529},
    "quota": dict.fromkeys(MODELS, 429) | {"anthropic": 400, "bedrock": 400, "vertex": 403},
    "auth": dict.fromkeys(MODELS, 401) | {"bedrock": 403, "gemini": 400, "vertex": 403},
    "overflow": dict.fromkeys(MODELS, 400),
    "server": dict.fromkeys(MODELS, 502),
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_errors_have_the_vendors_status_and_shape(provider):
    failures = [rate_limited(7), overloaded(), quota(), auth_error(), overflow(), server_error(502)]
    with FakeProvider(provider, failures) as server:
        for failure in failures:
            found = ask(server, stream=failure.kind == "rate")  # an error looks the same to who asks for a stream
            assert found.status_code == STATUS[failure.kind][provider], failure
            body = found.json()
            assert body["message"] if provider == "bedrock" else body["error"]
            assert found.headers.get("retry-after") == (
                "7" if failure.kind == "rate" and provider != "gemini" else None
            )


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_cause_of_a_quota_and_of_a_rate_limit_has_its_own_words(provider):
    causes = [rate_limited(), rate_limited(cause="tokens"), quota(), quota("period")]
    with FakeProvider(provider, causes) as server:
        assert len({ask(server).text for _ in causes}) == len(causes)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_error_can_contain_the_key_that_was_sent(provider):
    with FakeProvider(provider, [echo_key()]) as server:
        shown = ask(server).text
        assert any(secret in shown for secret in server.secrets)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("stream", [False, True])
def test_a_truncated_answer_ends_with_the_connection(provider, stream):
    cut_off = pytest.raises(httpx.RemoteProtocolError, match="peer closed connection")
    with FakeProvider(provider, [truncated(4, "abcdefgh")]) as server, cut_off:
        ask(server, stream=stream)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("stream", [False, True])
def test_a_dropped_request_gets_no_byte(provider, stream):
    nothing = pytest.raises(httpx.RemoteProtocolError, match="without sending a response")
    with FakeProvider(provider, [dropped()]) as server, nothing:
        ask(server, stream=stream)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_was_sent_before_the_end_is_the_beginning_of_the_text(provider):
    # by hand: "abcdefgh" in 4 pieces is ab cd ef gh; of its first 3 characters come "ab" and "c"
    with FakeProvider(provider, [truncated(3, "abcdefgh", clean=True)]) as server:
        sent = ask(server, stream=True).content
        assert sent.index(b'"ab"') < sent.index(b'"c"')
        assert b'"cd"' not in sent
        assert b"h" in sent  # the rest of the frame is whole
        for end in (b"message_stop", b"messageStop", b"[DONE]", b"finishReason", b'"stop"'):
            assert end not in sent


@pytest.mark.parametrize("provider", PROVIDERS)
def test_broken_json(provider):
    with FakeProvider(provider, [broken_json()]) as server:
        found = ask(server)
        assert found.status_code == 200
        with pytest.raises(ValueError, match=r"line 1|Expecting|Unterminated"):
            found.json()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_token_counts(provider):
    prompt, text = "x" * 41, "y" * 9  # by hand, four characters a token: 11 and 3
    assert (tokens_of(prompt), tokens_of(text)) == (11, 3)
    with FakeProvider(provider, [answer(text), wrong_usage(1000, 2000, text), no_usage(text)]) as server:
        for pair in ((11, 3), (1000, 2000), None):
            found = counts_of(ask(server, prompt).json())
            assert found == pair


def counts_of(body: dict) -> tuple[int, int] | None:
    """The two token counts of a whole answer, whatever the vendor calls them."""
    told = body.get("usage") or body.get("usageMetadata")
    if told is None:
        return None
    names = re.compile(r"(input_tokens|inputTokens|prompt_tokens|promptTokenCount)")
    outputs = re.compile(r"(output_tokens|outputTokens|completion_tokens|candidatesTokenCount)")
    (given,) = (value for name, value in told.items() if names.fullmatch(name))
    (made,) = (value for name, value in told.items() if outputs.fullmatch(name))
    return given, made


@pytest.mark.parametrize("provider", PROVIDERS)
def test_why_an_answer_ended(provider):
    with FakeProvider(provider, [answer("a"), finished_by_length("a"), refused_content("a")]) as server:
        ends = [re.findall(ENDS, ask(server).text) for _ in range(3)]
        assert all(len(end) == 1 for end in ends)
        assert len({end[0] for end in ends}) == 3


ENDS = r'"(?:stop_reason|stopReason|finish_reason|finishReason)":"(\w+)"'


def test_an_answer_can_depend_on_the_prompt():
    with FakeProvider("openai", [answer(lambda request: request.prompt[::-1])]) as server:
        assert text_of(server, ask(server, "abc")) == "cba"


def test_a_fault_of_the_test_itself_does_not_pass_unseen():
    def fails(request):
        raise KeyError("no such prompt")

    told, unanswered = pytest.raises(KeyError, match="no such prompt"), pytest.raises(httpx.RemoteProtocolError)
    with told, FakeProvider("openai", [answer(fails)]) as server, unanswered:
        ask(server)


def test_the_script_can_change_while_the_server_runs():
    with FakeProvider("anthropic", [answer("a")]) as server:
        ask(server)
        server.script = [answer("b"), answer("c")]
        assert [text_of(server, ask(server)) for _ in range(3)] == ["b", "c", "c"]


def test_requests_at_the_same_time_get_one_behaviour_each():
    with FakeProvider("openai", [slow(0.05, str(number)) for number in range(16)]) as server:
        with ThreadPoolExecutor(16) as pool:
            texts = list(pool.map(lambda number: text_of(server, ask(server, str(number))), range(16)))
        assert sorted(texts, key=int) == [str(number) for number in range(16)]
        assert sorted(request.prompt for request in server.asked) == sorted(texts)
        assert [request.number for request in server.requests] == list(range(1, 17))


def test_slow_and_trickle_take_their_time():
    with FakeProvider("openai", [slow(0.2, "ab"), trickle(0.1, "abcd", pieces=4)]) as server:
        begin = time.monotonic()
        ask(server, stream=True)
        middle = time.monotonic()
        ask(server, stream=True)
        assert middle - begin >= 0.2
        assert time.monotonic() - middle >= 0.3  # three pauses between four pieces


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_killed_server_cuts_off_what_it_was_saying(provider):
    def text(request):
        threading.Timer(0.1, server.kill).start()
        return "abcdefgh"

    begin = time.monotonic()
    cut_off = pytest.raises(httpx.RemoteProtocolError, match="peer closed connection")
    with FakeProvider(provider, [trickle(60, text)]) as server, cut_off:
        ask(server, stream=True)
    assert time.monotonic() - begin < 20  # the answer would have taken seven minutes


def test_a_killed_server_is_gone():
    with FakeProvider("openai") as server, httpx.Client() as client:
        ask(server, client=client)  # leaves an open connection behind
        server.kill()
        server.kill()
        with pytest.raises(httpx.TransportError):
            ask(server, client=client)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])))


def test_a_client_that_hangs_up_is_noticed():
    with FakeProvider("openai", [trickle(0.02, "x" * 100, pieces=100)]) as server:
        with httpx.stream(
            "POST",
            f"{server.url}/v1/chat/completions",
            headers={"authorization": f"Bearer {server.secrets[0]}"},
            json={"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True},
        ) as response:
            next(response.iter_lines())
        until = time.monotonic() + 5
        while not server.abandoned and time.monotonic() < until:
            time.sleep(0.01)
        assert server.abandoned == 1


def test_no_thread_stays_behind():
    before = set(threading.enumerate())
    for provider in MODELS:
        with FakeProvider(provider) as server:
            httpx.post(f"{server.url}/nothing")
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("provider", list(SHAPES))
def test_keys_have_the_vendors_shape_and_come_from_the_seed(provider):
    keys = []
    for seed in (0, 0, 1):
        with FakeProvider(provider, seed=seed) as server:
            keys.append(server.secrets)
    assert re.fullmatch(SHAPES[provider], keys[0][0])
    assert keys[0] == keys[1]
    assert not set(keys[0]) & set(keys[2])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_keys_are_in_the_environment_and_not_in_the_settings(provider, tmp_path):
    with FakeProvider(provider) as server:
        environment = server.environment(tmp_path)
        shown = " ".join(environment.values()) + "".join(path.read_text() for path in tmp_path.iterdir())
        target = server.target()
        assert all(secret in shown for secret in server.secrets)
        assert target.settings["base_url"].startswith(server.url)
        assert not any(secret in repr(target) for secret in server.secrets)


def test_a_server_without_keys():
    with FakeProvider("compatible", keyless=True) as server:
        assert text_of(server, ask(server, key="anything")) == "an answer"
        assert "OPENAI_API_KEY" not in server.environment()


def test_names_that_do_not_exist():
    with pytest.raises(ValueError, match="no fake provider 'mistral'"):
        FakeProvider("mistral")
    with pytest.raises(ValueError, match="no cause 'luck'"):
        quota("luck")
    with pytest.raises(ValueError, match="no cause 'luck'"):
        rate_limited(cause="luck")
