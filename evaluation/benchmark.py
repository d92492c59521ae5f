"""Questions and judgments from any supported file, as one `Benchmark`.

`conf/benchmark/<name>.yaml` holds a `BenchmarkSpec`; its `kind` says how the files are read, `auto` looks at them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from evaluation.beir import corpus_file, load_beir
from evaluation.errors import BenchmarkError, SplitError
from evaluation.evidence import document_stem, read_evidence
from evaluation.pdf_bench import load_pdf_bench
from evaluation.records import Record, read_records
from evaluation.schema import Benchmark, Evidence
from evaluation.sources import judged_by
from evaluation.trec import load_trec
from retrieval.schema import Queries

QUESTION = {"qid", "query", "question", "kind", "split", "cluster", "entities", "relations", "answer", "evidence"}
JSON_LINES = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True)
class BenchmarkSpec:
    """Where questions and judgments are.

    `kind`: `bundled` (folder of queries.jsonl and evidence.jsonl), `jsonl` (both in one line per question), `beir`,
    `trec` (`queries`: topics, or none for runs made elsewhere; `qrels`: judgments), `pdf_bench`, or `auto`.
    `exclude_field`: name of the query metadata of a BEIR collection that holds the query's own document.
    `unit`: what a `pdf_bench` is judged by: auto, sentences, pages or papers.
    `sources`: whose judgments count, such as `hand`; empty: everybody's, and the highest grade of a span.
    """

    kind: Literal["auto", "bundled", "jsonl", "beir", "trec", "pdf_bench"] = "auto"
    path: str | None = None
    queries: str | None = None
    qrels: str | None = None
    exclude_field: str = "paper_id"
    unit: Literal["auto", "sentences", "pages", "papers"] = "auto"
    sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind == "trec" and not self.qrels:
            raise ValueError("qrels is missing; add benchmark.qrels=<file> (and benchmark.queries=<topics>)")
        if self.kind != "trec" and (self.queries or self.qrels):
            raise ValueError("queries and qrels belong to TREC files; choose benchmark=trec")
        if self.kind != "trec" and not self.path:
            raise ValueError("path is missing; add benchmark.path=<folder or file>")

    @property
    def judges_documents(self) -> bool:
        """Whether judgments name documents as a whole, by id (BEIR, TREC). Known once `kind` is resolved."""
        return self.kind in ("beir", "trec")


def resolve(spec: BenchmarkSpec) -> BenchmarkSpec:
    """The spec with `auto` replaced by what its files are.

    Raises:
        BenchmarkError: the path is nothing that we know.
    """
    if spec.kind != "auto":
        return spec
    path = Path(spec.path or "")
    if path.name.endswith(JSON_LINES):
        return replace(spec, kind="jsonl")
    if (path / "queries.jsonl").is_file() and (path / "evidence.jsonl").is_file():
        return replace(spec, kind="bundled")
    if (path / "pdfs").is_dir():
        return replace(spec, kind="pdf_bench")
    if corpus_file(path).is_file():
        return replace(spec, kind="beir")
    raise BenchmarkError(
        f"benchmark.path={spec.path}: neither a .jsonl file nor a folder with queries.jsonl and evidence.jsonl,"
        " corpus.jsonl (BEIR) or pdfs/"
    )


def load_benchmark(spec: BenchmarkSpec, split: str) -> Benchmark:
    """The questions of a split (`test`, `dev`, `all`; a collection's own names) with their judgments and digest.

    Raises:
        BenchmarkError: a file is missing or unreadable, or has no such split; the message says where and what to do.
        RunFileError: a TREC judgment file is unreadable.
    """
    spec = resolve(spec)
    path = Path(spec.path or "")
    if spec.kind == "beir":
        benchmark = load_beir(path, split, spec.exclude_field)
    elif spec.kind == "pdf_bench":
        benchmark = load_pdf_bench(path, split, spec.unit)
    elif spec.kind == "trec":
        _choose({"test"}, split, spec.qrels or "")
        benchmark = load_trec(Path(spec.queries) if spec.queries else None, Path(spec.qrels or ""))
    elif spec.kind == "jsonl":
        benchmark = load_questions(path, split)
    else:
        benchmark = load_bundled(path, split)
    if spec.sources:
        benchmark = judged_by(benchmark, spec.sources)
    return replace(benchmark, digest=_digest(benchmark))


def load_bundled(folder: Path, split: str) -> Benchmark:
    """A folder with `queries.jsonl` and `evidence.jsonl`, one judgment a line; `extracts.jsonl` where it is there.

    Raises:
        BenchmarkError: a line is unreadable, or evidence names an unknown question.
    """
    questions = read_questions(folder / "queries.jsonl")
    evidence = []
    for record in read_records(folder / "evidence.jsonl"):
        qid = record.required("qid")
        if qid not in questions:
            raise record.error(f"qid {qid!r} is not in queries.jsonl; add the question or remove the line")
        evidence.append(read_evidence(record, qid))
    path = folder.resolve()
    benchmark = _assemble(f"{path.parent.name}/{path.name}", questions, evidence, split)
    return replace(benchmark, extracts=_extracts(folder / "extracts.jsonl", set(benchmark.queries.qid)))


def _extracts(path: Path, known: set[str]) -> tuple[Evidence, ...]:
    """Judged quotes of answers to these questions, in the format of `evidence.jsonl`."""
    if not path.is_file():
        return ()
    rows = [read_evidence(record, record.required("qid")) for record in read_records(path)]
    return tuple(row for row in rows if row.qid in known)


def load_questions(path: Path, split: str) -> Benchmark:
    """A user's file: one line per question, with its `evidence` as a list of objects.

    A question without a qid gets `q-` and the first 12 hex of its text's sha256, wherever it stands in the file.

    Raises:
        BenchmarkError: a line is unreadable, or the same question stands twice without ids.
    """
    questions = read_questions(path)
    evidence = [read_evidence(part, qid) for qid, record in questions.items() for part in record.records("evidence")]
    return _assemble(path.name.split(".jsonl")[0], questions, evidence, split)


def derived_qid(text: str) -> str:
    """The id of a question that has none: `q-` and the first 12 hex of its text's sha256."""
    return f"q-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def read_questions(path: Path) -> dict[str, Record]:
    """The questions of a file by qid; one without gets `q-` and the first 12 hex of its text's sha256.

    Raises:
        BenchmarkError: a line is unreadable, an id stands twice, or there are none.
    """
    questions: dict[str, Record] = {}
    for record in read_records(path):
        record.refuse_misspelt(QUESTION)
        text = record.required("query", "question")
        qid = record.identifier("qid") or derived_qid(text)
        if qid in questions:
            raise record.error(
                f"qid {qid!r} stands already in line {questions[qid].line}; give every question its own"
            )
        questions[qid] = record
    if not questions:
        raise BenchmarkError(f"{path}: no questions; one JSON object with question and evidence a line")
    return questions


def _assemble(name: str, questions: Mapping[str, Record], evidence: Sequence[Evidence], split: str) -> Benchmark:
    split_of = _split_of(questions)
    wanted = _choose(set(split_of.values()), split, name)
    chosen = {qid: record for qid, record in questions.items() if split_of[qid] in wanted}
    cluster: dict[str, str] = {}
    for row in evidence:
        if row.grade > 0:  # a passage judged irrelevant says nothing of where the question comes from
            cluster.setdefault(row.qid, document_stem(row.doc))
    queries = Queries.of(
        list(chosen),
        [record.required("query", "question") for record in chosen.values()],
        [record.text("kind") for record in chosen.values()],
        [split_of[qid] for qid in chosen],
        [record.identifier("cluster") or cluster.get(qid, "") for qid, record in chosen.items()],
    )
    return Benchmark(
        name,
        queries,
        evidence=tuple(row for row in evidence if row.qid in chosen),
        entities={qid: names for qid, record in chosen.items() if (names := record.texts("entities"))},
        relations={qid: pairs for qid, record in chosen.items() if (pairs := record.pairs("relations"))},
        answers={qid: answer for qid, record in chosen.items() if (answer := record.text("answer"))},
    )


def _split_of(questions: Mapping[str, Record]) -> dict[str, str]:
    """The split of every question: stored with all of them, or `test` where none has it."""
    stored = {qid: record.text("split") for qid, record in questions.items()}
    if not any(stored.values()):
        return dict.fromkeys(questions, "test")
    for qid, split in stored.items():
        if not split:
            raise questions[qid].error('no split, while other questions have one; add "split": "dev" or "test"')
    return stored


def _choose(existing: set[str], split: str, name: str) -> set[str]:
    if split == "all":
        return existing
    if split not in existing:
        raise SplitError(f"{name}: no question in split {split!r}; there are: {', '.join(sorted(existing))}")
    return {split}


def _digest(benchmark: Benchmark) -> str:
    """Sha256 (hex) of everything but the name; the order of lines does not matter.

    It is `fingerprint` of these fields with the evidence in the order of its own fingerprints, made without walking
    and writing every row twice, which takes seconds for thousands of them.
    """
    content = {
        "queries": _canonical(benchmark.queries),
        "evidence": _in_any_order(benchmark.evidence),
        "documents": _canonical(sorted(benchmark.documents, key=lambda row: (row.qid, row.doc_id))),
        "exclude": _canonical({qid: sorted(docs) for qid, docs in benchmark.exclude.items()}),
        "entities": _canonical(benchmark.entities),
        "relations": _canonical(benchmark.relations),
        "answers": _canonical(benchmark.answers),
    }
    return _sha256("{" + ",".join(f'"{name}":{content[name]}' for name in sorted(content)) + "}")


def rows_digest(rows: Sequence[Evidence]) -> str:
    """Sha256 (hex) of judgments, in whatever order: `fingerprint` of them in the order of their own fingerprints."""
    return _sha256(_in_any_order(rows))


def _in_any_order(rows: Sequence[Evidence]) -> str:
    return f"[{','.join(sorted(map(_canonical, rows), key=_sha256))}]"


def _canonical(value: object) -> str:
    """The text whose sha256 is `fingerprint(value)`: strings, numbers, lists, dictionaries by string, dataclasses."""
    return json.dumps(
        value, default=_fields, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )


def _fields(value: Any) -> dict[str, object]:
    """What `fingerprint` makes of a dataclass."""
    content = {field.name: getattr(value, field.name) for field in fields(value)}
    return {"class": type(value).__name__, "version": getattr(value, "VERSION", 1), "fields": content}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
