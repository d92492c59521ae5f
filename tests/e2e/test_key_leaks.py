"""Planted keys of every shape in a process that logs, fails, stores and crashes: none is found in any sink.

The servers repeat the key that they were sent in their errors; the client, the router, MLflow's store and the sockets
are real.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from generation.router.needs import NEEDS
from ingestion.config import ROOT
from tests.planted_keys import Planted, planted
from tests.providers import FakeProvider, answer, echo_key

KNOWN, STRANGERS = planted(21), planted(22)
SERVERS = ("anthropic", "bedrock", "openai", "azure", "gemini", "vertex", "compatible")
SINKS = ("log", "output", "results", "mlflow", "traceback", "router")
FILES = {"log": "log.txt", "results": "run", "mlflow": "mlflow.db", "router": "router"}


@dataclass(frozen=True)
class Outcome:
    """What is left of a run: its folder, what it printed, and the keys that the servers got."""

    folder: Path
    out: str
    err: str
    server_keys: tuple[str, ...]

    def text(self, sink: str) -> bytes:
        """Everything in a sink, binary files included."""
        if sink == "output":
            return f"{self.out}\n{self.err.partition('Traceback')[0]}".encode()
        if sink == "traceback":
            return self.err.encode()
        paths = [self.folder / FILES[sink], *([self.folder / "results" / "mlartifacts"] if sink == "mlflow" else [])]
        files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
        assert files, sink
        return b"\n".join(file.read_bytes() + str(file).encode() for file in files if file.is_file())


def pieces_of(key: Planted | str) -> list[str]:
    """The parts of a key that may be found nowhere."""
    if isinstance(key, Planted):
        return key.pieces
    return [key[at : at + 16] for at in range(min(14, len(key) - 16), max(1, len(key) - 15), 8)]


def leaks(text: bytes, keys: tuple[Planted | str, ...]) -> list[str]:
    """Every part of a key that stands in a text."""
    return [piece for key in keys for piece in pieces_of(key) if piece.encode() in text]


def run(folder: Path, given: dict[str, object], *options: str) -> subprocess.CompletedProcess[str]:
    """Run the victim with all known keys in its environment."""
    environ = {name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_TOKEN"))}
    return subprocess.run(
        [sys.executable, "-m", "tests.e2e.leak_victim", str(folder), *options],
        input=json.dumps(given),
        env=environ | {key.variable: key.value for key in KNOWN} | {"PYTHONFAULTHANDLER": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def entries_of(servers: dict[str, FakeProvider], folder: Path) -> list[dict[str, object]]:
    """Each server by its own route and key, then one that takes any key with every known shape."""
    environs = {name: environ_of(server, folder) for name, server in servers.items()}
    entries = [(servers[name].target().name, environ) for name, environ in environs.items()]
    entries += [
        ("openai/direct", environs["openai"] | {"OPENAI_DIRECT_MODEL": "gpt-4o-mini"})
    ]  # the first was answered
    shapes = [key.secret for key in KNOWN if key.shape != "private key"]  # no header can hold several lines
    entries += [("compatible/any", environs["compatible"] | {"OPENAI_API_KEY": secret}) for secret in shapes]
    return [{"route": route, "environ": environ} for route, environ in entries]


def environ_of(server: FakeProvider, folder: Path) -> dict[str, str]:
    """The variables by which our client gets to a server."""
    prefix = server.target().name.replace("/", "_").upper()
    environ = server.environment(folder) | {f"{prefix}_BASE_URL": server.settings["base_url"]}
    match server.provider:
        case "bedrock":
            return environ | {"AWS_SESSION_TOKEN": "", "AWS_BEARER_TOKEN_BEDROCK": ""}
        case "compatible":
            return environ | {"COMPATIBLE_ANY_MODEL": "llama3.1"}
    return environ


@pytest.fixture(scope="module")
def outcome(tmp_path_factory) -> Iterator[Outcome]:
    """One run against servers that repeat keys."""
    if importlib.util.find_spec("litellm") is None:  # not imported here: that takes seconds
        pytest.skip("not installed: litellm")
    folder, keys = tmp_path_factory.mktemp("sinks"), tmp_path_factory.mktemp("keys")
    with ExitStack() as stack:
        scripts = [[answer("fine"), echo_key(401)] if name == "openai" else [echo_key(401)] for name in SERVERS]
        servers = {
            name: stack.enter_context(FakeProvider(name, script, keyless=name == "compatible"))
            for name, script in zip(SERVERS, scripts, strict=True)
        }
        entries = entries_of(servers, keys)
        done = run(folder, {"entries": entries, "lines": [key.line for key in STRANGERS]})
        sent = [
            " ".join(request.headers.values()) + request.target
            for server in servers.values()
            for request in server.asked
        ]
    secrets = tuple(secret for server in servers.values() for secret in server.secrets if len(secret) >= 20)
    assert all(server.asked for server in servers.values()), done.stderr[-3000:]
    assert sum(any(secret in text for text in sent) for secret in secrets) >= 5  # servers did get their keys
    assert [key.shape for key in KNOWN if not any(key.secret in text for text in sent)] == ["private key"]
    yield Outcome(folder, done.stdout, done.stderr, secrets)


@pytest.mark.parametrize("sink", SINKS)
def test_no_planted_key_is_found_in_a_sink(outcome, sink):
    text = outcome.text(sink)
    assert leaks(text, (*KNOWN, *STRANGERS, *outcome.server_keys)) == []


def test_the_run_did_what_it_should(outcome):
    """The sinks hold what they would hold: the errors of every route, and a mark in place of every key."""
    assert outcome.err.rstrip().splitlines()[-1] != ""
    assert outcome.err.count("RuntimeError: ") == 2  # the thread's and the program's
    log, store = outcome.text("log").decode(), outcome.text("mlflow")
    for route in NEEDS:
        assert f"{route} failed" in log
        assert f"{route}, " in outcome.out
        assert route.encode() in store
    for key in KNOWN:
        assert f"[redacted:{key.variable}]" in log
        assert f"[redacted:{key.variable}]" in outcome.err
    assert "[redacted:" in outcome.text("results").decode(errors="replace")
    assert list((outcome.folder / "router" / "replies").rglob("*.json"))
    assert json.loads((outcome.folder / "router" / "state.json").read_text())["processes"]
    with closing(sqlite3.connect(outcome.folder / "mlflow.db")) as database:
        assert all(
            database.execute(f"select count(*) from {table}").fetchone()[0] for table in ("params", "tags", "metrics")
        )


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("key", [*KNOWN, *STRANGERS], ids=lambda key: key.shape)
def test_the_search_finds_a_key_that_is_there(outcome, sink, key):
    before = outcome.text(sink)
    middle = len(before) // 2
    assert leaks(before[:middle] + key.secret.encode() + before[middle:], (key,))


@pytest.mark.parametrize("sink", FILES)
def test_the_search_finds_a_key_that_is_written_deliberately(outcome, sink, tmp_path):
    key = KNOWN[0]
    copy = Outcome(Path(shutil.copytree(outcome.folder, tmp_path / "copy")), "", "", ())
    assert leaks(copy.text(sink), KNOWN) == []
    match sink:
        case "mlflow":
            with closing(sqlite3.connect(copy.folder / "mlflow.db")) as database, database:
                database.execute("update params set value = ? where rowid = 1", (key.value,))
        case "log":
            with (copy.folder / "log.txt").open("a") as log:
                log.write(f"DEBUG sent {key.value}\n")
        case _:
            file = next(file for file in sorted((copy.folder / FILES[sink]).rglob("*")) if file.suffix == ".json")
            file.write_text(json.dumps({"error": key.line}))
    assert leaks(copy.text(sink), KNOWN)


def test_without_the_guard_the_same_run_leaks_every_key(tmp_path):
    done = run(tmp_path, {"entries": [], "lines": [key.line for key in STRANGERS]}, "unguarded")
    log = (tmp_path / "log.txt").read_bytes()
    for key in (*KNOWN, *STRANGERS):
        assert leaks(log, (key,)), key.shape
        assert leaks(done.stderr.encode(), (key,)), key.shape


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_the_overview_of_providers_shows_none(option):
    code = "import sys; from generation.router.providers_command import main; sys.exit(main(sys.argv[1:]))"
    environ = os.environ | {key.variable: key.value for key in KNOWN}
    command = [sys.executable, "-c", code, *option]
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert "claude-sonnet-5" in done.stdout
    assert leaks((done.stdout + done.stderr).encode(), KNOWN) == []
