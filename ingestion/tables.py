"""Rows of the corpus tables from extracted documents."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ingestion.document import ChunkSpan, ExtractedDocument
from ingestion.errors import ChunkingError, ExtractionError, NoTextError
from ingestion.schema import CHUNKS, DOCUMENTS, PAGES, chunk_id
from ingestion.sources import Source

OK, EMPTY, ERROR, REMOVED = "ok", "empty", "error", "removed"


@dataclass(frozen=True)
class Tables:
    """Rows of some documents: chunks, documents, pages, in the schemas of `schema`."""

    chunks: pa.Table
    documents: pa.Table
    pages: pa.Table

    @staticmethod
    def together(parts: Sequence[Tables]) -> Tables:
        """The rows of several batches, in their order."""
        names = {"chunks": CHUNKS, "documents": DOCUMENTS, "pages": PAGES}
        joined = {
            name: pa.concat_tables([schema.empty_table(), *(getattr(part, name) for part in parts)]).combine_chunks()
            for name, schema in names.items()
        }
        return Tables(**joined)


def document_tables(
    source: Source, document: ExtractedDocument, spans: Sequence[ChunkSpan], extractor: str, regime: str
) -> Tables:
    """The rows of one document.

    Raises:
        ChunkingError: a chunk is empty, lies outside the text, or stands twice.
    """
    text = document.text
    starts = document.page_starts
    chunks = []
    seen: set[tuple[int, int]] = set()
    for span in spans:
        place = (span.char_start, span.char_end)
        if not 0 <= span.char_start < span.char_end <= len(text) or place in seen:
            raise ChunkingError(f"{source.name}: chunk {place} is empty, outside of the text, or stands twice")
        seen.add(place)
        chunks.append(
            {
                "chunk_id": chunk_id(source.doc_id, *place, regime),
                "doc_id": source.doc_id,
                "doc_name": source.name,
                "doc_version": "",
                "page_start": bisect_right(starts, span.char_start),
                "page_end": bisect_right(starts, span.char_end - 1),
                "char_start": span.char_start,
                "char_end": span.char_end,
                "section": span.section,
                "kind": span.kind,
                "text": text[span.char_start : span.char_end].replace("\n", " "),
                "metadata_json": source.metadata,
            }
        )
    pages = [
        {"doc_id": source.doc_id, "page": number, "char_start": start, "text": page.text, "quality": page.quality}
        for number, (page, start) in enumerate(zip(document.pages, starts, strict=True), start=1)
    ]
    row = _document_row(source, extractor, OK, "", document.note)
    row |= {"title": document.title, "pages": len(document.pages), "quality": document.quality}
    return _tables(chunks, [row], pages)


def failed_tables(source: Source, error: ExtractionError, extractor: str) -> Tables:
    """The row of a document that gave no text: status `empty` (no text layer) or `error`."""
    status = EMPTY if isinstance(error, NoTextError) else ERROR
    return _tables([], [_document_row(source, extractor, status, type(error).__name__, str(error))], [])


def _document_row(source: Source, extractor: str, status: str, error_type: str, error: str) -> dict[str, Any]:
    return {
        "doc_id": source.doc_id,
        "doc_name": source.name,
        "sha256": source.sha256,
        "title": "",
        "pages": 0,
        "extractor": extractor,
        "quality": 0.0,
        "status": status,
        "error_type": error_type,
        "error": error,
    }


def _tables(
    chunks: Iterable[dict[str, Any]],
    documents: Iterable[dict[str, Any]],
    pages: Iterable[dict[str, Any]],
) -> Tables:
    return Tables(
        pa.Table.from_pylist(list(chunks), schema=CHUNKS),
        pa.Table.from_pylist(list(documents), schema=DOCUMENTS),
        pa.Table.from_pylist(list(pages), schema=PAGES),
    )
