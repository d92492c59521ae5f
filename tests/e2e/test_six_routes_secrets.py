"""Keys, prompts and other servers: what must not happen on any route."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.six_routes import EVERYWHERE, QUESTION, QUIET, ROUTES, SHORT, STREAMED, Route, opened
from tests.providers import answer, broken_json, echo_key, fails_midway

pytestmark = [pytest.mark.llm, *QUIET]


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Route]]:
    with opened(tmp_path_factory.mktemp("routes")) as route:
        yield route


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
