"""The pool of workers: order, limits, replacement. Chunkers that misbehave stand in for native code that does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ingestion.document import Chunker
from ingestion.errors import (
    EncryptedPdfError,
    ExtractionError,
    ExtractionTimeoutError,
    NotAPdfError,
    NoTextError,
    PageLimitError,
)
from ingestion.extract import Job, Reply, extract_all
from ingestion.spec import IngestSpec
from tests.unit.ingestion.pdfs import column, make_pdf
from tests.unit.ingestion.workers import CountingChunker, WholeChunker

ROOT = Path(__file__).resolve().parents[3]


def write(folder: Path, texts: Sequence[str]) -> list[Job]:
    jobs = []
    for number, text in enumerate(texts):
        path = folder / f"{number:03d}.pdf"
        path.write_bytes(make_pdf([column([text])]))
        jobs.append(Job(path))
    return jobs


def replies(jobs: Sequence[Job], chunker: Chunker | None = None, **limits: float) -> list[Reply]:
    spec = IngestSpec(**{"workers": 2, "timeout": 20.0, **limits})  # type: ignore[arg-type]
    return list(extract_all(jobs, chunker or WholeChunker(), spec))


def test_replies_come_in_order_with_document_and_chunks(tmp_path: Path) -> None:
    texts = [f"This is text number {number}." for number in range(12)]
    found = replies(write(tmp_path, texts))
    assert [reply.error for reply in found] == [None] * 12
    assert [reply.chunks[0].char_end for reply in found] == [len(text) for text in texts]
    assert all(text.encode() in reply.document for text, reply in zip(texts, found, strict=True))


@pytest.mark.parametrize(
    ("asks", "error", "said"),
    [
        ("please crash", ExtractionTimeoutError, "SIGSEGV"),
        ("please eat memory", ExtractionTimeoutError, "ingest.memory_mb"),
        ("please fail", ExtractionError, "IndexError: a bug in the worker"),
    ],
)
def test_a_worker_that_dies_takes_only_its_file_along(
    tmp_path: Path, asks: str, error: type[ExtractionError], said: str
) -> None:
    found = replies(write(tmp_path, ["one", "two", asks, "four", "five", "six"]))
    assert [reply.error is None for reply in found] == [True, True, False, True, True, True]
    assert type(found[2].error) is error
    assert said in str(found[2].error)


def test_a_file_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    found = replies(write(tmp_path, ["one", "please hang", "three"]), timeout=1.5)
    assert [type(reply.error) for reply in found] == [type(None), ExtractionTimeoutError, type(None)]
    assert "ingest.timeout" in str(found[1].error)


def test_workers_live_over_many_files(tmp_path: Path) -> None:
    found = replies(write(tmp_path, [f"text {n}" for n in range(10)]), CountingChunker())
    processes = {reply.chunks[0].section for reply in found}
    assert len(processes) <= 2
    assert str(os.getpid()) not in processes


def test_the_window_bounds_what_is_ahead_of_a_slow_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingestion.extract.WINDOW", 3)
    texts = ["please hang", *(f"text {n}" for n in range(6))]
    found = replies(write(tmp_path, texts), timeout=1.5)
    assert [reply.error is None for reply in found] == [False, *[True] * 6]


def test_files_that_are_no_text_pdf(tmp_path: Path) -> None:
    good = make_pdf([column(["text"])])
    contents = {
        "empty.pdf": b"",
        "text.pdf": b"just words",
        "cut.pdf": good[:60],
        "blank.pdf": make_pdf([[], []]),
        "long.pdf": make_pdf([column([f"page {n}"]) for n in range(4)]),
        "good.pdf": good,
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    found = replies([Job(tmp_path / name) for name in [*contents, "missing.pdf"]], max_pages=3)
    kinds = [type(reply.error) for reply in found]
    assert kinds == [
        NotAPdfError,
        NotAPdfError,
        NotAPdfError,
        NoTextError,
        PageLimitError,
        type(None),
        ExtractionError,
    ]
    assert "4 pages, the limit is 3" in str(found[4].error)


def test_a_kept_document_is_not_read_again(tmp_path: Path) -> None:
    (job,) = write(tmp_path, ["kept text"])
    (first,) = replies([job])
    (tmp_path / "kept.json").write_bytes(first.document)
    job.path.unlink()
    (again,) = replies([Job(job.path, tmp_path / "kept.json")])
    assert again == first


def test_noise_of_the_worker_stays_in_the_worker(tmp_path: Path) -> None:
    write(tmp_path, ["noise"])
    code = (
        "from pathlib import Path; from ingestion.extract import Job, extract_all;"
        "from ingestion.spec import IngestSpec; from tests.unit.ingestion.workers import WholeChunker;"
        f"print(len(list(extract_all([Job(Path({str(tmp_path / '000.pdf')!r}))], WholeChunker(), IngestSpec()))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_password(data: Path) -> None:
    locked = sorted((data / "pdf_hostile" / "encrypted_password").glob("*.pdf"))
    assert {type(reply.error) for reply in replies([Job(path) for path in locked])} == {EncryptedPdfError}
