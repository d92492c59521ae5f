"""Qdrant as a store: three collections of points without vectors, rows as payload. Needs the `qdrant` extra.

`path` opens an embedded Qdrant in a folder, `url` a server.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from ingestion.errors import StorageError
from ingestion.stores import SCHEMAS, base, missing_package

AT_ONCE = 512  # points of one request
META = "meta"
_KEYS = {"chunks": ("chunk_id",), "documents": ("doc_id",), "pages": ("doc_id", "page")}


class QdrantBackend:
    """A connection to an embedded Qdrant or a server."""

    def __init__(self, path: str | None, url: str | None) -> None:
        try:
            from qdrant_client import QdrantClient, models
        except ModuleNotFoundError as error:
            raise missing_package("qdrant-client", "qdrant") from error
        self.place = url or str(path)
        self._models: Any = models
        try:
            self.client: Any = QdrantClient(url=url) if url else QdrantClient(path=path)
        except RuntimeError as error:  # the embedded one locks its folder
            raise StorageError(f"{self.place}: another process uses this store ({error})") from error
        for name in (*SCHEMAS, META):
            if not self.client.collection_exists(name):
                self.client.create_collection(name, vectors_config={})

    def regime(self) -> dict[str, str]:
        """The kept regime."""
        found = self.client.retrieve(META, [0])
        return dict(json.loads(found[0].payload["regime"])) if found else {}

    def set_regime(self, regime: Mapping[str, str]) -> None:
        """Keep the regime."""
        point = self._models.PointStruct(id=0, vector={}, payload={"regime": json.dumps(dict(regime))})
        self.client.upsert(META, [point])

    def read(self, name: str, columns: Sequence[str], doc_ids: Collection[str] | None) -> pa.Table:
        """Rows with these columns, of these documents or of all, by document."""
        schema = pa.schema([SCHEMAS[name].field(column) for column in columns])
        condition = None if doc_ids is None else self._among(doc_ids)
        rows: list[dict[str, Any]] = []
        offset = None
        while doc_ids is None or doc_ids:
            points, offset = self.client.scroll(
                name, scroll_filter=condition, limit=AT_ONCE, offset=offset, with_payload=list(columns)
            )
            rows += [point.payload for point in points]
            if offset is None:
                break
        return pa.Table.from_pylist(rows, schema=schema)

    def append(self, name: str, table: pa.Table) -> None:
        """Add rows."""
        rows = table.to_pylist()
        for start in range(0, len(rows), AT_ONCE):
            points = [
                self._models.PointStruct(id=_point_id(name, row), vector={}, payload=row)
                for row in rows[start : start + AT_ONCE]
            ]
            self.client.upsert(name, points, wait=True)

    def delete(self, name: str, doc_ids: Collection[str]) -> None:
        """Delete the rows of these documents."""
        if doc_ids:
            selector = self._models.FilterSelector(filter=self._among(doc_ids))
            self.client.delete(name, points_selector=selector, wait=True)

    def _among(self, doc_ids: Collection[str]) -> Any:
        match = self._models.MatchAny(any=sorted(doc_ids))
        return self._models.Filter(must=[self._models.FieldCondition(key="doc_id", match=match)])


def _point_id(name: str, row: Mapping[str, Any]) -> int:
    """64 bits of the row's key: point ids are numbers or UUIDs."""
    key = "\x1f".join(str(row[column]) for column in _KEYS[name])
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8])


@dataclass(frozen=True)
class QdrantStore(base.TableStore):
    """An embedded Qdrant in the folder `path`, or a server at `url`."""

    path: str | None = None
    url: str | None = None

    @cached_property
    def _backend(self) -> QdrantBackend:
        if not (self.path or self.url):
            raise StorageError("store.path is not set; give store.path=<folder> or store.url=<address>")
        return QdrantBackend(self.path, self.url)

    def open(self) -> QdrantBackend:
        """The collections."""
        return self._backend

    def close(self) -> None:
        """Close the connection and free the folder."""
        if "_backend" in self.__dict__:
            self._backend.client.close()
            del self.__dict__["_backend"]
