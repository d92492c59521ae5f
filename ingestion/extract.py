"""The parent side of extraction: a pool of limited child processes that may die alone.

Native code reads hostile files there, with limits on time, memory and pages; a worker that dies is replaced, and its
file is reported. Workers live over many files, since a start costs more than a paper. Results come back in the order
of the jobs, and no job starts more than `WINDOW` ahead of the first unfinished one, so memory stays bounded.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from ingestion import errors, wire
from ingestion.document import Chunker, ChunkSpan
from ingestion.errors import ExtractionError, ExtractionTimeoutError
from ingestion.spec import IngestSpec

WINDOW = 64  # jobs that may be finished or at work ahead of the first unfinished one
RENEW = 200  # files after which a worker is replaced: leaks of native code do not add up to its memory limit
LOG_TAIL = 4096  # bytes of a dead worker's last words
_ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Job:
    """A PDF to read; `kept` is a document extracted before, which is only cut into chunks."""

    path: Path
    kept: Path | None = None


@dataclass(frozen=True)
class Reply:
    """What became of a job: the document as JSON with its chunks, or the error."""

    document: bytes
    chunks: tuple[ChunkSpan, ...]
    error: ExtractionError | None = None


@dataclass
class _Worker:
    """One child process and the job that it has. `handled` counts its finished jobs."""

    process: subprocess.Popen[bytes]
    sender: int
    receiver: int
    log: Any
    job: int = -1
    deadline: float = 0.0
    handled: int = 0

    @staticmethod
    def start(chunker: Chunker, memory_mb: int) -> _Worker:
        child_in, sender = os.pipe()
        receiver, child_out = os.pipe()
        log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        process = subprocess.Popen(
            [sys.executable, "-m", "ingestion.extract_worker", str(child_in), str(child_out), str(memory_mb)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=(child_in, child_out),
            cwd=_ROOT,
        )
        os.close(child_in)
        os.close(child_out)
        worker = _Worker(process, sender, receiver, log)
        worker._send(_described(chunker))
        return worker

    def give(self, number: int, job: Job, spec: IngestSpec) -> None:
        self.job, self.deadline = number, time.monotonic() + spec.timeout
        self.log.truncate(0)
        kept = str(job.kept.resolve()) if job.kept else ""
        message = {
            "path": str(job.path.resolve()),
            "kept": kept,
            "max_pages": spec.max_pages,
            "timeout": spec.timeout,
        }
        self._send(json.dumps(message).encode())

    def _send(self, message: bytes) -> None:
        try:
            wire.send(self.sender, message)
        except BrokenPipeError:  # it is dead: `receive` will say so
            return

    def last_words(self) -> str:
        size = self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, size - LOG_TAIL))
        lines = self.log.read().decode(errors="replace").strip().splitlines()
        return str(lines[-1])[:200] if lines else ""

    def stop(self) -> None:
        """Kill the process and close everything of it."""
        self.process.kill()
        self.process.wait()
        os.close(self.sender)
        os.close(self.receiver)
        self.log.close()


def _described(chunker: Chunker) -> bytes:
    if not is_dataclass(chunker):
        raise TypeError(f"a chunker is a frozen dataclass, not {type(chunker).__name__}")
    kind = type(chunker)
    values = {field.name: getattr(chunker, field.name) for field in fields(chunker)}
    return json.dumps({"module": kind.__module__, "name": kind.__qualname__, "fields": values}).encode()


def extract_all(jobs: Sequence[Job], chunker: Chunker, spec: IngestSpec) -> Generator[Reply]:
    """The reply to every job, in order. A job that fails gives a reply with its error; nothing is raised for it."""
    pool = _Pool(jobs, chunker, spec)
    try:
        for number in range(len(jobs)):
            while number not in pool.done:
                pool.step(number)
            yield pool.done.pop(number)
    finally:
        pool.close()


class _Pool:
    """Workers, the jobs that wait, and the replies that are not yet handed out."""

    def __init__(self, jobs: Sequence[Job], chunker: Chunker, spec: IngestSpec) -> None:
        self.jobs, self.chunker, self.spec = jobs, chunker, spec
        self.size = min(spec.processes, len(jobs))
        self.next = 0
        self.again: list[int] = []
        self.done: dict[int, Reply] = {}
        self.workers: list[_Worker] = []
        self.selector = selectors.DefaultSelector()

    def close(self) -> None:
        for worker in self.workers:
            worker.stop()
        self.selector.close()

    def step(self, first: int) -> None:
        """Give out work, then wait until a worker answers, dies or is late. `first` is the job that is waited for."""
        self._give_out(first)
        busy = [worker for worker in self.workers if worker.job >= 0]
        wait = max(0.0, min(worker.deadline for worker in busy) - time.monotonic())
        for key, _ in self.selector.select(wait):
            self._answered(key.data)
        now = time.monotonic()
        for worker in [worker for worker in self.workers if worker.job >= 0 and worker.deadline <= now]:
            number = worker.job
            self._drop(worker)
            limit = f"it took longer than {self.spec.timeout:g} s; raise ingest.timeout to try again"
            self.done[number] = Reply(b"", (), ExtractionTimeoutError(limit))

    def _give_out(self, first: int) -> None:
        while self.again or (self.next < len(self.jobs) and self.next < first + WINDOW):
            free = next((worker for worker in self.workers if worker.job < 0), None)
            if free is None and len(self.workers) >= self.size:
                return
            number = self.again.pop() if self.again else self.next
            self.next = max(self.next, number + 1)
            (free or self._hire()).give(number, self.jobs[number], self.spec)

    def _hire(self) -> _Worker:
        worker = _Worker.start(self.chunker, self.spec.memory_mb)
        self.workers.append(worker)
        self.selector.register(worker.receiver, selectors.EVENT_READ, worker)
        return worker

    def _drop(self, worker: _Worker) -> None:
        self.selector.unregister(worker.receiver)
        self.workers.remove(worker)
        worker.stop()

    def _answered(self, worker: _Worker) -> None:
        number = worker.job
        message = wire.receive(worker.receiver)
        worker.job = -1
        if message is None:
            reply = Reply(b"", (), self._death(worker))
            retry = worker.handled > 0
            self._drop(worker)
        else:
            reply = _parsed(message)
            retry = worker.handled > 0 and isinstance(reply.error, ExtractionTimeoutError)
            worker.handled += 1
            if worker.handled >= RENEW or retry:
                self._drop(worker)
        if retry:  # what the worker did before may be to blame: once more, in a new process
            self.again.append(number)
        else:
            self.done[number] = reply

    def _death(self, worker: _Worker) -> ExtractionError:
        code = worker.process.wait()
        if code < 0:
            name = signal.Signals(-code).name
            return ExtractionTimeoutError(
                f"the worker died ({name}): the file breaks PDFium or needs more than {self.spec.memory_mb} MB;"
                " raise ingest.memory_mb to try again"
            )
        words = worker.last_words()
        if "MemoryError" in words:
            return ExtractionTimeoutError(f"out of memory at {self.spec.memory_mb} MB; raise ingest.memory_mb")
        return ExtractionError(f"the worker failed: {words or f'exit code {code}'}")


def _parsed(message: bytes) -> Reply:
    content = json.loads(message)
    if "error" in content:
        kind = getattr(errors, content["error"])
        return Reply(b"", (), kind(content["message"]))
    spans = tuple(ChunkSpan(*span) for span in content["chunks"])
    return Reply(content["document"].encode(), spans)
