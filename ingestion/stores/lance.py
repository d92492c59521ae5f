"""LanceDB as a store: three tables and the regime in a database folder. Needs the `lance` extra."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock, Timeout

from ingestion.errors import StorageError
from ingestion.stores import SCHEMAS, base, missing_package

META = pa.schema([("regime", pa.string())])
MAX_LIMIT = 2**31 - 1  # rows of one read: a query without a limit may be cut


class LanceBackend:
    """An open LanceDB database."""

    def __init__(self, place: str) -> None:
        try:
            import lancedb
        except ModuleNotFoundError as error:
            raise missing_package("lancedb", "lance") from error
        self.place = place
        database = lancedb.connect(place)
        self._tables: dict[str, Any] = {
            name: database.create_table(name, schema=schema, exist_ok=True)
            for name, schema in {**SCHEMAS, "meta": META}.items()
        }

    def regime(self) -> dict[str, str]:
        """The kept regime."""
        rows = self._tables["meta"].to_arrow().to_pylist()
        return dict(json.loads(rows[-1]["regime"])) if rows else {}

    def set_regime(self, regime: Mapping[str, str]) -> None:
        """Keep the regime."""
        if self.regime() != dict(regime):
            self._tables["meta"].add(pa.table({"regime": [json.dumps(dict(regime))]}, schema=META))

    def read(self, name: str, columns: Sequence[str], doc_ids: Collection[str] | None) -> pa.Table:
        """Rows with these columns, of these documents or of all."""
        empty = pa.schema([SCHEMAS[name].field(column) for column in columns]).empty_table()
        if doc_ids is not None and not doc_ids:
            return empty
        query = self._tables[name].search().select(list(columns)).limit(MAX_LIMIT)
        if doc_ids is not None:
            query = query.where(_among(doc_ids))
        return query.to_arrow().select(list(columns)).cast(empty.schema)

    def append(self, name: str, table: pa.Table) -> None:
        """Add rows."""
        if table.num_rows:
            self._tables[name].add(table)

    def delete(self, name: str, doc_ids: Collection[str]) -> None:
        """Delete the rows of these documents."""
        if doc_ids:
            self._tables[name].delete(_among(doc_ids))


def _among(doc_ids: Collection[str]) -> str:
    if not all(doc.isalnum() for doc in doc_ids):
        raise StorageError("a doc_id holds characters other than letters and digits")
    return "doc_id IN (" + ", ".join(f"'{doc}'" for doc in sorted(doc_ids)) + ")"


@dataclass(frozen=True)
class LanceStore(base.TableStore):
    """A LanceDB database folder at `path`."""

    path: str | None = None

    @cached_property
    def _backend(self) -> LanceBackend:
        if not self.path:
            raise StorageError("store.path is not set; give store.path=<folder>")
        return LanceBackend(self.path)

    def open(self) -> LanceBackend:
        """The database."""
        return self._backend

    @contextmanager
    def writing(self, regime: Mapping[str, str]) -> Iterator[base.BackendWriter]:
        """A writer, with the folder locked; see `Store`."""
        folder = Path(self._backend.place)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(folder / ".lock", timeout=0), super().writing(regime) as writer:
                yield writer
        except Timeout as error:
            raise StorageError(f"{folder}: another process writes to this store; wait until it ends") from error

    def close(self) -> None:
        """Forget the open database."""
        self.__dict__.pop("_backend", None)
