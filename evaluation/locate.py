"""Where judged spans lie in a corpus, in document offsets, whatever extractor and chunker made its text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from evaluation.errors import BenchmarkError, OrphanError
from evaluation.evidence import document_stem, read_evidence
from evaluation.quotes import Text
from evaluation.records import read_records
from evaluation.schema import Benchmark, Evidence, Spans
from ingestion.artifacts import write_atomic
from ingestion.schema import PAGE_BREAK, Corpus

MAX_PARTS = 62  # parts are bits of an int64


@dataclass(frozen=True)
class Library:
    """The documents of a corpus by every name that a judgment may use for them."""

    corpus: Corpus

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """Row in `Corpus.documents` of every doc_id, file name, and stem; a name of several documents is none."""
        columns = self.corpus.documents.select(["doc_id", "doc_name"]).to_pydict()
        rows: dict[str, set[int]] = {}
        for row, name in enumerate(columns["doc_name"]):
            for key in (name, Path(name).name, document_stem(name)):
                rows.setdefault(key, set()).add(row)
        unique = {name: min(found) for name, found in rows.items() if len(found) == 1}
        return unique | {doc_id: row for row, doc_id in enumerate(columns["doc_id"])}

    def row(self, doc: str) -> int | None:
        """Row of the document that a judgment names, None where there is none."""
        if doc in self.row_of:
            return self.row_of[doc]
        names = (Path(doc).name, document_stem(doc))
        return next((self.row_of[name] for name in names if name in self.row_of), None)

    @cached_property
    def texts(self) -> Mapping[int, Text]:
        """Text of every document that has pages."""
        columns = self.corpus.pages.select(["doc_id", "page", "char_start", "text"]).to_pydict()
        parts: dict[str, list[str]] = {}
        pages: dict[str, dict[int, tuple[int, int]]] = {}
        for doc_id, page, start, text in zip(*columns.values(), strict=True):
            parts.setdefault(doc_id, []).append(text)
            pages.setdefault(doc_id, {})[page] = (start, start + len(text))
        return {self.row_of[doc_id]: Text(PAGE_BREAK.join(parts[doc_id]), pages[doc_id]) for doc_id in parts}

    def find(self, row: Evidence) -> tuple[int, int, int] | None:
        """Document row, start and end of a judgment, None where it is not in the corpus."""
        doc = self.row(row.doc)
        place = self.texts[doc].find(row) if doc is not None and doc in self.texts else None
        return None if doc is None or place is None else (doc, *place)

    def on_page(self, doc: int, start: int, end: int) -> dict[str, int]:
        """A span as the number of the page that it begins on, and offsets from there."""
        starts = [(area[0], number) for number, area in self.texts[doc].pages.items() if area[0] <= start]
        base, number = max(starts)
        return {"page": number, "char_start": start - base, "char_end": end - base}


def locate(benchmark: Benchmark, corpus: Corpus) -> Spans:
    """Find every judgment's span.

    Parts are numbered per query by name, among relevant spans that were found. Where a query has named parts, a span
    without one is needed by none of them; where it has no names, all its relevant spans are alternatives of one part.

    Raises:
        BenchmarkError: a query has more than 62 parts.
    """
    library = Library(corpus)
    found = [library.find(row) for row in benchmark.evidence]
    located = [(row, place) for row, place in zip(benchmark.evidence, found, strict=True) if place]
    query_row = {qid: row for row, qid in enumerate(benchmark.queries.qid)}
    parts = _part_numbers([row for row, _ in located])
    places = np.asarray([place for _, place in located], dtype=np.int64).reshape(-1, 3)
    return Spans(
        query=np.asarray([query_row[row.qid] for row, _ in located], dtype=np.int32),
        doc=places[:, 0].astype(np.int32),
        start=places[:, 1],
        end=places[:, 2],
        grade=np.asarray([row.grade for row, _ in located], dtype=np.int8),
        part=np.asarray([parts.get((row.qid, row.part), -1) for row, _ in located], dtype=np.int32),
        whole_page=np.asarray([not row.quote for row, _ in located], dtype=np.bool_),
        orphans=tuple(row for row, place in zip(benchmark.evidence, found, strict=True) if not place),
    )


def check_orphans(spans: Spans, total: int, limit: float = 0.02) -> None:
    """Refuse judgments of which more than `limit` (share of `total`) are not in the corpus.

    Raises:
        OrphanError: with their number and the first five.
    """
    if len(spans.orphans) <= limit * total:
        return
    first = "\n".join(f"  {row.qid}: {row.doc}, page {row.page}: {row.quote[:80]!r}" for row in spans.orphans[:5])
    raise OrphanError(
        f"the judgments do not describe this corpus: {len(spans.orphans)} of {total} are not in it"
        f" ({limit:.0%} may be missing):\n{first}\n"
        "name the corpus that was judged (corpus.path=<folder>), or correct these documents, pages and quotes"
    )


def write_offsets(folder: Path, corpus: Corpus) -> tuple[Evidence, ...]:
    """Fill page, char_start and char_end of every quote in `folder/evidence.jsonl`; returns the orphans, left as is.

    Lines keep their order and fields of others, so that the same judgments over the same text give the same bytes.

    Raises:
        BenchmarkError: a line is unreadable.
    """
    library, orphans, lines = Library(corpus), [], []
    for record in read_records(folder / "evidence.jsonl"):
        row = read_evidence(record, record.required("qid"))
        place = library.find(row)
        if place is None:
            orphans.append(row)
        filled = library.on_page(*place) if place and row.quote else {}
        lines.append(json.dumps({**record.data, **filled}, ensure_ascii=False) + "\n")
    write_atomic(folder / "evidence.jsonl", "".join(lines))
    return tuple(orphans)


def _part_numbers(rows: list[Evidence]) -> dict[tuple[str, str], int]:
    names: dict[str, set[str]] = {}
    for row in rows:
        if row.grade > 0:
            names.setdefault(row.qid, set()).add(row.part)
    for qid, parts in names.items():
        if len(parts) > MAX_PARTS:
            raise BenchmarkError(f"query {qid!r} has {len(parts)} parts; {MAX_PARTS} is the most: merge some")
    needed = {qid: sorted(parts - {""}) or [""] for qid, parts in names.items()}
    return {(qid, part): number for qid, parts in needed.items() for number, part in enumerate(parts)}
