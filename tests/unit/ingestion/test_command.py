"""`python -m ingestion` as it is typed: what it prints, where, and its exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ingestion.__main__ import main
from tests.unit.ingestion.pdfs import paper

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def base(tmp_path: Path) -> list[str]:
    folder = tmp_path / "my papers, all"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(paper())
    (folder / "bad.pdf").write_bytes(b"no pdf")
    return [f"corpus.path={folder}", f"artifacts={tmp_path / 'artifacts'}"]


def test_a_run(base: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*base, f"out={tmp_path / 'out'}", "chunker=page", f"store.path={tmp_path / 'store'}"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[0] == "2 documents (1 ok, 1 error), 2 pages, 3 chunks"
    assert lines[1] == "  error: bad.pdf: NotAPdfError: no PDF, or its structure is broken"
    assert lines[-3] == "2 added, 0 replaced, 0 tried again, 0 removed, 0 unchanged"
    (part,) = (tmp_path / "store" / "chunks").glob("*.parquet")
    assert pq.read_table(part)["page_start"].to_pylist() == [1, 2, 2]
    assert pq.read_table(tmp_path / "out" / "extraction.parquet").num_rows == 2


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["corpus.path=/no/such/folder"], 2, "ingestion: corpus.path=/no/such/folder: no such file or folder\n"),
        (["chunker=sentense"], 2, "ingestion: chunker 'sentense' not found; did you mean 'sentence'?\n"),
        (["chunker.max_words=0"], 2, "ingestion: chunker: chunker.max_words must be at least 1"),
        (["ingest.timeout=soon"], 2, "ingestion: ingest.timeout='soon': must be float, not str\n"),
        (["chunker._target_=os.system"], 2, "ingestion: chunker._target_='os.system': must be a class below"),
        (["nonsense"], 2, "ingestion: 'nonsense': write key=value"),
        (["ingest.strict=true"], 1, "ingestion: 1 of 2 files could not be read, and ingest.strict is set"),
    ],
)
def test_errors_are_short_and_have_exit_codes(
    base: list[str], more: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*base, *more]) == code
    err = capsys.readouterr().err
    assert err.startswith(said)
    assert len(err.splitlines()) <= 3


def test_help_needs_no_heavy_import() -> None:
    code = "import sys; from ingestion.__main__ import main; main(['--help']); print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.startswith("python -m ingestion corpus.path=")
    assert done.stdout.endswith("False\n")


def test_every_key_in_the_help_exists() -> None:
    from ingestion.__main__ import USAGE
    from ingestion.config import flatten, load, names

    known = flatten(load(["store=qdrant"]))  # type: ignore[arg-type]
    keys = [line.split("=")[0].strip() for line in USAGE.splitlines() if line.startswith("  ")]
    assert "ingest.timeout" in keys
    assert [key for key in keys if key not in known and not names(key)] == []
