"""The connection of one call over real sockets: time limit, cancelling, what it remembers."""

from __future__ import annotations

import gzip
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from generation.router.litellm_connection import LONGEST_ERROR_BODY, Connection, Watch, proxy_for

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"


@contextmanager
def served(*parts: bytes, pause: float = 0.0) -> Iterator[tuple[str, threading.Event]]:
    """A server that sends these parts to its one caller and then hangs up; and whether the caller did so before."""
    hung_up = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.settimeout(pause or 0.001)
            try:
                for part in parts:
                    connection.sendall(part)
                    if pause and _closed(connection):
                        hung_up.set()
                        return
            except OSError:
                hung_up.set()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/", hung_up
    finally:
        thread.join(5)
        listener.close()


def _closed(connection: socket.socket) -> bool:
    """Waits for the pause; whether the other side has hung up."""
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False


def get(url: str, watch: Watch) -> tuple[Connection, httpx.Response]:
    connection = Connection(watch, ssl.create_default_context())
    with connection, httpx.Client(transport=connection) as client:
        return connection, client.get(url)


def whole(seconds: float = 5.0, **given: object) -> Watch:
    return Watch(time.monotonic, time.monotonic() + seconds, **given)  # type: ignore[arg-type]


def test_an_answer_comes_through_and_its_end_is_kept() -> None:
    body = b"x" * 20_000 + b"end"
    with served(HEAD + b"content-length: 20003\r\n\r\n" + body) as (url, _):
        connection, response = get(url, whole())
    assert response.content == body
    assert (connection.exchange.status, connection.exchange.fault) == (200, "")
    assert connection.exchange.tail == body[-16_384:]


def test_a_server_that_trickles_is_left_at_the_time_limit() -> None:
    drops = [HEAD + b"content-length: 1000\r\n\r\n", *[b"."] * 100]
    watch = whole(0.4)
    begin = time.monotonic()
    with served(*drops, pause=0.05) as (url, hung_up):
        with pytest.raises(httpx.ReadTimeout):
            get(url, watch)
        took = time.monotonic() - begin
    assert watch.stopped == "late"
    assert 0.3 < took < 1.5
    assert hung_up.is_set()


def test_the_time_limit_holds_within_headers_too() -> None:
    watch = whole(0.4)
    headers = [b"HTTP/1.1 200 OK\r\n", *[b"a: b\r\n"] * 100]
    with served(*headers, pause=0.05) as (url, hung_up), pytest.raises(httpx.ReadTimeout):
        get(url, watch)
    assert watch.stopped == "late"
    assert hung_up.is_set()


def test_cancelling_closes_the_connection_while_nothing_comes() -> None:
    begin = time.monotonic()
    watch = whole(30.0, cancelled=lambda: time.monotonic() - begin > 0.2)
    with served(*[HEAD, *[b"a: b\r\n"] * 100], pause=0.3) as (url, hung_up):
        with pytest.raises(httpx.ReadTimeout):
            get(url, watch)
        assert time.monotonic() - begin < 1.0
    assert watch.stopped == "cancelled"
    assert hung_up.is_set()


def test_nothing_is_sent_after_cancelling() -> None:
    with pytest.raises(httpx.ReadTimeout):
        get("http://127.0.0.1:9/", whole(cancelled=lambda: True))


def test_an_error_is_kept_with_its_headers() -> None:
    head = b"HTTP/1.1 429 Too Many\r\nretry-after: 3\r\ncontent-length: 4\r\n\r\nslow"
    with served(head) as (url, _):
        connection, response = get(url, whole())
    exchange = connection.exchange
    assert (response.text, exchange.body, exchange.headers["retry-after"]) == ("slow", "slow", "3")


def test_a_compressed_error_is_readable() -> None:
    body = gzip.compress(b"slow")
    head = b"HTTP/1.1 500 No\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(body)
    with served(head + body) as (url, _):
        assert get(url, whole())[0].exchange.body == "slow"


@pytest.mark.parametrize("encoding", [b"gzip", b"identity"])
def test_an_error_without_end_is_cut(encoding: bytes) -> None:
    head = b"HTTP/1.1 500 No\r\ncontent-encoding: %b\r\ncontent-length: 99999999\r\n\r\n" % encoding
    with served(head, *[b"x" * 65_536] * 20) as (url, _):
        connection, response = get(url, whole())
    assert response.status_code == 500
    assert len(connection.exchange.body) < LONGEST_ERROR_BODY + 65_536 + 1


def test_a_connection_that_breaks_off_is_named() -> None:
    with served(HEAD + b"content-length: 10\r\n\r\nhalf") as (url, _):
        connection = Connection(whole(), ssl.create_default_context())
        with connection, httpx.Client(transport=connection) as client, pytest.raises(httpx.RemoteProtocolError):
            client.get(url)
    assert (connection.exchange.status, connection.exchange.fault) == (200, "RemoteProtocolError")


def test_redirects_are_not_followed() -> None:
    with served(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n") as (url, _):
        assert get(url, whole())[1].status_code == 302


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        ("https://api.example/v1", {}, None),
        ("https://api.example/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.example/v1", {"HTTPS_PROXY": "http://p:1", "https_proxy": "http://q:1"}, "http://q:1"),
        ("http://api.example/v1", {"HTTPS_PROXY": "http://p:1"}, None),
        ("http://localhost:11434/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://127.0.0.1:8000/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://localhost.example/v1", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.example/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a.example, .example"}, None),
        ("https://api.example/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "pi.example"}, "http://p:1"),
        ("https://api.example/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("https://api.example/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*.example"}, None),
    ],
)
def test_a_proxy_is_the_one_that_is_named(url: str, environment: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(url, environment) == proxy


def test_waiting_in_slices_loses_nothing_of_an_encrypted_stream(tmp_path: Path) -> None:
    trusted, own = _certificate(tmp_path)
    watch = whole(cancelled=lambda: False)  # asks 20 times a second: every pause below takes several slices
    parts = [HEAD + b"content-length: 12\r\n\r\n", b"one ", b"two ", b"four"]
    with _encrypted(own, parts, pause=0.12) as url:
        connection = Connection(watch, trusted)
        with connection, httpx.Client(transport=connection) as client:
            assert client.get(url).text == "one two four"


def test_an_unknown_certificate_is_refused(tmp_path: Path) -> None:
    _, own = _certificate(tmp_path)
    with _encrypted(own, [], pause=0.0) as url, pytest.raises(httpx.ConnectError):
        get(url, whole())


def _certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A client's context that trusts a new certificate of 127.0.0.1, and a server's that shows it."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = (
        builder.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    )
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = builder.add_extension(address, critical=False).sign(key, hashes.SHA256())
    form, coding = serialization.PrivateFormat.PKCS8, serialization.Encoding.PEM
    path = folder / "server.pem"
    secret = key.private_bytes(coding, form, serialization.NoEncryption())
    path.write_bytes(secret + certificate.public_bytes(coding))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return ssl.create_default_context(cadata=certificate.public_bytes(coding).decode()), server


@contextmanager
def _encrypted(context: ssl.SSLContext, parts: list[bytes], pause: float) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        plain, _ = listener.accept()
        try:
            with context.wrap_socket(plain, server_side=True) as connection:
                connection.recv(65_536)
                for part in parts:
                    time.sleep(pause)
                    connection.sendall(part)
        except OSError:
            return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        thread.join(5)
        listener.close()


def test_a_proxy_is_used() -> None:
    with served(HEAD + b"content-length: 2\r\n\r\nok") as (url, _):
        connection = Connection(whole(), ssl.create_default_context(), proxy=url)
        with connection, httpx.Client(transport=connection) as client:
            assert client.get("http://nowhere.invalid/").text == "ok"
