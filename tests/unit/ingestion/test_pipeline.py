"""From a folder of PDFs to a corpus: what it holds, what is reused, what a bad file does."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ingestion import pipeline
from ingestion.artifacts import ArtifactStore
from ingestion.chunkers.page import PageChunker
from ingestion.chunkers.sentence import SentenceChunker
from ingestion.errors import ConfigError, IngestionError
from ingestion.extract import extract_all
from ingestion.pipeline import IngestSpec, ingest, is_ingested, run
from ingestion.report import summary, write_report
from ingestion.schema import PAGE_BREAK, Corpus
from tests.unit.ingestion.pdfs import column, make_pdf, paper

ROOT = Path(__file__).resolve().parents[3]
SPEC = IngestSpec(workers=2)
SENTENCES = SentenceChunker(max_words=20)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "papers"
    (found / "deep").mkdir(parents=True)
    (found / "a.pdf").write_bytes(paper("alpha"))
    (found / "deep" / "b.PDF").write_bytes(paper("beta"))
    (found / "notes.txt").write_text("not a PDF")
    return found


@pytest.fixture
def artifacts(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts")


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many PDFs each call of the pool had to open."""
    calls: list[int] = []

    def counting(jobs, chunker, spec):
        calls.append(sum(job.kept is None for job in jobs))
        return extract_all(jobs, chunker, spec)

    monkeypatch.setattr(pipeline, "extract_all", counting)
    return calls


def test_chunks_are_their_documents_text(folder: Path, artifacts: ArtifactStore) -> None:
    corpus = ingest(folder, SPEC, SENTENCES, artifacts)
    pages = corpus.pages.to_pylist()
    for chunk in corpus.chunks.to_pylist():
        own = [page for page in pages if page["doc_id"] == chunk["doc_id"]]
        text = PAGE_BREAK.join(page["text"] for page in own)
        assert chunk["text"] == text[chunk["char_start"] : chunk["char_end"]].replace("\n", " ")
        starts = [page["char_start"] for page in own]
        assert starts[chunk["page_start"] - 1] <= chunk["char_start"]
        assert starts[chunk["page_end"] - 1] < chunk["char_end"]
        assert all(start >= chunk["char_end"] for start in starts[chunk["page_end"] :])
    over = [c for c in corpus.chunks.to_pylist() if "runs over the page and ends here." in c["text"]]
    assert [(chunk["page_start"], chunk["page_end"]) for chunk in over] == [(1, 2), (1, 2)]


def test_documents(folder: Path, artifacts: ArtifactStore) -> None:
    rows = ingest(folder, SPEC, SENTENCES, artifacts).documents.to_pylist()
    assert sorted(row["doc_name"] for row in rows) == ["a.pdf", "deep/b.PDF"]
    assert {(row["title"], row["pages"], row["status"]) for row in rows} == {("A Study of Small Things", 2, "ok")}
    assert all(row["sha256"].startswith(row["doc_id"]) for row in rows)


def test_reference_lists_only_on_request(folder: Path, artifacts: ArtifactStore) -> None:
    without = ingest(folder, SPEC, SENTENCES, artifacts)
    assert not [text for text in without.texts if "[1] A. Smith" in text]
    assert {"abstract", "body", "caption"} == set(without.column("kind"))
    everything = ingest(folder, IngestSpec(references=True), SENTENCES, artifacts)
    assert len([text for text in everything.texts if "[1] A. Smith" in text]) == 2
    assert set(without.chunk_ids) < set(everything.chunk_ids)


def test_nothing_is_read_twice(folder: Path, artifacts: ArtifactStore, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = count_reads(monkeypatch)
    assert not is_ingested(folder, SPEC, SENTENCES, artifacts)
    first = ingest(folder, SPEC, SENTENCES, artifacts)
    assert is_ingested(folder, SPEC, SENTENCES, artifacts)
    fresh = ArtifactStore(artifacts.root)
    assert ingest(folder, SPEC, SENTENCES, fresh).fingerprint == first.fingerprint
    assert reads == [2]
    pages = ingest(folder, SPEC, PageChunker(), fresh)  # another chunker: no PDF is opened
    assert reads == [2, 0]
    assert set(pages.chunk_ids).isdisjoint(first.chunk_ids)
    (folder / "c.pdf").write_bytes(paper("gamma"))
    more = ingest(folder, SPEC, SENTENCES, fresh)
    assert reads == [2, 0, 1]
    assert set(first.chunk_ids) < set(more.chunk_ids)


def test_two_clean_runs_are_byte_identical(folder: Path, tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        store = ArtifactStore(tmp_path / name)
        run(folder, SPEC, SENTENCES, store)
        files = sorted((tmp_path / name / "corpus").rglob("*.parquet"))
        contents.append([path.read_bytes() for path in files])
    assert len(contents[0]) == 3
    assert contents[0] == contents[1]


def test_a_bad_file_is_listed_and_ends_nothing(folder: Path, artifacts: ArtifactStore) -> None:
    (folder / "bad.pdf").write_bytes(b"no pdf")
    (folder / "blank.pdf").write_bytes(make_pdf([[]]))
    (folder / "twin.pdf").write_bytes(paper("alpha"))
    found = run(folder, SPEC, SENTENCES, artifacts)
    rows = {row["doc_name"]: (row["status"], row["error_type"]) for row in found.corpus.documents.to_pylist()}
    assert rows == {
        "a.pdf": ("ok", ""),
        "deep/b.PDF": ("ok", ""),
        "bad.pdf": ("error", "NotAPdfError"),
        "blank.pdf": ("empty", "NoTextError"),
    }
    assert found.sources.duplicates == (("twin.pdf", "a.pdf"),)
    said = summary(found.corpus.documents, len(found.corpus), [found.corpus.pages], found.sources.duplicates)
    assert said.splitlines()[0] == f"4 documents (2 ok, 1 empty, 1 error), 4 pages, {len(found.corpus)} chunks"
    assert "error: bad.pdf: NotAPdfError: no PDF, or its structure is broken" in said
    assert "duplicate: twin.pdf has the same bytes as a.pdf" in said
    with pytest.raises(IngestionError, match="1 of 4 files could not be read"):
        ingest(folder, IngestSpec(strict=True), SENTENCES, artifacts)


def test_a_damaged_extraction_is_made_again(
    folder: Path, artifacts: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ingest(folder, SPEC, SENTENCES, artifacts)
    damaged = next(iter(sorted((artifacts.root / "extraction").glob("*/document.json"))))
    damaged.write_bytes(b"{}")
    reads = count_reads(monkeypatch)
    again = ingest(folder, SPEC, SentenceChunker(max_words=30), ArtifactStore(artifacts.root))
    assert reads == [1]
    assert len(again.documents) == len(first.documents)
    assert set(again.column("section")) == set(first.column("section"))


def test_a_killed_run_goes_on_from_the_last_finished_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, root = tmp_path / "papers", tmp_path / "artifacts"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number:02d}.pdf").write_bytes(paper(f"number {number}"))
    code = (
        "from pathlib import Path; from ingestion.artifacts import ArtifactStore; from ingestion.pipeline import *;"
        "from ingestion.chunkers.sentence import SentenceChunker;"
        f"run(Path({str(folder)!r}), IngestSpec(workers=1), SentenceChunker(max_words=20),"
        f" ArtifactStore(Path({str(root)!r})))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    while process.poll() is None and len(list((root / "extraction").glob("*/manifest.json"))) < 5:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(list((root / "extraction").glob("[0-9a-f]*/manifest.json")))
    assert 5 <= done < 40
    reads = count_reads(monkeypatch)
    corpus = ingest(folder, SPEC, SENTENCES, ArtifactStore(root))
    assert reads == [40 - done]
    clean = ingest(folder, SPEC, SENTENCES, ArtifactStore(tmp_path / "clean"))
    assert corpus.fingerprint == clean.fingerprint


def test_a_single_file_is_a_corpus(folder: Path, artifacts: ArtifactStore) -> None:
    assert ingest(folder / "a.pdf", SPEC, SENTENCES, artifacts).documents["doc_name"].to_pylist() == ["a.pdf"]


def test_requests_that_cannot_be_met(tmp_path: Path, artifacts: ArtifactStore) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"no \*\.pdf file"):
        ingest(tmp_path / "empty", SPEC, SENTENCES, artifacts)
    with pytest.raises(ConfigError, match="no such file or folder"):
        ingest(tmp_path / "nowhere", SPEC, SENTENCES, artifacts)
    (tmp_path / "empty" / "blank.pdf").write_bytes(make_pdf([[]]))
    with pytest.raises(IngestionError, match=r"none of its 1 PDFs has text; the first: blank\.pdf: no text"):
        ingest(tmp_path / "empty", SPEC, SENTENCES, artifacts)


def test_the_report_has_a_row_per_page_with_removed_lines(tmp_path: Path, artifacts: ArtifactStore) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    pages = [
        column([f"{n}"], top=30) + column([f"Some text stands here {'ab'[n - 1]}.", "More."], top=500) for n in (1, 2)
    ]
    (folder / "a.pdf").write_bytes(make_pdf(pages))
    ingest(folder, SPEC, SENTENCES, artifacts)
    rows = pq.read_table(write_report(folder, artifacts, tmp_path / "out")).to_pylist()
    assert [(row["doc_name"], row["page"], row["quality"], row["removed"]) for row in rows] == [
        ("a.pdf", 1, 1.0, ["1"]),
        ("a.pdf", 2, 1.0, ["2"]),
    ]


def test_chunk_ids_change_with_parameters_and_not_with_limits() -> None:
    assert pipeline.regime(SentenceChunker(200)) == pipeline.regime(SentenceChunker(200))
    assert pipeline.regime(SentenceChunker(200)) != pipeline.regime(SentenceChunker(100))
    assert pipeline.regime_fields(SentenceChunker(200))["chunker.max_words"] == "200"


def test_corpus_is_what_is_on_disk(folder: Path, artifacts: ArtifactStore) -> None:
    found = run(folder, SPEC, SENTENCES, artifacts).corpus
    (kept,) = (artifacts.root / "corpus").glob("[0-9a-f]*/")
    assert Corpus.load(kept).fingerprint == found.fingerprint
