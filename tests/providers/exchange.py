"""What passes between the HTTP server and one vendor's wire format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from tests.providers.behaviours import Failure


@dataclass(frozen=True)
class Asked:
    """What a request asks of a model, whatever the wire format; `messages` are (role, text), the system prompt first.

    `extra`: what only its own wire format needs to know again while it answers.
    """

    model: str
    stream: bool
    messages: tuple[tuple[str, str], ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def prompt(self) -> str:
        """All texts, one below the other."""
        return "\n".join(text for _, text in self.messages)


@dataclass(frozen=True)
class Request:
    """One request as it arrived, the `number`-th of its server from 1.

    Header names are in lower case, `target` is path and query undecoded, `at` seconds of a monotonic clock. `kind` is
    `model`, `token` (an OAuth endpoint) or `unknown`; `asked` is None but for the first.
    """

    method: str
    target: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    at: float
    kind: str = "unknown"
    asked: Asked | None = None
    number: int = 0

    @property
    def json(self) -> Any:
        """The parsed body; None where it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self.asked.model if self.asked else ""

    @property
    def stream(self) -> bool:
        """Whether a stream is asked for."""
        return bool(self.asked and self.asked.stream)

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """(role, text) of every message, the system prompt first."""
        return self.asked.messages if self.asked else ()

    @property
    def prompt(self) -> str:
        """All texts of the messages, one below the other."""
        return self.asked.prompt if self.asked else ""


@dataclass(frozen=True)
class Response:
    """A response that goes out whole."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


@dataclass(frozen=True)
class Stream:
    """A response that goes out in parts: `head`, one part per piece of text, `tail`; only `tail` has the end."""

    head: tuple[bytes, ...]
    texts: tuple[bytes, ...]
    tail: tuple[bytes, ...]
    content_type: str = "text/event-stream; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Said:
    """What the model says to one request; `finish` is `stop`, `length` or `filter`; no `usage`: none is told."""

    text: str
    pieces: tuple[str, ...]
    finish: str = "stop"
    usage: tuple[int, int] | None = None
    thoughts: str = ""
    number: int = 1


class Wire(Protocol):
    """One vendor's API as its server has it."""

    def read(self, request: Request) -> tuple[str, Asked | None]:
        """Kind of the request (`model`, `token`, `unknown`) and, for `model`, what it asks."""

    def refusal(self, request: Request) -> Response | None:
        """The error for a wrong key or an invalid request; None where all is right."""

    def other(self, request: Request) -> Response:
        """The answer to what is no request for a model: a token, or 404 in the vendor's shape."""

    def no_model(self, request: Request) -> Response:
        """The error for a model that is not there."""

    def failure(self, request: Request, failure: Failure) -> Response:
        """An error in the vendor's shape."""

    def whole(self, request: Request, said: Said) -> Response:
        """An answer in one piece."""

    def stream(self, request: Request, said: Said) -> Stream | Response:
        """An answer in many pieces; a response where the vendor refuses before it streams."""

    def broken(self, request: Request) -> bytes:
        """A part of a stream that cannot be parsed."""

    def midway(self, request: Request) -> bytes:
        """The part of a stream that tells of an overloaded server after the stream has begun."""

    def credential(self, request: Request) -> str:
        """The key that the request shows."""

    def environment(self, url: str, folder: Path | None) -> dict[str, str]:
        """Environment variables by which our routes get here; the vendors' own names where those are read too."""

    def settings(self, url: str) -> dict[str, str]:
        """Settings of a target on this route, without any key."""

    def secrets(self) -> tuple[str, ...]:
        """Everything that must not leak."""


def as_json(value: object) -> bytes:
    """Compact JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def sse(value: object, event: str = "", end: str = "\n") -> bytes:
    """One server-sent event."""
    name = f"event: {event}{end}".encode() if event else b""
    return name + b"data: " + as_json(value) + (end * 2).encode()


def texts_of(content: object) -> str:
    """Text of a message's content, given as a string or as a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in content)
    return ""
