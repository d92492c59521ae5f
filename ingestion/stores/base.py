"""Stores over simple tables (memory, LanceDB, Qdrant): order of writes, reading of live rows.

The `documents` table is the truth: rows of a document count only while it stands there. It is written last when
documents come and first when they go, so a crash in between leaves rows that nobody reads and the next write deletes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from ingestion.schema import DOCUMENTS
from ingestion.stores import SCHEMAS, check_regime, tombstones
from ingestion.tables import REMOVED, Tables

WITH_ROWS = ("chunks", "pages")
DOCUMENTS_AT_ONCE = 256


class Backend(Protocol):
    """Three tables and a small mapping, opened for as long as the object lives."""

    place: str

    def regime(self) -> dict[str, str]:
        """What `set_regime` kept; empty at first."""
        ...

    def set_regime(self, regime: Mapping[str, str]) -> None:
        """Keep the regime."""
        ...

    def read(self, name: str, columns: Sequence[str], doc_ids: Collection[str] | None) -> pa.Table:
        """Rows with these columns, of these documents or of all."""
        ...

    def append(self, name: str, table: pa.Table) -> None:
        """Add rows."""
        ...

    def delete(self, name: str, doc_ids: Collection[str]) -> None:
        """Delete the rows of these documents."""
        ...


class BackendWriter:
    """Adds and removes documents in a backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def add(self, tables: Tables, replaces: Collection[str] = ()) -> None:
        """Add documents, in place of their own older rows and of `replaces`."""
        new = tables.documents["doc_id"].to_pylist()
        for name in WITH_ROWS:
            self._backend.delete(name, new)
            self._backend.append(name, getattr(tables, name))
        self._backend.delete("documents", new)
        self._backend.append("documents", tables.documents)
        for name in ("documents", *WITH_ROWS):
            self._backend.delete(name, [doc for doc in replaces if doc not in new])

    def remove(self, doc_ids: Collection[str]) -> None:
        """Turn documents into tombstones."""
        gone = tombstones(self._backend.read("documents", DOCUMENTS.names, doc_ids))
        self._backend.delete("documents", doc_ids)
        self._backend.append("documents", gone)
        for name in WITH_ROWS:
            self._backend.delete(name, doc_ids)


@contextmanager
def writing(backend: Backend, regime: Mapping[str, str]) -> Iterator[BackendWriter]:
    """A writer, after the regime was checked and kept.

    Raises:
        RegimeMismatchError: the backend holds documents under other parameters.
    """
    check_regime(backend.regime(), regime, backend.place)
    backend.set_regime(regime)
    yield BackendWriter(backend)


class TableStore:
    """A `Store` over a backend, which a subclass opens."""

    def open(self) -> Backend:
        """The backend, opened when it is first needed."""
        raise NotImplementedError

    def writing(self, regime: Mapping[str, str]) -> AbstractContextManager[BackendWriter]:
        """A writer; see `Store`."""
        return writing(self.open(), regime)

    def documents(self) -> pa.Table:
        """All documents by doc_id, tombstones included."""
        return self.open().read("documents", DOCUMENTS.names, None).sort_by("doc_id").combine_chunks()

    def scan(
        self, name: str, columns: Sequence[str] | None = None, doc_ids: Collection[str] | None = None
    ) -> Iterator[pa.Table]:
        """Rows of live documents, in pieces of some documents; see `Store`."""
        backend, schema = self.open(), SCHEMAS[name]
        wanted = [column for column in schema.names if columns is None or column in columns]
        known = backend.read("documents", ["doc_id", "status"], None)
        live = known.filter(pc.not_equal(known["status"], REMOVED))["doc_id"].to_pylist()
        ids = sorted(doc for doc in live if doc_ids is None or doc in doc_ids)
        for row in range(0, len(ids), DOCUMENTS_AT_ONCE):
            yield backend.read(name, wanted, ids[row : row + DOCUMENTS_AT_ONCE])
