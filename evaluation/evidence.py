"""One judged span in a file: its keys, and how it names its document."""

from __future__ import annotations

from pathlib import Path

from evaluation.records import Record
from evaluation.schema import Evidence

KEYS = {"qid", "doc", "doc_name", "page", "char_start", "char_end", "quote", "grade", "source", "part"}


def read_evidence(record: Record, qid: str) -> Evidence:
    """One judgment. Without a quote the whole page is judged, without a page too the whole document.

    Raises:
        BenchmarkError: an unknown key, no document, or a value out of range.
    """
    record.refuse_unknown_keys(KEYS)
    return Evidence(
        qid=qid,
        doc=record.required("doc_name", "doc"),
        page=record.number("page", 0, 0),
        char_start=record.number("char_start", -1, -1),
        char_end=record.number("char_end", -1, -1),
        quote=record.text("quote"),
        grade=record.grade(1),
        source=record.text("source") or "hand",
        part=record.identifier("part"),
    )


def document_stem(doc: str) -> str:
    """A document's name without folders and `.pdf`; other dots stay (`2605.23950`)."""
    name = Path(doc).name
    return name[:-4] if name.lower().endswith(".pdf") else name
