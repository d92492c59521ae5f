"""The connection of one call: it ends at a deadline or when the caller cancels, and remembers what came back."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import httpcore
import httpx

# The longest that a cancelling caller waits until the connection is closed, in seconds.
POLL = 0.05
MOMENT = 0.001
CONNECT_TIMEOUT = 10.0
# An error's body is an explanation, not data: what is longer is cut, whatever a server sends. Bytes.
LONGEST_ERROR_BODY = 65_536
LONGEST_TAIL = 16_384


@dataclass
class Watch:
    """When to stop waiting for one call; `stopped` is `cancelled` or `late` once it has stopped it.

    A time limit of httpx holds for one read at a time, so a server that sends a byte a second is never too slow for
    it; this limit holds for the whole call.
    """

    clock: Callable[[], float]
    deadline: float
    cancelled: Callable[[], bool] | None = None
    stopped: str = ""

    def over(self) -> bool:
        """Whether the call is to end now."""
        if not self.stopped and self.cancelled is not None and self.cancelled():
            self.stopped = "cancelled"
        if not self.stopped and self.clock() >= self.deadline:
            self.stopped = "late"
        return bool(self.stopped)

    def left(self) -> float:
        """Seconds until the next look at the clock and the caller, above 0.

        Raises:
            httpcore.ReadTimeout: the time is up, or the caller has cancelled.
        """
        rest = self.rest()
        return rest if self.cancelled is None else min(rest, POLL)

    def rest(self) -> float:
        """Seconds until the time is up, above 0.

        Raises:
            httpcore.ReadTimeout: the time is up, or the caller has cancelled.
        """
        if self.over():
            raise httpcore.ReadTimeout(self.stopped)
        return max(MOMENT, self.deadline - self.clock())


@dataclass
class Exchange:
    """What came back: status (0 if nothing did), headers and, of an error, the body as text.

    `tail`: the last bytes of any other body; `fault` names what broke the connection, such as `ConnectError`.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    tail: bytes = b""
    fault: str = ""


class _Stream(httpcore.NetworkStream):
    """A socket whose every wait is cut into slices, so that the watch is asked between them."""

    def __init__(self, stream: httpcore.NetworkStream, watch: Watch) -> None:
        self._stream = stream
        self._watch = watch

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            left = self._watch.left()
            try:
                return self._stream.read(max_bytes, timeout=left)
            except httpcore.ReadTimeout:
                continue

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout=self._watch.rest())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        limit = min(CONNECT_TIMEOUT, self._watch.rest())
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, limit), self._watch)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    """Opens watched sockets."""

    def __init__(self, watch: Watch) -> None:
        self._backend = httpcore.SyncBackend()
        self._watch = watch

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        limit = min(CONNECT_TIMEOUT, self._watch.rest())
        return _Stream(self._backend.connect_tcp(host, port, limit, local_address, socket_options), self._watch)


class _Body(httpx.SyncByteStream):
    """A response's body, with the errors of httpcore under their names of httpx."""

    def __init__(self, response: httpcore.Response, exchange: Exchange) -> None:
        self._response = response
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        try:
            for piece in self._response.iter_stream():
                self._exchange.tail = (self._exchange.tail + piece)[-LONGEST_TAIL:]
                yield piece
        except _FAULTS as error:
            raise _named(error, self._exchange) from None

    def close(self) -> None:
        self._response.close()


_FAULTS = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError)


def _named(error: Exception, exchange: Exchange) -> httpx.TransportError:
    exchange.fault = type(error).__name__
    kind = getattr(httpx, exchange.fault, httpx.TransportError)
    return kind(str(error))


class Connection(httpx.BaseTransport):
    """A transport of httpx for one call of ours; `exchange` is what came back.

    Redirects are not followed, cookies not kept, and a proxy is used only if `proxy` names one.
    """

    def __init__(self, watch: Watch, tls: ssl.SSLContext, proxy: str | None = None) -> None:
        self.exchange = Exchange()
        backend = _Backend(watch)
        self._pool: httpcore.ConnectionPool = (
            httpcore.HTTPProxy(proxy, ssl_context=tls, network_backend=backend)
            if proxy
            else httpcore.ConnectionPool(ssl_context=tls, network_backend=backend)
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request and return the response; an error's body is read and kept first."""
        url = request.url
        assert isinstance(request.stream, httpx.SyncByteStream)
        raw = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        try:
            response = self._pool.handle_request(raw)
        except _FAULTS as error:
            raise _named(error, self.exchange) from None
        body = _Body(response, self.exchange)
        answer = httpx.Response(response.status, headers=response.headers, stream=body)
        self.exchange.status = response.status
        self.exchange.headers = dict(answer.headers)
        return answer if response.status < httpx.codes.MULTIPLE_CHOICES else self._refused(answer, body)

    def _refused(self, answer: httpx.Response, body: _Body) -> httpx.Response:
        read = bytearray()
        try:
            for piece in body:
                read += piece
                if len(read) >= LONGEST_ERROR_BODY:
                    break
        except httpx.TransportError:
            read += b""
        finally:
            body.close()
        whole = httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(bytes(read)))
        try:
            whole.read()
        except httpx.DecodingError:
            whole = httpx.Response(answer.status_code, content=b"")
        self.exchange.body = whole.text
        return whole

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """Close the connection."""
        self.close()


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that `HTTPS_PROXY` or `HTTP_PROXY` names (small letters first).

    None for this computer itself, and for hosts and domains in `NO_PROXY`.
    """
    address = httpx.URL(url)
    if address.host in ("localhost", "::1") or address.host.startswith("127."):
        return None
    names = (f"{address.scheme}_proxy", f"{address.scheme.upper()}_PROXY")
    proxy = next((environment[name] for name in names if environment.get(name)), None)
    excluded = (environment.get("no_proxy") or environment.get("NO_PROXY") or "").replace(" ", "").split(",")
    ends = [end.removeprefix("*").removeprefix(".") for end in excluded if end]
    free = "*" in excluded or any(address.host == end or address.host.endswith(f".{end}") for end in ends)
    return None if free else proxy
