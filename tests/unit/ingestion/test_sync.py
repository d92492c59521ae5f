"""A store follows its folder: new, unchanged, changed, renamed, removed and failed files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingestion import pipeline
from ingestion.artifacts import ArtifactStore
from ingestion.chunkers.page import PageChunker
from ingestion.chunkers.sentence import SentenceChunker
from ingestion.errors import RegimeMismatchError
from ingestion.pipeline import IngestSpec, run
from ingestion.stores import Store, read_corpus
from ingestion.stores.memory import MemoryStore
from ingestion.stores.parquet import ParquetStore
from ingestion.sync import Synced, sync
from tests.unit.ingestion.pdfs import paper

SPEC = IngestSpec(workers=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "papers"
    found.mkdir()
    for name in ("a", "b"):
        (found / f"{name}.pdf").write_bytes(paper(name))
    return found


def bring(folder: Path, store: Store) -> Synced:
    return sync(folder, SPEC, SentenceChunker(), ArtifactStore(folder.parent / "artifacts"), store)


def states(store: Store) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in store.documents().to_pylist():
        found.setdefault(row["doc_name"], []).append(row["status"])
    return found


def counts(done: Synced) -> tuple[int, int, int, int, int]:
    return done.added, done.replaced, done.retried, done.removed, done.unchanged


@pytest.fixture(params=["memory", "parquet"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else ParquetStore(str(tmp_path / "store"))


def test_a_folder_in_change(folder: Path, store: Store) -> None:
    assert counts(bring(folder, store)) == (2, 0, 0, 0, 0)
    assert counts(bring(folder, store)) == (0, 0, 0, 0, 2)
    (folder / "a.pdf").write_bytes(paper("changed"))
    (folder / "c.pdf").write_bytes(paper("new"))
    (folder / "bad.pdf").write_bytes(b"no pdf")
    assert counts(bring(folder, store)) == (2, 1, 0, 0, 1)
    assert states(store) == {"a.pdf": ["ok"], "b.pdf": ["ok"], "c.pdf": ["ok"], "bad.pdf": ["error"]}
    (folder / "b.pdf").unlink()
    (folder / "c.pdf").rename(folder / "d.pdf")
    assert counts(bring(folder, store)) == (0, 0, 2, 1, 1)  # the bad file and the renamed one were tried again
    assert states(store) == {"a.pdf": ["ok"], "b.pdf": ["removed"], "d.pdf": ["ok"], "bad.pdf": ["error"]}
    (folder / "b.pdf").write_bytes(paper("b"))
    assert counts(bring(folder, store)) == (1, 0, 1, 0, 2)
    assert states(store)["b.pdf"] == ["ok"]


def test_the_store_holds_what_a_fresh_corpus_holds(folder: Path, store: Store) -> None:
    bring(folder, store)
    (folder / "c.pdf").write_bytes(paper("new"))
    bring(folder, store)
    fresh = run(folder, SPEC, SentenceChunker(), ArtifactStore(folder.parent / "fresh")).corpus
    held = read_corpus(store)
    assert held.fingerprint == fresh.fingerprint
    assert held.documents.equals(fresh.documents)
    assert held.pages.equals(fresh.pages)


def test_another_chunker_is_refused(folder: Path, store: Store) -> None:
    bring(folder, store)
    with pytest.raises(RegimeMismatchError, match="chunker is SentenceChunker, asked for PageChunker;"):
        sync(folder, SPEC, PageChunker(), ArtifactStore(folder.parent / "artifacts"), store)


def test_batches_are_written_one_by_one(folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "BATCH", 1)
    real, seen = pipeline.Tables.together, []

    def counted(parts):
        seen.append(len(parts))
        return real(parts)

    monkeypatch.setattr(pipeline.Tables, "together", counted)
    bring(folder, store)
    assert seen[:2] == [1, 1]
    assert len(read_corpus(store).documents) == 2
