"""One local HTTP server that answers as a provider does, after a script."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from generation.router.wire import Target
from tests.providers.behaviours import Behaviour, answer
from tests.providers.exchange import Request, Wire
from tests.providers.handler import Handler, cut_off
from tests.providers.wires import DEFAULT_MODELS, ROUTES, wire_of


class FakeProvider:
    """A provider on 127.0.0.1, speaking its own wire format; use it in a `with`.

    Args:
        provider: anthropic, bedrock, openai, azure, gemini, vertex or compatible.
        script: one behaviour per request that reaches a model (right path, right key, valid body); the last repeats.
        seed: of the keys.
        keyless: (compatible) asks for no key.
        bearer: (bedrock) takes a Bedrock API key instead of a signature.
        models: the only models there are; None takes every name.
    """

    def __init__(
        self,
        provider: str,
        script: Sequence[Behaviour] = (),
        seed: int = 0,
        keyless: bool = False,
        bearer: bool = False,
        models: Sequence[str] | None = None,
    ) -> None:
        if provider not in ROUTES:
            raise ValueError(f"no fake provider {provider!r}; there are {', '.join(ROUTES)}")
        self.provider = provider
        self.models = models
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._script = tuple(script) or (answer("an answer"),)
        self._used = 0
        self._requests: list[Request] = []
        self._abandoned = 0
        self._failures: list[BaseException] = []
        self._http = _Http(self)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.wire: Wire = wire_of(provider, self.url, seed, keyless, bearer)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name=f"fake {provider}")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        for failure in self._failures:
            if error is None:
                raise failure
            error.add_note(f"and the fake provider failed: {failure!r}")

    @property
    def script(self) -> tuple[Behaviour, ...]:
        """The behaviours; a new list begins with its first one at the next request."""
        with self._lock:
            return self._script

    @script.setter
    def script(self, script: Sequence[Behaviour]) -> None:
        with self._lock:
            self._script, self._used = tuple(script), 0

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request so far, in the order of arrival."""
        with self._lock:
            return tuple(self._requests)

    @property
    def asked(self) -> tuple[Request, ...]:
        """The requests for a model."""
        return tuple(request for request in self.requests if request.kind == "model")

    @property
    def unknown(self) -> tuple[Request, ...]:
        """The requests to paths that the provider does not have."""
        return tuple(request for request in self.requests if request.kind == "unknown")

    @property
    def abandoned(self) -> int:
        """How many answers the client hung up on: seen only where much or slow text (`trickle`) was still to come."""
        with self._lock:
            return self._abandoned

    @property
    def secrets(self) -> tuple[str, ...]:
        """Everything of this provider that must not leak: keys, tokens."""
        return self.wire.secrets()

    def environment(self, folder: Path | None = None) -> dict[str, str]:
        """Variables by which our routes get here, keys included; Vertex writes its key file to `folder`."""
        return self.wire.environment(self.url, folder)

    @property
    def settings(self) -> dict[str, str]:
        """Settings of a target on this route, such as `base_url`; never a key."""
        return self.wire.settings(self.url)

    def target(self, model: str = "") -> Target:
        """This server as the router's target; without a model the route's default one."""
        return Target(*ROUTES[self.provider], model or DEFAULT_MODELS[self.provider], self.settings)

    def kill(self) -> None:
        """Close the listening socket and every connection at once; what was being sent stays unfinished."""
        with self._lock:
            if self.stopping.is_set():
                return
            self.stopping.set()
        self._http.hang_up()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def record(self, request: Request) -> Request:
        """Keep a request; returned with its number."""
        with self._lock:
            numbered = replace(request, number=len(self._requests) + 1)
            self._requests.append(numbered)
            return numbered

    def next(self) -> tuple[Behaviour, int]:
        """The behaviour for the next request, and how many were used with it."""
        with self._lock:
            behaviour = self._script[min(self._used, len(self._script) - 1)]
            self._used += 1
            return behaviour, self._used

    def hung_up(self) -> None:
        """An answer could not be sent to its end."""
        with self._lock:
            self._abandoned += not self.stopping.is_set()

    def failed(self, error: BaseException) -> None:
        """A fault of the fake itself or of a test's callable; raised when the `with` ends."""
        with self._lock:
            self._failures.append(error)


class _Http(ThreadingHTTPServer):
    """Keeps its connections at hand, so that all can be closed at once, and leaves no thread behind."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def __init__(self, provider: FakeProvider) -> None:
        self.provider = provider
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
            if self.provider.stopping.is_set():
                cut_off(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Cut off the listening socket and all connections."""
        cut_off(self.socket)
        with self._guard:
            for connection in self._open:
                cut_off(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):  # a client may close a connection when it likes
            self.provider.failed(error)
