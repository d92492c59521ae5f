"""Small corpora by hand: named papers of page texts, cut into chunks at given document offsets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from evaluation.schema import Spans
from ingestion.schema import CHUNKS, DOCUMENTS, PAGE_BREAK, PAGES, Corpus


def corpus_of(
    papers: Mapping[str, Sequence[str]], cuts: Mapping[str, Sequence[tuple[int, int]]] | None = None
) -> Corpus:
    """Papers by file name. Their doc_id is `id-<name>`, a chunk's id `<name>:<cut>`; default: one chunk."""
    chunks, documents, pages = [], [], []
    for name, texts in papers.items():
        whole, start = PAGE_BREAK.join(texts), 0
        for number, text in enumerate(texts, 1):
            pages.append((f"id-{name}", number, start, text, 1.0))
            start += len(text) + len(PAGE_BREAK)
        for number, (low, high) in enumerate((cuts or {}).get(name, [(0, len(whole))])):
            row = (f"{name}:{number}", f"id-{name}", name, "", 1, 1, low, high, "", "body", whole[low:high], "{}")
            chunks.append(row)
        documents.append((f"id-{name}", name, "", "", len(texts), "hand", 1.0, "ok", "", ""))
    tables = ((chunks, CHUNKS), (documents, DOCUMENTS), (pages, PAGES))
    return Corpus.of(
        *(pa.Table.from_pylist([dict(zip(s.names, r, strict=True)) for r in rows], s) for rows, s in tables)
    )


def spans_of(*rows: tuple[int, int, int, int, int], part: Sequence[int] = (), whole: Sequence[int] = ()) -> Spans:
    """Rows of query, document row, start, end, grade; `whole` lists the rows that judge a whole page."""
    query, doc, start, end, grade = np.asarray(rows, dtype=np.int64).reshape(-1, 5).T
    return Spans(
        query.astype(np.int32),
        doc.astype(np.int32),
        start,
        end,
        grade.astype(np.int8),
        np.asarray(part or [0] * len(rows), dtype=np.int32),
        np.isin(np.arange(len(rows)), whole),
    )


def write_lines(path: Path, rows: Sequence[object]) -> Path:
    """A file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
