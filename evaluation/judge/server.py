"""The judging page on this machine: a few routes of the standard library's web server, for one browser.

Any web page can send requests to 127.0.0.1. So every request must name this server as its host (no rebound DNS name),
a request that changes something must come from this page (its origin), and all but the style and script files must
carry the token of the printed address.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from evaluation.judge.desk import Desk
from evaluation.pool.file import PoolError

FOLDER = Path(__file__).resolve().parent
FILES = {
    "/": ("judge.html", "text/html; charset=utf-8"),
    "/judge.css": ("judge.css", "text/css; charset=utf-8"),
    "/judge.js": ("judge.js", "text/javascript; charset=utf-8"),
}
OPEN = ("/judge.css", "/judge.js")  # the same for everybody: no token
LARGEST = 100_000  # bytes of a request
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; img-src data:; frame-ancestors 'none'; form-action 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class RequestRefusedError(Exception):
    """A request that this server does not answer, with its HTTP status."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class JudgeServer(ThreadingHTTPServer):
    """Serves one desk on 127.0.0.1; port 0 takes a free one. `address` is what the judge opens."""

    daemon_threads = True

    def __init__(self, desk: Desk, port: int = 0) -> None:
        self.desk, self.token = desk, secrets.token_urlsafe(16)
        super().__init__(("127.0.0.1", port), Handler)

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """The names by which this server may be called."""
        return f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"

    @property
    def address(self) -> str:
        """The page's address with its token."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"


class Handler(BaseHTTPRequestHandler):
    """One request: checked, answered, never logged."""

    server: JudgeServer

    def do_GET(self) -> None:
        """The page, its files, and `/state`: all passages with their grades."""
        self._answered(self._get)

    def do_POST(self) -> None:
        """`/judge` {number, grade, comment} and `/undo` {}."""
        self._answered(self._post)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Nothing: the terminal belongs to the judge."""

    def _answered(self, handle: Any) -> None:
        try:
            self._check_host()
            handle(urlsplit(self.path).path)
        except RequestRefusedError as error:
            self._send(error.status, "text/plain; charset=utf-8", f"{error}\n".encode())

    def _get(self, path: str) -> None:
        if path not in OPEN:
            self._check_token()
        if path == "/state":
            self._json(self.server.desk.state())
        elif path in FILES:
            name, kind = FILES[path]
            self._send(HTTPStatus.OK, kind, (FOLDER / name).read_bytes())
        else:
            raise RequestRefusedError(HTTPStatus.NOT_FOUND, "there is no such page")

    def _post(self, path: str) -> None:
        self._check_token()
        self._check_origin()
        content, desk = self._content(), self.server.desk
        if path == "/judge":
            number, grade, comment = _judgment(content)
            try:
                row = desk.judge(number, grade, comment)
            except PoolError as error:
                raise RequestRefusedError(HTTPStatus.BAD_REQUEST, str(error)) from error
            self._json({"number": number, "grade": row.grade, "comment": row.comment})
        elif path == "/undo":
            undone = desk.undo()
            row = desk.passage(undone or 0)
            self._json({"number": undone, "grade": row.grade, "comment": row.comment})
        else:
            raise RequestRefusedError(HTTPStatus.NOT_FOUND, "there is no such page")

    def _check_host(self) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            raise RequestRefusedError(HTTPStatus.FORBIDDEN, "another host was asked")

    def _check_origin(self) -> None:
        origin = self.headers.get("Origin")
        if origin is not None and origin not in [f"http://{host}" for host in self.server.hosts]:
            raise RequestRefusedError(HTTPStatus.FORBIDDEN, "another page asked")
        if self.headers.get("Content-Type") != "application/json":
            raise RequestRefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "JSON is needed")

    def _check_token(self) -> None:
        given = parse_qs(urlsplit(self.path).query).get("token", [""])[0]
        if not secrets.compare_digest(given.encode(), self.server.token.encode()):
            raise RequestRefusedError(HTTPStatus.FORBIDDEN, "wrong token: open the address that the command printed")

    def _content(self) -> Mapping[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST:
            raise RequestRefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {LARGEST} bytes")
        try:
            content = json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise RequestRefusedError(HTTPStatus.BAD_REQUEST, "no JSON") from error
        if not isinstance(content, dict):
            raise RequestRefusedError(HTTPStatus.BAD_REQUEST, "no JSON object")
        return content

    def _json(self, content: object) -> None:
        self._send(HTTPStatus.OK, "application/json", json.dumps(content).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _judgment(content: Mapping[str, Any]) -> tuple[int, int | None, str]:
    """Number, grade and comment of a request."""
    number, grade, comment = content.get("number"), content.get("grade"), content.get("comment", "")
    whole = [value for value in (number, grade) if value is not None]
    if number is None or any(type(value) is not int for value in whole) or not isinstance(comment, str):
        raise RequestRefusedError(
            HTTPStatus.BAD_REQUEST, "number, grade and comment: a number, a number or null, text"
        )
    return number, grade, comment
