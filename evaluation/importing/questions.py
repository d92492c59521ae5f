"""Rows put together: one question from one or several rows, with everything that is said as its evidence."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.benchmark import derived_qid
from evaluation.errors import BenchmarkError
from evaluation.importing.columns import plain
from evaluation.importing.rows import Rows, renamed, whole_number
from evaluation.judge.guidelines import HIGHEST
from evaluation.records import Record
from evaluation.sources import SOURCE

KINDS = ("single_hop", "multi_hop", "jargon", "paraphrase", "numeric", "contradiction", "unanswerable")
SPLITS = ("dev", "test")
SINGLE = ("kind", "split", "cluster", "answer")  # fields of which a question has one value
LISTS = ("entities", "relations")
OF_EVIDENCE = ("doc", "page", "quote", "grade", "source", "part", "char_start", "char_end")
LIST_MARKS = re.compile(r"\s*[;|\n]\s*")
ARROW = re.compile(r"\s*(?:->|→|=>)\s*")


@dataclass(frozen=True)
class Said:
    """One piece of evidence as a row says it, before anybody has looked for it. `page` 0: none was said."""

    doc: str
    page: int
    quote: str
    grade: int
    source: str
    part: str
    place: str
    char_start: int = -1
    char_end: int = -1


@dataclass
class Question:
    """One question with what its rows say; `fields` holds kind, split, cluster, answer, entities and relations."""

    qid: str
    text: str
    place: str
    named: bool
    fields: dict[str, Any] = field(default_factory=dict)
    evidence: list[Said] = field(default_factory=list)


@dataclass(frozen=True)
class Read:
    """Questions by qid, rows that took theirs from the row above, rows without a grade, and what is wrong."""

    questions: Mapping[str, Question]
    filled_down: int
    ungraded: int
    problems: tuple[str, ...]


def read_questions(rows: Rows, source: str, grade: int) -> Read:
    """Put the rows of a file together.

    Args:
        rows: of the file.
        source: who judged, where a row does not say.
        grade: of rows that name none.
    """
    table = _Table(source, grade, rows.sheet)
    for row in rows.records:
        try:
            table.take(row)
        except BenchmarkError as error:
            table.problems.append(str(error))
    return Read(table.questions, table.filled_down, table.ungraded, tuple(table.problems))


@dataclass
class _Table:
    """The questions of a file while its rows are read."""

    source: str
    grade: int
    sheet: bool
    questions: dict[str, Question] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    filled_down: int = 0
    ungraded: int = 0
    _above: str = ""
    _by_text: dict[str, str] = field(default_factory=dict)

    def take(self, row: Record) -> None:
        """Read one row.

        Raises:
            BenchmarkError: with the row's line.
        """
        question = self._question(row)
        question.evidence.extend(self._evidence(row))
        told: dict[str, Any] = {name: _single(row, name) for name in SINGLE}
        told |= {name: _many(row, name) for name in LISTS}
        fields = {name: value for name, value in told.items() if value}
        for name, value in fields.items():
            before = question.fields.setdefault(name, value)
            if name in LISTS:
                question.fields[name] = list(dict.fromkeys([*before, *value]))
            elif before != value:
                raise row.error(f"{name} of {question.qid!r} is {value!r} here, {before!r} above; keep one of them")

    def _question(self, row: Record) -> Question:
        """The question that a row belongs to: its own, one above, or a new one."""
        text, qid = " ".join(row.text("query").split()), row.identifier("qid")
        if not text and not qid and self.sheet and self._above:
            self.filled_down += 1
            return self.questions[self._above]
        if not text and qid not in self.questions:
            raise row.error("no question; fill in the cell, or repeat the qid of a question above")
        known = qid or self._by_text.get(text) or derived_qid(text)
        self._above = known
        question = self.questions.setdefault(known, Question(known, text, _place(row), bool(qid)))
        if text and question.text != text:
            raise row.error(f"qid {known!r} is the question {question.text!r} in {question.place}, and another here")
        if self._by_text.setdefault(question.text, known) != known:
            raise row.error(f"this question has the qid {self._by_text[question.text]!r} above and {known!r} here")
        return question

    def _evidence(self, row: Record) -> list[Said]:
        """What a row says as evidence; several pieces where it holds a list of them."""
        told = row.data.get("quote")
        if not isinstance(told, list):
            said = any(row.data.get(name) not in (None, "") for name in ("doc", "page", "quote"))
            return [self._said(row)] if said else []
        rest = {name: value for name, value in row.data.items() if name in OF_EVIDENCE and name != "quote"}
        if all(isinstance(quote, str) for quote in told):
            return [self._said(_within(row, {**rest, "quote": quote}, at)) for at, quote in enumerate(told, 1)]
        if not all(isinstance(part, dict) for part in told):
            raise row.error("evidence must be a quote, a list of quotes, or a list of objects with doc and quote")
        parts = [renamed(_within(row, part, at))[0] for at, part in enumerate(told, 1)]
        return [self._said(_within(row, {**rest, **part.data}, at)) for at, part in enumerate(parts, 1)]

    def _said(self, row: Record) -> Said:
        page, grade = (whole_number(row, name, row.data.get(name)) for name in ("page", "grade"))
        if page is not None and page < 1:
            raise row.error(f"page {page}: pages count from 1; leave the cell empty where it is not known")
        if grade is None:
            self.ungraded, grade = self.ungraded + 1, self.grade
        if not 0 <= grade <= HIGHEST:
            raise row.error(f"grade {grade}: must be 0 (does not help) to {HIGHEST} (answers fully)")
        if not row.data.get("doc"):
            raise row.error("no document; every piece of evidence names its file in a column `doc`")
        places = [whole_number(row, name, row.data.get(name)) for name in ("char_start", "char_end")]
        start, end = (-1 if at is None else at for at in places)
        quote, part, doc = " ".join(row.text("quote").split()), _text(row, "part"), row.identifier("doc")
        return Said(doc, page or 0, quote, grade, self._source(row), part, _place(row), start, end)

    def _source(self, row: Record) -> str:
        source = row.text("source") or self.source
        if not SOURCE.fullmatch(source):
            raise row.error(
                f"source {source!r}: must say who judged: hand, hand:<name>, llm:<model> or imported:<set>; a column"
                " of file names is called `doc`"
            )
        return source


def _within(row: Record, data: Mapping[str, Any], number: int) -> Record:
    return Record(row.path, row.line, data, f"evidence {number}")


def _place(row: Record) -> str:
    return f"line {row.line}" + (f", {row.part}" if row.part else "")


def _text(row: Record, name: str) -> str:
    """A cell as text; part 1 of a JSON file is part "1"."""
    value = row.data.get(name, "")
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else row.text(name)


def _single(row: Record, name: str) -> str:
    if name == "cluster":
        return row.identifier(name)
    value = row.text(name).strip()
    if name == "kind" and value:
        return _chosen(row, name, value, KINDS, strict=False)
    return _chosen(row, name, value, SPLITS, strict=True) if name == "split" and value else value


def _chosen(row: Record, name: str, value: str, known: Sequence[str], strict: bool) -> str:
    """The value as it is known; what is not known stays where that is allowed, unless it is misspelt."""
    by_spelling = {plain(option): option for option in known}
    if plain(value) in by_spelling:
        return by_spelling[plain(value)]
    close = difflib.get_close_matches(plain(value), by_spelling, n=1, cutoff=0.75)
    if strict or close:
        meant = f"; did you mean {by_spelling[close[0]]!r}?" if close else f"; must be {' or '.join(known)}"
        raise row.error(f"{name} {value!r}{meant}")
    return value


def _many(row: Record, name: str) -> list[Any]:
    """Entities, or relations as (head, tail): a JSON list, or a cell such as `BM25; IDF` and `BM25 -> IDF`."""
    value = row.data.get(name)
    if isinstance(value, str):
        items = [item for item in LIST_MARKS.split(value.strip()) if item]
        if name == "entities":
            return items
        pairs = [tuple(ARROW.split(item)) for item in items]
        if any(len(pair) != 2 or not all(pair) for pair in pairs):
            raise row.error(f"relations {value!r}: write them as head -> tail; head -> tail")
        return pairs
    return list(row.texts(name)) if name == "entities" else list(row.pairs(name))


def relevant_documents(evidence: Iterable[Said]) -> list[str]:
    """The documents that answer, as rows name them, each once."""
    return list(dict.fromkeys(said.doc for said in evidence if said.grade > 0))
