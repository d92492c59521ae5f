"""`python -m generation ask` and `providers` as processes: Ctrl-C in a stream, and what is known after a failure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ingestion.config import ROOT
from tests.e2e.six_routes import until
from tests.providers import FakeProvider, server_error, trickle

pytestmark = pytest.mark.llm
QUESTION = "Which weight does the constant k damp?"
PAPER = (
    "= The constant\nThe constant k of sixty damps the weight of the very first ranks, so that none decides alone.\n"
)
CLAIM = {"claim": "That of the first ranks.", "citations": [{"source": "S1", "quote": "the very first ranks"}]}
END = {"end": True, "claims": 2}
TEXT = "\n".join(json.dumps(line) for line in (CLAIM, CLAIM, END))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a paper."""
    typst = pytest.importorskip("typst", reason="typst makes the paper; pip install '.[corpus]'")
    folder = tmp_path_factory.mktemp("asked")
    (folder / "papers").mkdir()
    (folder / "constant.typ").write_text(PAPER)
    typst.compile(str(folder / "constant.typ"), output=str(folder / "papers" / "constant.pdf"))
    return folder


def start(folder: Path, server: FakeProvider, *arguments: str) -> subprocess.Popen[str]:
    """A command that knows this server alone, with a router folder of its own."""
    file = folder / "router.yaml"
    file.write_text(f"folder: {folder / 'state'}\nretry: {{base: 0.01}}\nbreaker: {{failures: 2}}\n")
    return subprocess.Popen(
        [sys.executable, "-m", "generation", arguments[0], *arguments[1:], f"router={file}"],
        env={**os.environ, **server.environment(), "COMPATIBLE_ANY_MODEL": "llama3.1"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def asked(base: Path, *more: str) -> Sequence[str]:
    return (
        "ask",
        QUESTION,
        f"corpus.path={base / 'papers'}",
        f"artifacts={base / 'artifacts'}",
        "provider=compatible",
        *more,
    )


def test_ctrl_c_in_a_stream_ends_it_and_closes_the_connection(base: Path, tmp_path: Path) -> None:
    with FakeProvider("compatible", [trickle(0.1, TEXT, pieces=100)]) as server:
        process = start(tmp_path, server, *asked(base, "--stream"))
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=20)
        until(lambda: server.abandoned == 1)
    assert "That of the first ranks." in first
    assert (process.returncode, rest) == (130, "")
    assert errors == "generation: stopped; what was shown so far is no whole answer\n"


def test_another_process_sees_what_a_failed_question_left_behind(base: Path, tmp_path: Path) -> None:
    with FakeProvider("compatible", [server_error()]) as server:
        process = start(tmp_path, server, *asked(base))
        _, errors = process.communicate(timeout=60)
        assert len(server.asked) == 2
        assert process.returncode == 1
        assert "compatible/any, llama3.1: CapacityError" in errors
        seen, _ = start(tmp_path, server, "providers", "--json").communicate(timeout=60)
    (route,) = [each for each in json.loads(seen)["routes"] if each["provider"] == "compatible"]
    assert (route["state"]["breaker"], route["state"]["last_error"]) == ("open", "CapacityError")
    assert route["state"]["requests_last_minute"] == 2
    assert json.loads(seen)["spending"]["requests_today"] == 2
