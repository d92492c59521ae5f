"""Small files that unfold to gigabytes: the worker dies, the file is named, the next one is read."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from ingestion.chunkers.sentence import SentenceChunker
from ingestion.errors import ExtractionTimeoutError
from ingestion.extract import Job, extract_all
from ingestion.pipeline import IngestSpec
from tests.unit.ingestion.pdfs import column, make_pdf, pdf_file


@pytest.fixture
def jobs(tmp_path: Path) -> list[Job]:
    """A page of six million text operators (180 KB packed, 114 MB unpacked, gigabytes as objects), and a paper."""
    packed = zlib.compress(b"BT /F1 10 Tf 10 10 Td " + b"1 0 Td (A) Tj " * 6_000_000 + b"ET", 9)
    assert len(packed) < 200_000
    bomb = pdf_file(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [5 0 R] >>",
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(packed), packed),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>",
        ]
    )
    (tmp_path / "bomb.pdf").write_bytes(bomb)
    (tmp_path / "paper.pdf").write_bytes(make_pdf([column(["Some text."])]))
    return [Job(tmp_path / "bomb.pdf"), Job(tmp_path / "paper.pdf")]


@pytest.mark.parametrize(
    ("limits", "said"), [({"memory_mb": 512}, "ingest.memory_mb"), ({"timeout": 1.5}, "ingest.timeout")]
)
def test_a_bomb_costs_only_itself(jobs: list[Job], limits: dict[str, float], said: str) -> None:
    bomb, paper = extract_all(jobs, SentenceChunker(), IngestSpec(**{"workers": 1, **limits}))  # type: ignore[arg-type]
    assert isinstance(bomb.error, ExtractionTimeoutError)
    assert said in str(bomb.error)
    assert paper.error is None
    assert paper.chunks[0].char_end == len("Some text.")
