"""Stores keep the tables of a growing corpus: one protocol, four homes (Parquet, LanceDB, Qdrant, memory)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from ingestion.errors import RegimeMismatchError, StorageError
from ingestion.schema import CHUNKS, DOCUMENTS, PAGES, Corpus
from ingestion.tables import REMOVED, Tables

SCHEMAS = {"chunks": CHUNKS, "documents": DOCUMENTS, "pages": PAGES}


class Writer(Protocol):
    """What may be done while the store is locked for writing. Each call is whole or not at all."""

    def add(self, tables: Tables, replaces: Collection[str] = ()) -> None:
        """Add documents, in place of their own older rows and of the documents `replaces` (doc_ids)."""
        ...

    def remove(self, doc_ids: Collection[str]) -> None:
        """Drop chunks and pages; the documents stay as tombstones with status `removed`."""
        ...


class Store(Protocol):
    """A home of corpus tables. Reading needs no lock and sees the last finished write."""

    def writing(self, regime: Mapping[str, str]) -> AbstractContextManager[Writer]:
        """Lock the store for one writer.

        Raises:
            RegimeMismatchError: it holds documents under other parameters.
            StorageError: another process writes, or the store cannot be opened.
        """
        ...

    def documents(self) -> pa.Table:
        """All documents, by doc_id, tombstones included."""
        ...

    def scan(
        self, name: str, columns: Sequence[str] | None = None, doc_ids: Collection[str] | None = None
    ) -> Iterator[pa.Table]:
        """Rows of `chunks` or `pages` piece by piece: only these columns, only these documents."""
        ...

    def close(self) -> None:
        """Let go of what is open; the store opens again when it is used."""
        ...


def check_regime(stored: Mapping[str, str], wanted: Mapping[str, str], place: str) -> None:
    """Refuse to mix documents that were cut in different ways.

    Raises:
        RegimeMismatchError: with the parameters that differ and the remedy.
    """
    differing = [name for name in sorted({*stored, *wanted}) if stored.get(name) != wanted.get(name)]
    if "chunker" in differing:  # its parameters have other names and say nothing
        differing = [name for name in differing if not name.startswith("chunker.")]
    if stored and differing:
        said = ", ".join(f"{n} is {stored.get(n, 'not set')}, asked for {wanted.get(n, 'none')}" for n in differing)
        raise RegimeMismatchError(
            f"{place} holds documents under other parameters: {said};\n"
            f"give store.path=<another folder>, or delete {place} to rebuild it"
        )


def read_corpus(store: Store) -> Corpus:
    """Everything in a store as a corpus; tombstones stay in its documents.

    Raises:
        StorageError: a table breaks its schema.
    """
    chunks = pa.concat_tables([CHUNKS.empty_table(), *store.scan("chunks")])
    pages = pa.concat_tables([PAGES.empty_table(), *store.scan("pages")])
    return Corpus.of(chunks, store.documents(), pages)


def tombstones(documents: pa.Table) -> pa.Table:
    """The rows with status `removed`."""
    row = documents.schema.get_field_index("status")
    return documents.set_column(row, "status", pa.array([REMOVED] * documents.num_rows, pa.string()))


def missing_package(package: str, extra: str) -> StorageError:
    """The error for an optional package that is not installed."""
    return StorageError(f"{package} is not installed; pip install 'rankproof[{extra}]'")
