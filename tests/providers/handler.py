"""Reads requests, asks the wire what they mean and the script what to do, and writes the outcome."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.providers.behaviours import Answer, Dropped, overloaded
from tests.providers.exchange import Request, Response, Said, Stream

if TYPE_CHECKING:
    from tests.providers.server import FakeProvider


class Handler(BaseHTTPRequestHandler):
    """One connection, kept alive from request to request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def provider(self) -> FakeProvider:
        """The fake provider whose connection this is."""
        return self.server.provider  # type: ignore[attr-defined, no-any-return]

    def do_POST(self) -> None:
        request = self.read_request()
        try:
            self.reply(request)
        except OSError:
            self.close_connection = True
            self.provider.hung_up()

    do_GET = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_POST  # noqa: N815 - the base class asks for these names

    def read_request(self) -> Request:
        """The request, read to its end and recorded."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        at = time.monotonic()
        request = Request(self.command, self.path, unquote(parts.path), query, headers, body, at)
        kind, asked = self.provider.wire.read(request)
        return self.provider.record(replace(request, kind=kind, asked=asked))

    def reply(self, request: Request) -> None:
        """Whatever comes back: what is wrong with the request, else the next behaviour of the script."""
        wire = self.provider.wire
        if request.kind != "model":
            self.write_whole(wire.other(request))
        elif refusal := wire.refusal(request):
            self.write_whole(refusal)
        elif self.provider.models is not None and request.model not in self.provider.models:
            self.write_whole(wire.no_model(request))
        else:
            self.behave(request)

    def behave(self, request: Request) -> None:
        """Do what the script says."""
        behaviour, number = self.provider.next()
        if isinstance(behaviour, Dropped):
            self.drop()
        elif isinstance(behaviour, Answer):
            said = behaviour.say(request, number)
            self.wait(behaviour.delay)
            (self.say_in_parts if request.stream else self.say)(request, behaviour, said)
        else:
            self.write_whole(self.provider.wire.failure(request, behaviour))

    def say(self, request: Request, behaviour: Answer, said: Said) -> None:
        """A whole answer, with what the behaviour does to it."""
        self.wait(behaviour.between * max(0, len(said.pieces) - 1))
        if behaviour.midway:
            return self.write_whole(self.provider.wire.failure(request, overloaded()))
        response = self.provider.wire.whole(request, said)
        if behaviour.broken:
            return self.write_whole(response, len(response.body) // 2, clean=True)
        if behaviour.cut is not None:
            return self.write_whole(response, end_of(response.body, said.text[: behaviour.cut]), behaviour.clean)
        return self.write_whole(response)

    def say_in_parts(self, request: Request, behaviour: Answer, said: Said) -> None:
        """A chunked answer, with what the behaviour does to it."""
        stream = self.provider.wire.stream(request, said)
        if isinstance(stream, Response):
            self.write_whole(stream)
            return
        self.write_head(200, {"Content-Type": stream.content_type, "Transfer-Encoding": "chunked", **stream.headers})
        for number, part in enumerate(self.parts(request, behaviour, said, stream)):
            if number > len(stream.head):
                self.wait(behaviour.between)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        if behaviour.cut is None or behaviour.clean or behaviour.midway:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.drop()

    def parts(self, request: Request, behaviour: Answer, said: Said, stream: Stream) -> Iterator[bytes]:
        """What goes out of a stream."""
        wire = self.provider.wire
        yield from stream.head
        if behaviour.broken:
            yield from stream.texts[:1]
            yield wire.broken(request)
        elif behaviour.cut is None:
            yield from stream.texts
            yield from stream.tail
        else:
            begun = wire.stream(request, replace(said, pieces=tuple(first_characters(said.pieces, behaviour.cut))))
            yield from begun.texts if isinstance(begun, Stream) else ()
            if behaviour.midway:
                yield wire.midway(request)

    def write_whole(self, response: Response, until: int | None = None, clean: bool = False) -> None:
        """All of a response, or its first bytes; `clean`: these are said to be all."""
        body = response.body[:until]
        length = len(body) if clean else len(response.body)
        self.write_head(
            response.status,
            {"Content-Type": response.content_type, "Content-Length": str(length), **response.headers},
        )
        if self.command != "HEAD":
            self.wfile.write(body)
        if until is not None and not clean:
            self.drop()

    def write_head(self, status: int, headers: Mapping[str, str]) -> None:
        """Status line and headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def wait(self, seconds: float) -> None:
        """Sleep, unless the server is killed meanwhile.

        Raises:
            ConnectionAbortedError: the server was killed.
        """
        if self.provider.stopping.wait(seconds):
            raise ConnectionAbortedError("the fake provider was killed")

    def drop(self) -> None:
        """Close the connection here and now."""
        self.close_connection = True
        self.wfile.flush()
        cut_off(self.connection)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Nothing is printed."""


def cut_off(connection: socket.socket) -> None:
    """End a connection for both sides."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was quicker


def first_characters(pieces: Sequence[str], count: int) -> Iterator[str]:
    """The pieces of the first `count` characters."""
    for piece in pieces:
        if count <= 0:
            return
        yield piece[:count]
        count -= len(piece)


def end_of(body: bytes, text: str) -> int:
    """Where `text`, as it is written in JSON, ends within `body`; half of the body where it is not in it."""
    written = json.dumps(text, ensure_ascii=False)[1:-1].encode()
    at = body.find(written) if written else -1
    return len(body) // 2 if at < 0 else at + len(written)
