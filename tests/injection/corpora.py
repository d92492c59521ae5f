"""The corpora: all clean documents, and for each attack the same with its one document poisoned.

Every file is read once, all in one run of ingestion; a corpus is then put together from the tables of its ten
documents. That is exact, since a document's rows do not depend on others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingestion.artifacts import ArtifactStore
from ingestion.chunkers.sentence import SentenceChunker
from ingestion.document import Chunker
from ingestion.pipeline import IngestSpec, run
from ingestion.schema import Corpus
from tests.injection.attacks import Attack
from tests.injection.bases import Base
from tests.injection.documents import render

CLEAN = "clean"


@dataclass(frozen=True)
class Corpora:
    """Everything that was read; documents are named `clean/<base>.pdf` and `<attack>/<file name>`."""

    tables: Corpus
    store: ArtifactStore

    def clean(self, bases: Sequence[Base]) -> Corpus:
        """The corpus without any attack; its documents are named `<base>.pdf`."""
        return self._of([f"{CLEAN}/{base.name}.pdf" for base in bases])

    def poisoned(self, bases: Sequence[Base], attack: Attack) -> Corpus:
        """The corpus in which the attack's document stands in place of its clean twin."""
        return self._of(
            [
                f"{attack.id}/{attack.file_name}" if base.name == attack.base.name else f"{CLEAN}/{base.name}.pdf"
                for base in bases
            ]
        )

    def text(self, attack: Attack) -> str:
        """All chunks of the poisoned document, as retrieval reads them."""
        return self._text(f"{attack.id}/{attack.file_name}")

    def clean_text(self, base: Base) -> str:
        """The same of its clean twin."""
        return self._text(f"{CLEAN}/{base.name}.pdf")

    def parts(self, name: str) -> list[dict[str, Any]]:
        """The chunks of one document, by position; a document's name is that of its file with its folder."""
        chunks = self.tables.chunks
        rows: list[dict[str, Any]] = (
            chunks.filter(pc.equal(chunks["doc_name"], name)).sort_by("char_start").to_pylist()
        )
        return rows

    def title(self, name: str) -> str:
        """The title of one document as the extractor found it."""
        row = self.tables.documents.filter(pc.equal(self.tables.documents["doc_name"], name)).to_pylist()[0]
        return str(row["title"])

    def _text(self, name: str) -> str:
        return " ".join(part["text"] for part in self.parts(name))

    def _of(self, names: Sequence[str]) -> Corpus:
        documents = _rows(self.tables.documents, "doc_name", names)
        ids = documents["doc_id"].to_pylist()
        if len(ids) != len(names):
            raise ValueError(f"{len(names)} documents asked for, {len(ids)} were read: {', '.join(names)}")
        chunks, pages = _rows(self.tables.chunks, "doc_id", ids), _rows(self.tables.pages, "doc_id", ids)
        return Corpus.of(_renamed(chunks), _renamed(documents), pages)


def write(folder: Path, bases: Sequence[Base], attacks: Sequence[Attack]) -> None:
    """All PDFs below a folder, one folder for the clean documents and one for each attack."""
    for base in bases:
        _put(folder / CLEAN / f"{base.name}.pdf", render(base.blocks))
    for attack in attacks:
        _put(folder / attack.id / attack.file_name, render(attack.blocks, attack.metadata))


def read(folder: Path, artifacts: Path, chunker: Chunker | None = None) -> Corpora:
    """Ingest the folder once; a second time with another chunker than the default reuses what was
    extracted.

    Raises:
        ValueError: a document could not be read.
    """
    store = ArtifactStore(artifacts)
    found = run(folder, IngestSpec(), chunker or SentenceChunker(), store, progress=False).corpus
    bad = [row["doc_name"] for row in found.documents.to_pylist() if row["status"] != "ok"]
    if bad:
        raise ValueError(f"not read: {', '.join(bad)}")
    return Corpora(found, store)


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _rows(table: pa.Table, column: str, values: Sequence[str]) -> pa.Table:
    return table.filter(pc.is_in(table[column], pa.array(values, pa.string())))


def _renamed(table: pa.Table) -> pa.Table:
    """Document names without their folder."""
    names = [name.partition("/")[2] for name in table["doc_name"].to_pylist()]
    return table.set_column(table.schema.get_field_index("doc_name"), "doc_name", pa.array(names, pa.string()))
