"""The same structured answer through every route, over real sockets; what fails is told, and never half an answer."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

if importlib.util.find_spec("litellm") is None:  # not imported here: that takes seconds
    pytest.skip("needs litellm", allow_module_level=True)

from generation.api import Answerer, Route, answer
from generation.errors import AuthError, CapacityError, GenerationError, ProviderError
from generation.generator import Listener
from generation.schema import Answer, Source
from ingestion.config import ROOT
from tests.e2e.six_routes import EVERYWHERE, QUIET, ROUTES, STREAMED
from tests.providers import (
    Behaviour,
    FakeProvider,
    echo_key,
    rate_limited,
    server_error,
    trickle,
    truncated,
)
from tests.providers import answer as says
from tests.unit.generation.asking import forget_keys
from tests.unit.generation.bundled import bundled

pytestmark = QUIET
QUESTION = "What does the Silent Chunk Rule forbid?"
ROUTER = """\
chain: [anthropic/direct, openai/direct]
routes:
  anthropic/direct:
    models: [claude-sonnet-5]
  openai/direct:
    models: [gpt-5.5]
  anthropic/bedrock:    # a second request would wait a minute for these two
    output_tpm: off
  gemini/direct:
    input_tpm: off
    output_tpm: off
retry:
  attempts: 1
  base: 0
cache: off
folder: {folder}
"""


@dataclass
class Follower:
    """Notes what it is told, and may do something at the first claim."""

    told: list[str] = field(default_factory=list)
    then: threading.Thread | None = None

    def listener(self, follows: bool = True) -> Listener:
        return Listener(self._claim, lambda why: self.told.append(f"({why})"), follows=follows)

    def _claim(self, claim) -> None:
        self.told.append(claim.text)
        if self.then is not None:
            self.then.start()
            self.then = None


@pytest.fixture
def router(tmp_path, monkeypatch) -> Path:
    """A router file with state of this test alone, where no key of the machine is."""
    forget_keys(monkeypatch)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "router.yaml"
    path.write_text(ROUTER.format(folder=tmp_path / "router"))
    return path


@pytest.fixture(scope="module")
def sources() -> tuple[Source, ...]:
    return Answerer.open(bundled(), Route()).evidence([QUESTION])[0].sources


def cut(source: Source, begin: int, words: int) -> tuple[int, int]:
    """Where so many words of a source begin and end."""
    found = list(re.finditer(r"\S+", source.text))[begin : begin + words]
    return found[0].start(), found[-1].end()


@pytest.fixture(scope="module")
def places(sources) -> list[tuple[Source, int, int]]:
    """Three stretches of two sources."""
    cuts = [(sources[0], 3, 12), (sources[1], 0, 9), (sources[0], 20, 11)]
    return [(source, *cut(source, begin, words)) for source, begin, words in cuts]


@pytest.fixture(scope="module")
def reply(places) -> str:
    """What the model says: two claims with three quotes, one of an unknown source, and one that stands nowhere."""
    cited = [{"source": source.id, "quote": source.text[start:end]} for source, start, end in places]
    wrong = [{"source": "S99", "quote": "what is not there"}, {"source": "S1", "quote": "zeppelins over the lake"}]
    lines = [
        {"claim": "Zürich’s “first” claim.", "citations": cited[:2]},
        {"claim": "The second claim.", "citations": [cited[2], *wrong]},
        {"end": True, "claims": 2},
    ]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)


def check(made: Answer, places, sources) -> None:
    """The whole answer, however it came here."""
    quotes = [source.cite(start, end) for source, start, end in places]
    assert [(claim.text, claim.citations) for claim in made.claims] == [
        ("Zürich’s “first” claim.", (quotes[0], quotes[1])),
        ("The second claim.", (quotes[2],)),
    ]
    assert (made.sources, made.refused, made.generator) == (sources, False, "chat")
    assert made.removed == {"quotes not found": 1, "unknown sources": 1}
    assert all(claim.probability is not None for claim in made.claims)


def known(patch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        patch.setenv(name, value)


@EVERYWHERE
@STREAMED
def test_every_route_gives_the_same_answer(name, stream, router, sources, places, reply, tmp_path, monkeypatch):
    provider, route, _ = ROUTES[name]
    follower = Follower()
    with FakeProvider(name, [says(reply, pieces=9)]) as server:
        known(monkeypatch, server.environment(tmp_path))
        where = Route(str(router), provider, route)
        made = answer(QUESTION, searcher=bundled(), route=where, listener=follower.listener(stream))
        (request,) = server.asked
    check(made, places, sources)
    assert (made.route, made.fallback) == (f"{provider}/{route}", "")
    assert request.stream is stream
    assert (made.usage.counted, made.usage.output_tokens) == (True, -(-len(reply) // 4))
    assert follower.told == [claim.text for claim in made.claims]
    prompt = " ".join(text for _, text in request.messages)
    assert all(json.dumps(source.text, ensure_ascii=False) in prompt for source in sources)


@EVERYWHERE
def test_a_server_that_dies_midway_gives_an_error_and_no_answer(name, router, reply, tmp_path, monkeypatch):
    provider, route, model = ROUTES[name]
    known(monkeypatch, {f"{provider}_{route}_MODEL".upper(): model})
    with FakeProvider(name, [trickle(0.05, reply, pieces=30)]) as server:
        known(monkeypatch, server.environment(tmp_path))
        follower = Follower(then=threading.Thread(target=server.kill))
        where = Route(str(router), provider, route, model)
        with pytest.raises(GenerationError) as caught:
            answer(QUESTION, searcher=bundled(), route=where, listener=follower.listener())
        secrets = server.secrets
    assert type(caught.value) in (ProviderError, CapacityError)
    assert f"{provider}/{route}, {model}" in str(caught.value)
    assert follower.told[0] == "Zürich’s “first” claim."
    assert "The second claim." not in follower.told
    assert not any(secret in str(caught.value) for secret in secrets)


@pytest.fixture
def two(monkeypatch):
    """Two servers, of the first and of the second route in the chain."""
    with FakeProvider("anthropic") as first, FakeProvider("openai") as second:
        known(monkeypatch, {**first.environment(), **second.environment()})
        yield first, second


def test_after_a_death_midway_the_next_route_gives_the_whole_answer(router, two, sources, places, reply):
    first, second = two
    first.script, second.script = [trickle(0.05, reply, pieces=30)], [says(reply, pieces=9)]
    follower = Follower(then=threading.Thread(target=first.kill))
    made = answer(QUESTION, searcher=bundled(), route=Route(str(router)), listener=follower.listener())
    check(made, places, sources)
    assert made.route == "openai/direct"
    assert "anthropic/direct, claude-sonnet-5" in made.fallback
    claim, restart, *again = follower.told
    assert (claim, restart[0]) == (made.claims[0].text, "(")
    assert again == [claim.text for claim in made.claims]


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [(server_error(503), "CapacityError"), (rate_limited(30.0), "RateLimitError"), (echo_key(), "AuthError")],
)
@STREAMED
def test_a_route_that_fails_is_passed_over_and_the_answer_says_so(
    behaviour: Behaviour, error, stream, router, two, sources, places, reply
):
    first, second = two
    first.script, second.script = [behaviour], [says(reply)]
    follower = Follower()
    made = answer(QUESTION, searcher=bundled(), route=Route(str(router)), listener=follower.listener(stream))
    check(made, places, sources)
    assert (made.route, follower.told) == ("openai/direct", [claim.text for claim in made.claims])
    assert made.fallback == f"answered by openai/direct, gpt-5.5 after anthropic/direct, claude-sonnet-5 ({error})"
    assert not any(secret in str(made) for secret in (*first.secrets, *second.secrets))


@pytest.mark.parametrize("clean", [True, False])
def test_a_stream_that_ends_early_is_no_answer(clean, router, two, reply):
    first, second = two
    short = reply.index('{"end"')
    first.script = second.script = [truncated(short, reply, clean=clean)]
    follower = Follower()
    with pytest.raises(ProviderError, match="no route gave a reply"):
        answer(QUESTION, searcher=bundled(), route=Route(str(router)), listener=follower.listener())
    assert any(told.startswith("(") for told in follower.told)


def test_when_all_routes_fail_each_is_named_with_its_remedy(router, two):
    first, second = two
    first.script, second.script = [server_error(500)], [echo_key()]
    with pytest.raises(GenerationError) as caught:
        answer(QUESTION, searcher=bundled(), route=Route(str(router)))
    text = str(caught.value)
    assert isinstance(caught.value, CapacityError | AuthError)
    assert "anthropic/direct, claude-sonnet-5: CapacityError" in text
    assert "openai/direct, gpt-5.5: AuthError" in text
    assert text.count("Remedy: ") == 2
    assert not any(secret in text for secret in (*first.secrets, *second.secrets))


def typed(router: Path, server: FakeProvider, *more: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with this server's key and no other."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "RANKPROOF_DATA") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "generation", "ask", QUESTION, "provider=compatible", f"router={router}", *more],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**kept, **server.environment(), "COLUMNS": "100", "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        check=False,
    )


def test_the_command_asks_a_server_of_ones_own(router, sources, places, reply):
    with FakeProvider("compatible", [says(reply, pieces=9)]) as server:
        done = typed(router, server, "--stream")
        secrets = server.secrets
        (request,) = server.asked
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1. Zürich’s “first” claim. [S1] [S2] (")
    assert "1 quotes not found removed" in done.stdout
    assert "(chat, compatible/any, llama3.1, " in done.stdout.splitlines()[-1]
    assert request.stream
    assert not any(secret in done.stdout for secret in secrets)


def test_a_key_that_a_server_sends_back_is_shown_nowhere(router):
    with FakeProvider("compatible", [echo_key()]) as server:
        done = typed(router, server, "--json")
        secrets = server.secrets
    assert (done.returncode, done.stdout) == (1, "")
    assert "\ngeneration: AuthError: no route gave a reply:" in f"\n{done.stderr}"
    assert "OPENAI_API_KEY" in done.stderr
    assert secrets
    assert not any(secret in done.stderr for secret in secrets)
