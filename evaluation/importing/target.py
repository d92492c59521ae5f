"""The benchmark that questions go into, there already or new. What is not touched keeps its bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluation.benchmark import read_questions
from evaluation.errors import RequestError
from evaluation.evidence import read_evidence
from evaluation.records import Record, read_records
from evaluation.schema import Evidence
from ingestion.artifacts import write_atomic

QUERIES, EVIDENCE = "queries.jsonl", "evidence.jsonl"


@dataclass
class Target:
    """`queries.jsonl` and `evidence.jsonl` of a folder, or a `questions.jsonl` whose lines hold their evidence.

    `questions`: what is there, by qid. `lines`, `judgments`: the files' lines.
    """

    path: Path
    nested: bool
    questions: Mapping[str, Record] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    judgments: list[str] = field(default_factory=list)

    @staticmethod
    def open(path: Path) -> Target:
        """Read what is there; nothing is, where the path is new or an empty folder.

        Raises:
            RequestError: something else is there.
            BenchmarkError: a line is unreadable.
        """
        nested = path.name.endswith(".jsonl")
        if path.name.endswith((".gz", ".json", ".csv")) or (path.exists() and nested != path.is_file()):
            raise RequestError(f"into={path}: must be a folder, or a file that ends in .jsonl")
        file = path if nested else path / QUERIES
        if not file.is_file():
            if not nested and path.is_dir() and any(path.iterdir()):
                raise RequestError(f"into={path}: holds other files and no {QUERIES}; name a new folder")
            return Target(path, nested)
        judgments = _lines(path / EVIDENCE) if not nested and (path / EVIDENCE).is_file() else []
        return Target(path, nested, read_questions(file), _lines(file), judgments)

    def rows(self) -> Iterator[Evidence]:
        """Every judgment that is there.

        Raises:
            BenchmarkError: a line is unreadable.
        """
        if self.nested:
            for qid, record in self.questions.items():
                yield from (read_evidence(part, qid) for part in record.records("evidence"))
        elif self.judgments:
            for record in read_records(self.path / EVIDENCE):
                yield read_evidence(record, record.required("qid"))

    def change(self, qid: str, fields: Mapping[str, Any]) -> None:
        """Give a question that is there fields that it lacks."""
        line = self.questions[qid].line - 1
        content = json.loads(self.lines[line].removeprefix("\ufeff"))
        self.lines[line] = _dumped({**content, **fields})

    def add(self, qid: str, text: str, fields: Mapping[str, Any]) -> None:
        """Put a new question behind those that are there; its judgments come by `judge`."""
        own = {"qid": qid, "question" if self.nested else "query": text, **fields}
        self.lines.append(_dumped(own | ({"evidence": []} if self.nested else {})))

    def judge(self, rows: Mapping[str, list[Evidence]]) -> None:
        """Put judgments behind those that are there."""
        if not self.nested:
            self.judgments.extend(_dumped({"qid": row.qid, **_judgment(row)}) for own in rows.values() for row in own)
            return
        known = {record.line - 1: qid for qid, record in self.questions.items()}  # also of lines that do not say it
        for number, line in enumerate(self.lines):
            content = json.loads(line.removeprefix("\ufeff")) if line.strip() else {}
            qid = str(content.get("qid") or known.get(number, ""))
            if qid in rows:
                judged = [_nested(_judgment(row)) for row in rows[qid]]
                self.lines[number] = _dumped({**content, "evidence": [*(content.get("evidence") or []), *judged]})

    def write(self) -> None:
        """Replace the files whole: questions first, so that a judgment never names a question that is not there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.nested:
            write_atomic(self.path, _joined(self.lines))
            return
        self.path.mkdir(exist_ok=True)
        write_atomic(self.path / QUERIES, _joined(self.lines))
        write_atomic(self.path / EVIDENCE, _joined(self.judgments))


def _judgment(row: Evidence) -> dict[str, Any]:
    """A judgment as its line has it."""
    place = {"doc_name": row.doc, "page": row.page, "char_start": row.char_start, "char_end": row.char_end}
    return {**place, "quote": row.quote, "grade": row.grade, "source": row.source, "part": row.part}


def _nested(judgment: Mapping[str, Any]) -> dict[str, Any]:
    """A judgment as it stands within a question's line."""
    return {"doc" if name == "doc_name" else name: value for name, value in judgment.items()}


def _lines(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _dumped(content: object) -> str:
    return json.dumps(content, ensure_ascii=False)
