"""The commands that ask a model, against a server that tells in its errors every key that there is: none is found.

Processes, sockets, results, the report and MLflow's store are real. The same runs without redaction are the control:
then the search finds every key.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingestion.config import ROOT
from tests.e2e.test_key_leaks import KNOWN, STRANGERS, leaks
from tests.planted_keys import Planted
from tests.providers import FakeProvider, echo_key
from tests.providers.behaviours import Failure
from tests.providers.exchange import Request, Response
from tests.providers.openai import Compatible, error

pytestmark = pytest.mark.llm
SENT = next(key for key in KNOWN if key.variable == "OPENAI_API_KEY")
KEYS = (*KNOWN, *STRANGERS)
TIMES = len(KNOWN)  # questions; each is asked twice, since its error is none of the key's
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")
ASK = ("output", "traceback", "router")
RUN = ("output", "traceback", "results", "report", "mlflow", "router", "hydra")
SINKS = [*(("ask", sink) for sink in ASK), *(("run_eval", sink) for sink in RUN)]
TOLD = ("results", "traceback")  # where a run writes down what a server said, or what nobody caught
LONG = {"private key", "openai project", "aws session"}  # longer than what is kept of a server's words


@dataclass(frozen=True)
class Telling(Compatible):
    """A gateway whose errors repeat the key that it was sent and tell two others: one pair for every question."""

    def failure(self, request: Request, failure: Failure) -> Response:
        number = (request.number - 1) // 2 % TIMES
        told = f"{KNOWN[number].line} and {STRANGERS[number].line}"
        return error(failure.code, f"upstream refused {self.credential(request)}: {told}", "x", failure.code)


@dataclass(frozen=True)
class Outcome:
    """What is left of a command: its folder, its exit code and what it printed."""

    folder: Path
    code: int
    out: str
    err: str

    def text(self, sink: str) -> bytes:
        """Everything in a sink, binary files included."""
        if sink == "output":
            return f"{self.out}\n{self.err.partition('Traceback')[0]}".encode()
        if sink == "traceback":
            return self.err.encode()
        places = {"report": "results/report.html", "mlflow": "mlflow*"}
        paths = sorted(self.folder.glob(places.get(sink, sink)))
        files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
        assert files or sink == "hydra", sink  # Hydra writes nothing, and is to go on so
        return b"\n".join(file.read_bytes() + str(file).encode() for file in files if file.is_file())


def prepare(folder: Path) -> None:
    """A paper and as many questions as there are shapes of keys."""
    typst = pytest.importorskip("typst", reason="typst makes the paper; pip install '.[corpus]'")
    (folder / "papers").mkdir()
    facts = [
        f"The {WORDS[n % 5]} index number {n} of set {n // 5} holds {n + 7} lists of postings." for n in range(TIMES)
    ]
    (folder / "paper.typ").write_text("= The indexes\n" + " ".join(facts))
    typst.compile(str(folder / "paper.typ"), output=str(folder / "papers" / "paper.pdf"))
    lines = [
        {
            "question": f"What does the {WORDS[n % 5]} index number {n} hold?",
            "evidence": [{"doc": "paper.pdf", "page": 1, "quote": fact, "grade": 3}],
        }
        for n, fact in enumerate(facts)
    ]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)))


def arguments(command: str, guarded: bool, base: Path, folder: Path) -> list[str]:
    """What is typed; MLflow's store, whose making takes seconds, only where it is looked into."""
    (folder / "router.yaml").write_text(
        f"folder: {folder / 'router'}\nretry: {{base: 0.01, breaker_wait: 0}}\nbreaker: {{failures: 1000}}\n"
    )
    papers, file = f"corpus.path={base / 'papers'}", folder / "router.yaml"
    tracking = f"tracking.uri=sqlite:///{folder / 'mlflow.db'}" if guarded else "tracking=none"
    if command == "ask":
        return [
            "What does the alpha index hold?",
            papers,
            f"artifacts={folder / 'artifacts'}",
            "provider=compatible",
            f"router={file}",
        ]
    return [
        "strategy=bm25", "generator=chat", papers, f"benchmark.path={base / 'questions.jsonl'}", "benchmark=jsonl",
        f"artifacts={folder / 'artifacts'}", f"out={folder / 'results'}", f"ledger={folder / 'ledger.jsonl'}",
        tracking, "metrics=[nDCG@5]", f"hydra.run.dir={folder / 'hydra'}", "split=all",
        "answers.contexts=[retrieved]", "answers.workers=1", "answers.provider=compatible", f"answers.router={file}",
    ]  # fmt: skip


def run(command: str, guarded: bool, base: Path, folder: Path) -> Outcome:
    """A command in a process with all known keys, against a server of its own."""
    folder.mkdir()
    given = {
        "arguments": arguments(command, guarded, base, folder),
        "times": TIMES,
        "crash": " ".join(key.line for key in KEYS),
    }
    with FakeProvider("compatible", [echo_key(400)]) as server:
        server.wire = Telling(SENT.value)
        environ = {**os.environ, **{key.variable: key.value for key in KNOWN}, **server.environment()}
        done = subprocess.run(
            [sys.executable, "-m", "tests.e2e.leak_commands", command, *([] if guarded else ["unguarded"])],
            input=json.dumps(given),
            env=environ,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        asked = [SENT.value in " ".join(request.headers.values()) for request in server.asked]
    assert asked == [True] * 2 * TIMES, done.stderr[-3000:]
    return Outcome(folder, done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[tuple[str, bool], Outcome]]:
    """Both commands, and a run without redaction."""
    base = tmp_path_factory.mktemp("commands")
    prepare(base)
    wanted = [("run_eval", True), ("ask", True), ("run_eval", False)]
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda one: run(*one, base, base / f"{one[0]}-{one[1]}"), wanted)
        yield dict(zip(wanted, done, strict=True))


@pytest.mark.parametrize(("command", "sink"), SINKS)
def test_no_key_is_found_in_a_sink(outcomes, command: str, sink: str) -> None:
    assert leaks(outcomes[command, True].text(sink), KEYS) == []


@pytest.mark.parametrize("sink", TOLD)
def test_without_redaction_the_same_search_finds_every_key(outcomes, sink: str) -> None:
    text = outcomes["run_eval", False].text(sink)
    hidden = {key.shape for key in KEYS if not leaks(text, (key,))}
    assert hidden <= (LONG if sink == "results" else set())


@pytest.mark.parametrize(("command", "sink"), SINKS)
@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.shape)
def test_the_search_finds_a_key_that_is_there(outcomes, command: str, sink: str, key: Planted) -> None:
    before = outcomes[command, True].text(sink)
    assert leaks(before[: len(before) // 2] + key.secret.encode() + before[len(before) // 2 :], (key,))


def test_the_commands_did_what_they_should(outcomes) -> None:
    asked, ran = outcomes["ask", True], outcomes["run_eval", True]
    assert asked.out.splitlines()[-1] == "codes " + " ".join(["1"] * TIMES)
    assert asked.err.count("status 400: upstream refused [redacted:OPENAI_API_KEY]: ") == TIMES
    for outcome in (asked, ran):
        assert outcome.code == 1
        assert outcome.err.count("RuntimeError: ") == 1
        assert all(f"[redacted:{key.variable}]" in outcome.err for key in KNOWN)
    assert b"[redacted:" in ran.text("results")
    assert (ran.folder / "mlflow.db").is_file()
