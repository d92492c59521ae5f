"""Collections in BEIR layout: `corpus.jsonl`, `queries.jsonl` (plain or `.gz`) and `qrels/<split>.tsv`.

A document is one chunk, and its `_id` is both doc_id and chunk_id, also in TREC files. Layout after Thakur et al.
(2021), "BEIR: A Heterogenous Benchmark for Zero-shot Evaluation of Information Retrieval Models".
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from evaluation.errors import BenchmarkError, SplitError
from evaluation.records import MAX_GRADE, Record, either, grade_of, read_lines, read_records
from evaluation.schema import Benchmark, DocumentJudgment
from ingestion.schema import CHUNKS, DOCUMENTS, PAGES, Corpus
from retrieval.schema import Queries

EXTRACTOR = "beir"


def load_corpus(path: Path) -> Corpus:
    """The corpus of a BEIR folder: one chunk a document, text = title and text joined by a space.

    Raises:
        BenchmarkError: there is no `corpus.jsonl`, it holds no document, a line is unreadable, or an `_id` is missing
            or stands twice.
    """
    records = by_id(corpus_file(path))
    if not records:
        raise BenchmarkError(f"{corpus_file(path)}: no documents; one JSON object with _id, title and text a line")
    texts = {doc: f"{record.text('title')} {record.text('text')}".strip() for doc, record in records.items()}
    digests = {doc: hashlib.sha256(text.encode()).hexdigest() for doc, text in texts.items()}
    chunks = [
        (d, d, d, "", 1, 1, 0, len(t), "", "body", t.replace("\n", " "), _metadata(records[d]))
        for d, t in texts.items()
    ]
    documents = [(d, d, digests[d], records[d].text("title"), 1, EXTRACTOR, 1.0, "ok", "", "") for d in texts]
    pages = [(d, 1, 0, t, 1.0) for d, t in texts.items()]
    return Corpus.of(_table(chunks, CHUNKS), _table(documents, DOCUMENTS), _table(pages, PAGES))


def load_beir(path: Path, split: str, exclude_field: str = "") -> Benchmark:
    """The queries that `qrels/<split>.tsv` judges, with their judgments by document id.

    A query's cluster is the document that it asks about (`paper_id` or `doc_id` of its metadata), else itself.

    Args:
        path: the folder.
        split: name of the qrels file; `all` unites all of them.
        exclude_field: where a query's metadata has this field and it names a document, that document is left out of
            this query's ranking (query by example). Its judgment stays, as trec_eval has it.

    Raises:
        BenchmarkError: a file is missing or unreadable, or a judged query is not in `queries.jsonl`.
    """
    judged = {name: read_tsv(path / "qrels" / f"{name}.tsv") for name in _splits(path, split)}
    split_of = {row.qid: name for name, rows in reversed(judged.items()) for row in rows}
    records = {qid: record for qid, record in by_id(either(path, "queries.jsonl")).items() if qid in split_of}
    refuse_unknown(split_of.keys() - records.keys(), path / "qrels", either(path, "queries.jsonl"))
    best: dict[tuple[str, str], int] = {}
    for row in (row for rows in judged.values() for row in rows):
        best[row.qid, row.doc_id] = max(row.grade, best.get((row.qid, row.doc_id), 0))
    qids = sorted(records)
    texts, clusters = [records[qid].required("text") for qid in qids], [source(records[qid]) for qid in qids]
    queries = Queries.of(qids, texts, split=[split_of[qid] for qid in qids], cluster=clusters)
    documents = tuple(DocumentJudgment(qid, doc, grade) for (qid, doc), grade in sorted(best.items()))
    return Benchmark(
        path.resolve().name, queries, documents=documents, exclude=_excluded(path, records, exclude_field)
    )


def corpus_file(path: Path) -> Path:
    """`corpus.jsonl` or `corpus.jsonl.gz` of a folder, whether it exists or not."""
    return either(path, "corpus.jsonl")


def by_id(path: Path) -> dict[str, Record]:
    """The records of a file by `_id`.

    Raises:
        BenchmarkError: an `_id` is missing, a number, or stands twice.
    """
    records: dict[str, Record] = {}
    for record in read_records(path):
        name = record.required("_id")
        if name in records:
            raise record.error(f"_id {name!r} stands already in line {records[name].line}; ids must be unique")
        records[name] = record
    return records


def source(record: Record) -> str:
    """The document that a query asks about, or that a sentence is from; empty where its metadata names none."""
    return field(record, "paper_id") or field(record, "doc_id")


def field(record: Record, name: str) -> str:
    """A string of the record's metadata, empty where it has none."""
    value = record.metadata().get(name)
    return value if isinstance(value, str) else ""


def read_tsv(path: Path) -> tuple[DocumentJudgment, ...]:
    """The judgments of a three-column TSV file (query-id, corpus-id, score), with or without its header line.

    A negative score counts as 0.

    Raises:
        BenchmarkError: a line has not three columns or its score is not a whole number up to 127.
    """
    rows = []
    for number, text in read_lines(path):
        fields = next(csv.reader([text], delimiter="\t"))
        if len(fields) != 3:
            raise BenchmarkError(f"{path}, line {number}: {len(fields)} columns; 3 separated by tabs are needed")
        grade = grade_of(fields[2])
        if grade is not None:
            rows.append(DocumentJudgment(fields[0], fields[1], grade))
        elif number > 1:
            raise BenchmarkError(
                f"{path}, line {number}: score {fields[2]!r} is not a whole number up to {MAX_GRADE}"
            )
    return tuple(rows)


def refuse_unknown(qids: set[str], judgments: Path, queries: Path) -> None:
    """Refuse judged queries that have no text.

    Raises:
        BenchmarkError: with the first one and their number.
    """
    if qids:
        raise BenchmarkError(
            f"{judgments}: query {min(qids)!r} is judged but not in {queries} ({len(qids)} such); "
            "use the queries file that belongs to these judgments"
        )


def _splits(path: Path, split: str) -> list[str]:
    names = sorted(file.stem for file in (path / "qrels").glob("*.tsv"))
    if split == "all" and names:
        return names
    if split not in names:
        found = ", ".join(names) or "none"
        raise SplitError(f"{path / 'qrels' / split}.tsv: no such split; there are: {found}. Choose with split=<name>")
    return [split]


def _excluded(path: Path, records: Mapping[str, Record], name: str) -> dict[str, frozenset[str]]:
    wanted = {qid: doc for qid, record in records.items() if name and (doc := field(record, name))}
    known = by_id(corpus_file(path)).keys() if wanted else set()
    return {qid: frozenset({doc}) for qid, doc in wanted.items() if doc in known}


def _metadata(record: Record) -> str:
    return json.dumps(record.metadata(), ensure_ascii=False, sort_keys=True)


def _table(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pa.table([list(column) for column in columns], schema=schema)
