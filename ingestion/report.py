"""What an ingestion did: a summary in words, and `extraction.parquet` with quality and removed lines by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingestion.artifacts import ArtifactStore
from ingestion.pipeline import kept_document
from ingestion.sources import Source, read_sources
from ingestion.tables import OK, REMOVED

WORST = 5  # pages that are named
WEAK = 0.8  # quality below which a page is worth a look
LISTED = 20  # failed files, notes and duplicates that are named
REPORT = pa.schema(
    [
        ("doc_id", pa.string()),
        ("doc_name", pa.string()),
        ("page", pa.int32()),
        ("quality", pa.float64()),
        ("removed", pa.list_(pa.string())),
    ]
)


def summary(
    documents: pa.Table, chunks: int, pages: Iterable[pa.Table], duplicates: Sequence[tuple[str, str]] = ()
) -> str:
    """Readable lines: counts by status, failed files with their errors, notes, duplicates, the worst pages.

    Args:
        documents: the documents table.
        chunks: how many chunks there are.
        pages: tables with doc_id, page and quality.
        duplicates: names of files, and of the files that they repeat.
    """
    rows = [row for row in documents.sort_by("doc_name").to_pylist() if row["status"] != REMOVED]
    counts = Counter(row["status"] for row in rows)
    said = ", ".join(f"{counts[status]} {status}" for status in sorted(counts, key=lambda name: (name != OK, name)))
    lines = [f"{len(rows)} documents ({said}), {sum(row['pages'] for row in rows)} pages, {chunks} chunks"]
    lines += _listed(
        f"{r['status']}: {r['doc_name']}: {r['error_type']}: {r['error']}" for r in rows if r["error_type"]
    )
    lines += _listed(f"note: {r['doc_name']}: {r['error']}" for r in rows if r["error"] and not r["error_type"])
    lines += _listed(f"duplicate: {name} has the same bytes as {first}" for name, first in duplicates)
    names = {row["doc_id"]: row["doc_name"] for row in rows}
    weak = sorted(
        (row["quality"], names[row["doc_id"]], row["page"])
        for table in pages
        for row in table.to_pylist()
        if row["quality"] < WEAK
    )
    lines += _listed((f"weak page: {name} page {page}: {_weakness(quality)}" for quality, name, page in weak), WORST)
    return "\n".join(lines)


def _weakness(quality: float) -> str:
    """What is wrong with a page: a page without text scores 0 and cannot be searched."""
    return f"quality {quality:.2f}" if quality else "no text (a scan? run OCR over the file first)"


def _listed(items: Iterable[str], limit: int = LISTED) -> list[str]:
    found = [f"  {item}" for item in items]
    return found if len(found) <= limit else [*found[:limit], f"  and {len(found) - limit} more"]


def extraction_report(files: Sequence[Source], artifacts: ArtifactStore) -> Iterator[pa.Table]:
    """Per file that was read, a row for each page: doc_id, doc_name, page, quality, removed lines."""
    for source in files:
        document = kept_document(source, artifacts)
        if document is not None:
            rows = [
                {
                    "doc_id": source.doc_id,
                    "doc_name": source.name,
                    "page": number,
                    "quality": page.quality,
                    "removed": list(page.removed),
                }
                for number, page in enumerate(document.pages, start=1)
            ]
            yield pa.Table.from_pylist(rows, schema=REPORT)


def write_report(corpus: Path, artifacts: ArtifactStore, folder: Path) -> Path:
    """Write `extraction.parquet` for the ingested files below `corpus` into a folder; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "extraction.parquet"
    with pq.ParquetWriter(path, REPORT, compression="zstd") as writer:
        for table in extraction_report(read_sources(corpus).files, artifacts):
            writer.write_table(table)
    return path
