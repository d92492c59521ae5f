"""The tables of a corpus: chunks, documents, pages. Arrow schemas on disk, one checked `Corpus` in memory."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingestion.document import KINDS as KINDS
from ingestion.document import PAGE_BREAK as PAGE_BREAK
from ingestion.errors import StorageError

CHUNKS = pa.schema(
    [
        ("chunk_id", pa.string()),
        ("doc_id", pa.string()),
        ("doc_name", pa.string()),
        ("doc_version", pa.string()),
        ("page_start", pa.int32()),
        ("page_end", pa.int32()),
        ("char_start", pa.int64()),
        ("char_end", pa.int64()),
        ("section", pa.string()),
        ("kind", pa.string()),
        ("text", pa.string()),
        ("metadata_json", pa.string()),
    ]
)
DOCUMENTS = pa.schema(
    [
        ("doc_id", pa.string()),
        ("doc_name", pa.string()),
        ("sha256", pa.string()),
        ("title", pa.string()),
        ("pages", pa.int32()),
        ("extractor", pa.string()),
        ("quality", pa.float64()),
        ("status", pa.string()),
        ("error_type", pa.string()),
        ("error", pa.string()),
    ]
)
PAGES = pa.schema(
    [
        ("doc_id", pa.string()),
        ("page", pa.int32()),
        ("char_start", pa.int64()),
        ("text", pa.string()),
        ("quality", pa.float64()),
    ]
)


def chunk_id(doc_id: str, char_start: int, char_end: int, regime: str) -> str:
    """16 hex digits of sha256(doc_id, span, chunking regime): stays when other papers arrive.

    It is random with respect to relevance, so breaking ties by it favours nobody.
    """
    return hashlib.sha256(f"{doc_id}\x1f{char_start}\x1f{char_end}\x1f{regime}".encode()).hexdigest()[:16]


def check(table: pa.Table, schema: pa.Schema, name: str) -> pa.Table:
    """The table with exactly the schema's columns and types, chunks combined.

    Raises:
        StorageError: a column is missing or has another type, or holds a null.
    """
    missing = [column for column in schema.names if column not in table.column_names]
    if missing:
        raise StorageError(f"{name}: column {missing[0]!r} is missing; it needs {', '.join(schema.names)}")
    try:
        table = table.select(schema.names).cast(schema).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise StorageError(f"{name}: {error}") from error
    for column in schema.names:
        if table[column].null_count:
            raise StorageError(f"{name}: column {column!r} has {table[column].null_count} nulls; use empty strings")
    return table


def table_digest(table: pa.Table) -> str:
    """Sha256 (hex) of a table's content, independent of Arrow's internal layout."""
    digest = hashlib.sha256()
    for name in table.column_names:
        column = table[name].combine_chunks()
        digest.update(name.encode() + b"\x00")
        if pa.types.is_string(column.type):
            digest.update(pc.utf8_length(column).to_numpy(zero_copy_only=False).tobytes())
            digest.update("".join(column.to_pylist()).encode("utf-8", "surrogatepass"))
        else:
            digest.update(column.to_numpy(zero_copy_only=False).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Corpus:
    """A corpus in memory. Rows of `chunks` are sorted by chunk_id, so a smaller row wins every tie.

    Build it with `Corpus.of`, which checks and sorts. `text` of a chunk equals its document's repaired text from
    `char_start` to `char_end` with line breaks as spaces; a document's text is its pages joined by `PAGE_BREAK`.
    """

    chunks: pa.Table
    documents: pa.Table
    pages: pa.Table

    @staticmethod
    def of(chunks: pa.Table, documents: pa.Table, pages: pa.Table) -> Corpus:
        """Check the three tables against their schemas and sort them.

        Raises:
            StorageError: a table breaks its schema, or a chunk_id or doc_id stands twice.
        """
        chunks = check(chunks, CHUNKS, "chunks").sort_by("chunk_id").combine_chunks()
        documents = check(documents, DOCUMENTS, "documents").sort_by("doc_id").combine_chunks()
        pages = check(pages, PAGES, "pages").sort_by([("doc_id", "ascending"), ("page", "ascending")])
        for table, column in ((chunks, "chunk_id"), (documents, "doc_id")):
            if pc.count_distinct(table[column]).as_py() != table.num_rows:
                counts = table[column].value_counts().to_pylist()
                twice = next(entry["values"] for entry in counts if entry["counts"] > 1)
                raise StorageError(f"{column} {twice!r} stands twice; remove the double file or id")
        return Corpus(chunks, documents, pages.combine_chunks())

    def __len__(self) -> int:
        return int(self.chunks.num_rows)

    @cached_property
    def fingerprint(self) -> str:
        """Sha256 (hex) of the chunk table's content: what every index over it depends on."""
        return table_digest(self.chunks)

    @cached_property
    def chunk_ids(self) -> npt.NDArray[np.object_]:
        """Object [n_chunks], ascending."""
        return self.column("chunk_id")

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row of each chunk_id."""
        return {name: row for row, name in enumerate(self.chunk_ids)}

    @cached_property
    def texts(self) -> list[str]:
        """The text of every chunk, n_chunks: what retrievers index."""
        return [str(text) for text in self.chunks["text"].to_pylist()]

    @cached_property
    def page_starts(self) -> dict[str, list[tuple[int, int]]]:
        """Where every page of each document begins, by doc_id: (offset in its text, page), ascending."""
        found: dict[str, list[tuple[int, int]]] = {}
        columns = (self.pages[name].to_pylist() for name in ("doc_id", "char_start", "page"))
        for doc_id, start, page in zip(*columns, strict=True):
            found.setdefault(doc_id, []).append((start, page))
        return found

    @cached_property
    def titles(self) -> dict[str, str]:
        """The title of every document by doc_id, empty where the extractor found none."""
        columns = (self.documents[name].to_pylist() for name in ("doc_id", "title"))
        return dict(zip(*columns, strict=True))

    def column(self, name: str) -> npt.NDArray[np.object_]:
        """A string column of the chunk table as an object array [n_chunks]."""
        return np.asarray(self.chunks[name].to_pylist(), dtype=object)

    def numbers(self, name: str) -> npt.NDArray[np.int64]:
        """An integer column of the chunk table as int64 [n_chunks]."""
        return np.asarray(self.chunks[name].to_numpy(), dtype=np.int64)

    def save(self, folder: Path) -> None:
        """Write the three tables as Parquet into a folder."""
        for name in ("chunks", "documents", "pages"):
            pq.write_table(getattr(self, name), folder / f"{name}.parquet", compression="zstd")

    @staticmethod
    def load(folder: Path) -> Corpus:
        """Read the three tables that `save` wrote.

        Raises:
            StorageError: a table is missing or breaks its schema.
        """
        try:
            tables = [pq.read_table(folder / f"{name}.parquet") for name in ("chunks", "documents", "pages")]
        except (OSError, pa.ArrowInvalid) as error:
            raise StorageError(f"{folder}: {error}") from error
        return Corpus.of(*tables)
