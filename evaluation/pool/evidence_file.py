"""A benchmark's file of judgments, changed line by line: what is not touched keeps its bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.benchmark import BenchmarkSpec, read_questions, resolve
from evaluation.errors import BenchmarkError
from evaluation.evidence import read_evidence
from evaluation.records import Record, read_records
from evaluation.schema import Evidence
from ingestion.artifacts import write_atomic

NEW_VALUES = ("page", "char_start", "char_end", "quote", "grade")  # of a judgment that is changed
Place = tuple[int, int]  # line from 0, and place in the line's evidence; -1 where the line is the judgment


@dataclass
class EvidenceFile:
    """`evidence.jsonl` of a folder, or a `questions.jsonl` whose lines hold their evidence.

    `qids` are the questions that may be judged, with the line (from 0) of each in its file.
    """

    path: Path
    qids: Mapping[str, int]
    lines: list[str]
    nested: bool

    @staticmethod
    def open(path: Path) -> EvidenceFile:
        """Read the file of a benchmark folder or a `questions.jsonl`.

        Raises:
            BenchmarkError: it is neither, or unreadable.
        """
        kind = resolve(BenchmarkSpec(path=str(path))).kind
        if kind not in ("bundled", "jsonl") or path.suffix == ".gz":
            raise BenchmarkError(
                f"into={path}: judgments of passages go into a folder with queries.jsonl and evidence.jsonl, or into"
                " a questions.jsonl; other collections are judged by document"
            )
        nested = kind == "jsonl"
        file = path if nested else path / "evidence.jsonl"
        records = read_questions(path if nested else path / "queries.jsonl")
        lines = file.read_text(encoding="utf-8").split("\n")
        qids = {qid: record.line - 1 for qid, record in records.items()}
        return EvidenceFile(file, qids, lines[:-1] if lines[-1] == "" else lines, nested)

    def rows(self) -> Iterator[tuple[Place, Evidence]]:
        """Every judgment with its place.

        Raises:
            BenchmarkError: a line is unreadable.
        """
        if not self.nested:
            for record in read_records(self.path):
                yield (record.line - 1, -1), read_evidence(record, record.required("qid"))
            return
        for qid, line in self.qids.items():
            record = Record(self.path, line + 1, self._content(line))
            for number, part in enumerate(record.records("evidence")):
                yield (line, number), read_evidence(part, qid)

    def change(self, rows: Iterable[tuple[Place, Evidence]]) -> None:
        """Give judgments that are there another grade and span; their part stays."""
        for (line, number), evidence in rows:
            content = self._content(line)
            changed = content["evidence"][number] if self.nested else content
            changed |= {name: value for name, value in self._fields(evidence).items() if name in NEW_VALUES}
            self.lines[line] = _dumped(content)

    def add(self, rows: Iterable[Evidence]) -> None:
        """Put judgments behind those that are there."""
        for evidence in rows:
            if not self.nested:
                self.lines.append(_dumped(self._fields(evidence)))
                continue
            line = self.qids[evidence.qid]
            content = self._content(line)
            content["evidence"] = [*(content.get("evidence") or []), self._fields(evidence)]
            self.lines[line] = _dumped(content)

    def write(self) -> None:
        """Replace the file whole."""
        write_atomic(self.path, "".join(f"{line}\n" for line in self.lines))

    def _content(self, line: int) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.lines[line].removeprefix("\ufeff"))
        return content

    def _fields(self, row: Evidence) -> dict[str, Any]:
        """A judgment as its line has it."""
        place = {"page": row.page, "char_start": row.char_start, "char_end": row.char_end}
        said = {**place, "quote": row.quote, "grade": row.grade, "source": row.source}
        return {"doc": row.doc, **said} if self.nested else {"qid": row.qid, "doc_name": row.doc, **said, "part": ""}


def _dumped(content: object) -> str:
    return json.dumps(content, ensure_ascii=False)
