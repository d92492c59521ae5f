"""The default store: a folder of Parquet files that any tool can read, with a manifest that says which count.

    <path>/manifest.json    regime, parts, tombstones: replaced whole, so it is the moment at which a write happens
    <path>/chunks/000001.parquet, documents/000001.parquet, pages/000001.parquet

A write adds a part and marks rows of older parts as dead; small parts are merged when the writer leaves, so that
files have a sensible size however many batches came. Files that no manifest names are leftovers of a crash.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from ingestion.artifacts import write_atomic
from ingestion.errors import StorageError
from ingestion.schema import DOCUMENTS
from ingestion.stores import SCHEMAS, check_regime, tombstones
from ingestion.tables import Tables

PART_ROWS = 100_000  # chunks: a part that holds fewer is merged with its neighbours (about 100 MB as Parquet)
MANIFEST = "manifest.json"


@dataclass
class Part:
    """One file of each table: its documents, and those of them that do not count any more."""

    name: str
    documents: list[str]
    chunks: int
    dead: list[str] = field(default_factory=list)


@dataclass
class Manifest:
    """What counts. `removed` holds the tombstones, as rows of the documents table."""

    regime: dict[str, str] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    removed: list[dict[str, Any]] = field(default_factory=list)
    last: int = 0


@dataclass(frozen=True)
class ParquetStore:
    """A dataset folder at `path`."""

    path: str | None = None

    @property
    def folder(self) -> Path:
        """Where the dataset is.

        Raises:
            StorageError: no path was given.
        """
        if not self.path:
            raise StorageError("store.path is not set; give store.path=<folder>")
        return Path(self.path)

    @contextmanager
    def writing(self, regime: Mapping[str, str]) -> Iterator[ParquetWriter]:
        """Lock the store, check the regime, merge small parts at the end; see `Store`."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / ".lock", timeout=0):
                manifest = self.manifest()
                check_regime(manifest.regime, regime, str(self.folder))
                manifest.regime = dict(regime)
                writer = ParquetWriter(self.folder, manifest)
                writer.sweep()
                yield writer
                writer.merge()
        except Timeout as error:
            raise StorageError(f"{self.folder}: another process writes to this store; wait until it ends") from error
        except OSError as error:
            raise StorageError(f"{self.folder}: {error}") from error

    def manifest(self) -> Manifest:
        """What counts at this moment; empty where nothing was written yet.

        Raises:
            StorageError: the manifest is damaged.
        """
        path = self.folder / MANIFEST
        if not path.exists():
            return Manifest()
        try:
            content = json.loads(path.read_text())
            parts = [Part(**part) for part in content["parts"]]
            return Manifest(content["regime"], parts, content["removed"], content["last"])
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{path} is damaged ({error}); delete {self.folder} and ingest again") from error

    def documents(self) -> pa.Table:
        """All documents by doc_id, tombstones included."""
        manifest = self.manifest()
        found = [_read(self.folder, "documents", part, DOCUMENTS.names, None) for part in manifest.parts]
        removed = pa.Table.from_pylist(manifest.removed, schema=DOCUMENTS)
        return pa.concat_tables([*found, removed]).sort_by("doc_id").combine_chunks()

    def scan(
        self, name: str, columns: Sequence[str] | None = None, doc_ids: Collection[str] | None = None
    ) -> Iterator[pa.Table]:
        """Rows of `chunks` or `pages`, a part at a time; parts and row groups without these documents are skipped."""
        wanted = [column for column in SCHEMAS[name].names if columns is None or column in columns]
        for part in self.manifest().parts:
            if doc_ids is None or not set(part.documents).isdisjoint(doc_ids):
                yield _read(self.folder, name, part, wanted, doc_ids)

    def close(self) -> None:
        """Nothing is open between calls."""


class ParquetWriter:
    """Writes parts, then the manifest. Lives only inside of `ParquetStore.writing`."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder, self._manifest = folder, manifest

    def add(self, tables: Tables, replaces: Collection[str] = ()) -> None:
        """Add documents, in place of their own older rows and of `replaces`."""
        part = self._write(tables)
        gone = {*part.documents, *replaces}
        self._bury(gone)
        self._manifest.removed = [row for row in self._manifest.removed if row["doc_id"] not in gone]
        self._manifest.parts.append(part)
        self._commit()

    def remove(self, doc_ids: Collection[str]) -> None:
        """Turn documents into tombstones."""
        gone = [
            _read(self._folder, "documents", part, DOCUMENTS.names, doc_ids)
            for part in self._manifest.parts
            if not set(part.documents).isdisjoint(doc_ids)
        ]
        self._manifest.removed += [row for table in gone for row in tombstones(table).to_pylist()]
        self._bury(set(doc_ids))
        self._commit()

    def merge(self) -> None:
        """Bring neighbouring small parts, and parts of mostly dead rows, together; by doc_id within a part."""
        groups: list[list[Part]] = []
        for part in self._manifest.parts:
            small = part.chunks < PART_ROWS and bool(groups) and sum(p.chunks for p in groups[-1]) < PART_ROWS
            if small:
                groups[-1].append(part)
            else:
                groups.append([part])
        parts = []
        for group in groups:
            dead = sum(len(part.dead) for part in group)
            wanted = len(group) > 1 or 2 * dead > sum(len(part.documents) for part in group)
            parts.append(self._merged(group) if wanted else group[0])
        self._manifest.parts = [part for part in parts if part.documents]
        self._commit()
        self.sweep()

    def sweep(self) -> None:
        """Delete files that the manifest does not name."""
        known = {f"{part.name}.parquet" for part in self._manifest.parts}
        for name in SCHEMAS:
            for path in (self._folder / name).glob("*"):
                if path.name not in known:
                    path.unlink()

    def _merged(self, group: Sequence[Part]) -> Part:
        tables = {
            name: pa.concat_tables([_read(self._folder, name, part, schema.names, None) for part in group])
            for name, schema in SCHEMAS.items()
        }
        return self._write(Tables(**tables))

    def _write(self, tables: Tables) -> Part:
        self._manifest.last += 1
        part = f"{self._manifest.last:06d}"
        for name in SCHEMAS:
            folder = self._folder / name
            folder.mkdir(exist_ok=True)
            keys = [("doc_id", "ascending")]
            keys += {"chunks": [("char_start", "ascending")], "pages": [("page", "ascending")]}.get(name, [])
            path = folder / f"{part}.parquet"
            pq.write_table(getattr(tables, name).sort_by(keys), path, compression="zstd")
            _flush(path)
        ids = sorted(tables.documents["doc_id"].to_pylist())
        return Part(part, ids, tables.chunks.num_rows)

    def _bury(self, gone: set[str]) -> None:
        for part in self._manifest.parts:
            part.dead = sorted({*part.dead, *(gone & set(part.documents))})

    def _commit(self) -> None:
        manifest = self._manifest
        content = {
            "regime": manifest.regime,
            "parts": [vars(part) for part in manifest.parts],
            "removed": manifest.removed,
            "last": manifest.last,
        }
        write_atomic(self._folder / MANIFEST, json.dumps(content, indent=1, sort_keys=True))


def _read(folder: Path, name: str, part: Part, columns: Sequence[str], doc_ids: Collection[str] | None) -> pa.Table:
    path = folder / name / f"{part.name}.parquet"
    condition = None
    if doc_ids is not None:
        condition = pc.field("doc_id").isin(sorted(doc_ids))
    if part.dead:
        living = ~pc.field("doc_id").isin(part.dead)
        condition = living if condition is None else condition & living
    try:
        return pq.read_table(path, columns=list(columns), filters=condition)
    except (OSError, pa.ArrowInvalid) as error:
        raise StorageError(f"{path}: {error}; it may have been merged meanwhile: read again") from error


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
