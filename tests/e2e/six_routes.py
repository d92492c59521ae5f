"""All routes with a client for each: what the tests of the six routes have in common."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from generation.errors import GenerationError
from generation.router.litellm_client import LiteLlmClient
from generation.router.wire import Call, Message, Reply, Target
from tests.providers import Behaviour, FakeProvider

QUIET = [
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


@contextmanager
def opened(folder: Path) -> Iterator[Callable[[str], Route]]:
    """Routes by name, each with one server until the end; `folder` takes key files."""
    known: dict[str, Route] = {}

    def route(name: str) -> Route:
        if name not in known:
            (folder / name).mkdir()
            known[name] = Route(FakeProvider(name), folder / name)
        return known[name]

    try:
        yield route
    finally:
        for each in known.values():
            each.server.kill()


def until(condition: Callable[[], bool], seconds: float = 3.0) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
