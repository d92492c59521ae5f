"""Collections of PDFs with judged pages, sentences or papers.

Layout of a folder (files plain or `.gz`):

    pdfs/<document>.pdf
    queries.jsonl             _id, text, metadata: {paper_id or doc_id, answer}
    corpus.jsonl              for sentences: _id, text, metadata: {paper_id, page}
    qrels/<unit>.tsv          unit pages, sentences or papers; query-id, corpus-id, score
    qrels/<unit>_<split>.tsv  the same where there are splits; `graded` is the collection's test split

A judged id is a sentence's `_id`, a page `<document>#p<n>`, or a document. Pages count from 0 in these files, from 1
with us; a sentence whose page is null stands somewhere in its document. A query's cluster is the document that it
asks about. Without split files all questions are `test`, also those that no judgment names; with them, a split has
the questions that any of its files judges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluation.beir import by_id, field, read_tsv, refuse_unknown, source
from evaluation.errors import BenchmarkError, SplitError
from evaluation.records import Record, either
from evaluation.schema import Benchmark, DocumentJudgment, Evidence
from retrieval.schema import Queries

UNITS = {"auto": ("sentences", "pages"), "sentences": ("sentences",), "pages": ("pages",), "papers": ("papers",)}
PAGE = re.compile(r"(?P<doc>.+)#p(?P<page>\d{1,6})")
ALIAS = {"graded": "test"}
UNANSWERABLE = "Not answerable"  # MMLongBench-Doc's answer to a question without evidence


@dataclass(frozen=True)
class Split:
    """Judgments of one split, and its name in file names (empty without splits)."""

    suffix: str
    rows: tuple[DocumentJudgment, ...]


def load_pdf_bench(path: Path, split: str, unit: str = "auto") -> Benchmark:
    """Questions over the PDFs of `path/pdfs` with their judged spans.

    Args:
        path: the folder.
        split: `test`, `train`, ... as the judgment files are named, or `all`.
        unit: `sentences` (quotes with their page), `pages` (whole pages), `papers` (whole documents), or `auto`:
            sentences where the collection has them, else pages.

    Raises:
        BenchmarkError: a file is missing or unreadable, the unit or split does not exist, or a judged query or
            sentence is unknown.
    """
    queries = either(path, "queries.jsonl")
    records = by_id(queries)
    splits = _splits(path, split, unit)
    split_of = {qid: name for name in reversed(splits) for qid in _members(path, splits[name], records)}
    refuse_unknown(split_of.keys() - records.keys(), path / "qrels", queries)
    records = {qid: records[qid] for qid in sorted(split_of)}
    rows = {(row.qid, row.doc_id): row for part in splits.values() for row in part.rows}
    return Benchmark(
        path.resolve().name,
        _queries(records, split_of),
        evidence=tuple(_evidence(path, [rows[key] for key in sorted(rows)])),
        answers={qid: answer for qid, record in records.items() if (answer := field(record, "answer"))},
    )


def _splits(path: Path, split: str, unit: str) -> dict[str, Split]:
    """The asked splits by our name for them, in a fixed order."""
    if unit not in UNITS:
        raise BenchmarkError(f"benchmark.unit={unit!r}: must be one of {', '.join(UNITS)}")
    for name in UNITS[unit]:
        files = sorted((path / "qrels").glob(f"{name}.tsv")) + sorted((path / "qrels").glob(f"{name}_*.tsv"))
        suffixes = {file: file.stem.removeprefix(name).removeprefix("_") for file in files}
        found = {ALIAS.get(suffix, suffix) or "test": file for file, suffix in suffixes.items()}
        wanted = sorted(found) if split == "all" else [ALIAS.get(split, split)]
        if found and not found.keys() >= set(wanted):
            raise SplitError(f"{path / 'qrels'}: no {name} judged for split {split!r}; there are: {', '.join(found)}")
        if found:
            return {key: Split(suffixes[found[key]], read_tsv(found[key])) for key in wanted}
    raise BenchmarkError(f"{path / 'qrels'}: no {' or '.join(UNITS[unit])}.tsv; choose another benchmark.unit")


def _members(path: Path, split: Split, records: Mapping[str, Record]) -> list[str]:
    """The questions of a split."""
    if not split.suffix:
        return [*records, *(row.qid for row in split.rows)]
    return [row.qid for file in sorted((path / "qrels").glob(f"*_{split.suffix}.tsv")) for row in read_tsv(file)]


def _queries(records: Mapping[str, Record], split_of: Mapping[str, str]) -> Queries:
    return Queries.of(
        list(records),
        [record.required("text") for record in records.values()],
        ["unanswerable" if field(record, "answer") == UNANSWERABLE else "" for record in records.values()],
        [split_of[qid] for qid in records],
        [source(record) for record in records.values()],
    )


def _evidence(path: Path, rows: list[DocumentJudgment]) -> list[Evidence]:
    """Judgments as spans: a sentence is a quote, a page an empty quote, a document an empty quote on page 0."""
    file = either(path, "corpus.jsonl")
    sentences = by_id(file) if file.is_file() else {}
    origin = f"imported:{path.resolve().name}"
    evidence = []
    for row in rows:
        page = PAGE.fullmatch(row.doc_id)
        if row.doc_id in sentences:
            doc, number, quote = _sentence(sentences[row.doc_id])
        elif page:
            doc, number, quote = page["doc"], int(page["page"]) + 1, ""
        elif "#" in row.doc_id:
            raise BenchmarkError(f"{path / 'qrels'}: {row.doc_id!r} is judged for {row.qid!r} but not in {file}")
        else:
            doc, number, quote = row.doc_id, 0, ""
        evidence.append(Evidence(row.qid, doc, number, -1, -1, quote, row.grade, origin))
    return evidence


def _sentence(record: Record) -> tuple[str, int, str]:
    """Document, page (from 1; 0 where it is not known) and text of a sentence."""
    page = record.metadata().get("page")
    if page is None:
        page = -1
    if isinstance(page, bool) or not isinstance(page, int) or page < -1:
        raise record.error("metadata.page must be the sentence's page, a whole number from 0, or null")
    if not source(record):
        raise record.error("metadata.paper_id must be the sentence's document, a string")
    return source(record), page + 1, record.required("text")
