"""One contract for every store, and what only the Parquet store promises: kill -9 at any moment, merged parts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingestion.document import Block, ChunkSpan, ExtractedDocument, PageText
from ingestion.errors import RegimeMismatchError, StorageError
from ingestion.schema import CHUNKS, Corpus
from ingestion.sources import Source
from ingestion.stores import Store, read_corpus
from ingestion.stores.lance import LanceStore
from ingestion.stores.memory import MemoryStore
from ingestion.stores.parquet import ParquetStore
from ingestion.stores.qdrant import QdrantStore
from ingestion.tables import Tables, document_tables

ROOT = Path(__file__).resolve().parents[3]
REGIME = {"chunker": "SentenceChunker", "chunker.max_words": "200"}
KINDS: dict[str, Callable[[Path], Store]] = {
    "memory": lambda folder: MemoryStore(),
    "parquet": lambda folder: ParquetStore(str(folder / "store")),
    "lance": lambda folder: LanceStore(str(folder / "store")),
    "qdrant": lambda folder: QdrantStore(str(folder / "store")),
}


@pytest.fixture(params=list(KINDS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    packages = {"lance": "lancedb", "qdrant": "qdrant_client"}
    if request.param in packages:
        pytest.importorskip(packages[request.param])
    found = KINDS[request.param](tmp_path)
    yield found
    found.close()


def rows(*numbers: int, name: str = "") -> Tables:
    """Documents of two pages and two chunks."""
    return Tables.together([_document(number, name or f"{number}.pdf") for number in numbers])


def _document(number: int, name: str) -> Tables:
    sha = f"{number:064x}"[::-1]
    pages = (PageText(f"Page one of {number}.", 0.5), PageText("Page two.", 1.0))
    first = len(pages[0].text)
    blocks = (Block(0, first, "body"), Block(first + 1, first + 10, "body"))
    document = ExtractedDocument(f"Title {number}", pages, blocks, ())
    spans = [ChunkSpan(block.char_start, block.char_end, "1 One", "body") for block in blocks]
    return document_tables(Source(Path(name), name, sha), document, spans, "pypdfium2 5", "regime")


def expected(*numbers: int) -> Corpus:
    tables = rows(*numbers)
    return Corpus.of(tables.chunks, tables.documents, tables.pages)


def ids(*numbers: int) -> list[str]:
    return [f"{number:064x}"[::-1][:16] for number in numbers]


def test_what_was_added_is_there(store: Store) -> None:
    with store.writing(REGIME) as writer:
        writer.add(rows(1, 2))
        writer.add(rows(3))
    found = read_corpus(store)
    assert found.chunks.equals(expected(1, 2, 3).chunks)
    assert found.documents.equals(expected(1, 2, 3).documents)
    assert found.pages.equals(expected(1, 2, 3).pages)


def test_it_is_there_when_opened_again(store: Store) -> None:
    with store.writing(REGIME) as writer:
        writer.add(rows(1))
    store.close()
    assert read_corpus(store).fingerprint == expected(1).fingerprint


def test_adding_a_document_again_replaces_its_rows(store: Store) -> None:
    with store.writing(REGIME) as writer:
        writer.add(rows(1, 2))
        writer.add(rows(2, name="renamed.pdf"))
    found = read_corpus(store)
    assert len(found) == 4
    assert found.documents["doc_name"].to_pylist() == ["1.pdf", "renamed.pdf"]
    assert set(found.column("doc_name")) == {"1.pdf", "renamed.pdf"}


def test_a_changed_file_replaces_the_old_document(store: Store) -> None:
    with store.writing(REGIME) as writer:
        writer.add(rows(1, 2))
        writer.add(rows(3), replaces=ids(1))
    assert read_corpus(store).documents.equals(expected(2, 3).documents)
    assert read_corpus(store).fingerprint == expected(2, 3).fingerprint


def test_a_removed_document_leaves_a_tombstone(store: Store) -> None:
    with store.writing(REGIME) as writer:
        writer.add(rows(1, 2))
        writer.remove(ids(1))
    found = read_corpus(store)
    assert found.fingerprint == expected(2).fingerprint
    assert dict(zip(found.documents["doc_id"].to_pylist(), found.documents["status"].to_pylist(), strict=True)) == {
        ids(1)[0]: "removed",
        ids(2)[0]: "ok",
    }
    with store.writing(REGIME) as writer:
        writer.add(rows(1))
    assert read_corpus(store).documents.equals(expected(1, 2).documents)


def test_scan_reads_only_what_is_asked_for(store: Store) -> None:
    with store.writing(REGIME) as writer:
        writer.add(rows(1, 2, 3))
    found = pa.concat_tables(store.scan("pages", ["doc_id", "page"], ids(2)))
    assert found.column_names == ["doc_id", "page"]
    assert sorted(found.to_pylist(), key=str) == [{"doc_id": ids(2)[0], "page": page} for page in (1, 2)]
    assert sum(table.num_rows for table in store.scan("chunks", ["chunk_id"], [])) == 0


def test_other_parameters_are_refused_with_the_remedy(store: Store) -> None:
    with store.writing(REGIME) as writer:
        writer.add(rows(1))
    other = REGIME | {"chunker.max_words": "100"}
    said = r"chunker\.max_words is 200, asked for 100;\ngive store\.path="
    with pytest.raises(RegimeMismatchError, match=said), store.writing(other):
        pytest.fail("a store of another regime was opened")
    assert len(read_corpus(store)) == 2


def test_an_empty_store_is_an_empty_corpus(store: Store) -> None:
    assert len(read_corpus(store)) == 0
    with store.writing(REGIME):
        pass
    assert store.documents().num_rows == 0


def test_an_error_in_the_middle_keeps_what_was_finished(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.writing(REGIME) as writer:
        writer.add(rows(1))
        raise ZeroDivisionError
    assert read_corpus(store).fingerprint == expected(1).fingerprint


@pytest.mark.parametrize("kind", [ParquetStore, LanceStore, QdrantStore])
def test_a_store_without_a_path_says_so(kind: type[Store]) -> None:
    with pytest.raises(StorageError, match=r"store\.path"):
        kind().documents()


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, kind, extra in (("lancedb", LanceStore, "lance"), ("qdrant_client", QdrantStore, "qdrant")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(StorageError, match=rf"pip install 'rankproof\[{extra}\]'"):
            kind("anywhere").documents()


def test_parquet_two_writers(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path / "store"))
    second = ParquetStore(str(tmp_path / "store"))
    expect = pytest.raises(StorageError, match="another process writes")
    with store.writing(REGIME), expect, second.writing(REGIME):
        pytest.fail("two writers")


def test_parquet_merges_small_parts(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path / "store"))
    for number in range(5):
        with store.writing(REGIME) as writer:
            writer.add(rows(number))
    (part,) = (tmp_path / "store" / "chunks").glob("*.parquet")
    assert pq.read_table(part).num_rows == 10  # readable by any tool
    assert pq.read_schema(part).equals(CHUNKS)
    assert read_corpus(store).fingerprint == expected(*range(5)).fingerprint


def test_parquet_two_clean_runs_are_byte_identical(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        with ParquetStore(str(tmp_path / name)).writing(REGIME) as writer:
            writer.add(rows(3, 1))
            writer.add(rows(2))
        files = sorted(path for path in (tmp_path / name).rglob("*.parquet"))
        contents.append([(path.name, path.read_bytes()) for path in files])
    assert contents[0] == contents[1]


def test_parquet_damage_is_told(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path / "store"))
    with store.writing(REGIME) as writer:
        writer.add(rows(1))
    (tmp_path / "store" / "manifest.json").write_text("{")
    with pytest.raises(StorageError, match="is damaged"):
        store.documents()


WRITER = """
import sys
sys.path.insert(0, {root!r})
from ingestion.stores.parquet import ParquetStore
from tests.unit.ingestion.test_stores import REGIME, rows
store = ParquetStore({path!r})
with store.writing(REGIME) as writer:
    writer.add(rows(*range(1000, 1020)))
    for number in range(10_000):
        writer.add(rows(number % 10, 20 + number % 7), replaces=())
        writer.remove([rows(number % 10).documents["doc_id"][0].as_py()])
        if number % 3 == 0:
            writer.merge()
        print(number, flush=True)
"""


@pytest.mark.parametrize("wait", [0.0, 0.013, 0.031, 0.057])
def test_parquet_survives_kill_9_in_mid_write(tmp_path: Path, wait: float) -> None:
    path = tmp_path / "store"
    code = WRITER.format(root=str(ROOT), path=str(path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    time.sleep(wait)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    store = ParquetStore(str(path))
    found = read_corpus(store)  # whole: checked schemas, no document twice
    live = [row["doc_id"] for row in found.documents.to_pylist() if row["status"] == "ok"]
    assert set(ids(*range(1000, 1020))) <= set(live)
    assert sorted(set(found.column("doc_id"))) == sorted(live)
    assert len(found) == 2 * len(live)
    with store.writing(REGIME) as writer:  # the lock died with its holder; leftovers are swept
        writer.add(rows(5))
    assert ids(5)[0] in store.documents()["doc_id"].to_pylist()
    named = {f"{part.name}.parquet" for part in store.manifest().parts}
    assert {file.name for file in path.rglob("*.parquet")} == named
