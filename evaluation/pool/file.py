"""The files of judging: passages to judge (JSON lines, or CSV for spreadsheets), and judgments made of them.

A row names where its passage begins: a page, and offsets in that page's repaired text. A passage that runs on to the
next page has an end beyond the page's end. Its whole text is the quote, by which any extractor and chunker finds it
again, so a row is a judgment as soon as its grade is filled in.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from evaluation.errors import BenchmarkError, EvaluationError
from evaluation.judge.guidelines import HIGHEST
from evaluation.records import Record, read_records
from ingestion.artifacts import write_atomic

COLUMNS = (
    "qid", "query", "chunk_id", "doc_name", "page", "char_start", "char_end", "quote", "grade", "comment",
)  # fmt: skip
WHOLE_NUMBERS = ("page", "char_start", "char_end", "grade")
KNOWN = {*COLUMNS, "source", "time", "undo"}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what makes a spreadsheet calculate a cell
Key = tuple[str, str, int, int, int, str]


class PoolError(EvaluationError):
    """A file of passages or judgments cannot be read or written; the message names file and line."""


@dataclass(frozen=True)
class Passage:
    """One passage of one question; `grade` None is not judged, `source` empty is not said."""

    qid: str
    query: str
    chunk_id: str
    doc_name: str
    page: int
    char_start: int
    char_end: int
    quote: str
    grade: int | None = None
    comment: str = ""
    source: str = ""

    @property
    def key(self) -> Key:
        """What a judgment is of: the question and the span."""
        return self.qid, self.doc_name, self.page, self.char_start, self.char_end, self.quote


@dataclass(frozen=True)
class Judgments:
    """Judged passages with their source, how many rows have no grade, and what is wrong with others."""

    rows: tuple[Passage, ...]
    open: int
    problems: tuple[str, ...]


def write_pool(path: Path, passages: Sequence[Passage]) -> None:
    """Write passages to judge, as CSV where the name ends so, else as JSON lines.

    Raises:
        PoolError: another file is there: it may hold judgments.
    """
    content = _as_csv(passages) if _is_csv(path) else "".join(_line(passage) for passage in passages)
    if path.exists() and path.read_bytes() != content.encode():
        raise PoolError(f"{path} is there already and may hold judgments; name another file with out=<file>")
    write_atomic(path, content)


def read_pool(path: Path) -> list[Passage]:
    """The passages of a pool, in the file's order, each once.

    Raises:
        PoolError: the file holds no passage, or one twice.
        BenchmarkError: a line is unreadable.
    """
    passages: dict[Key, Passage] = {}
    for record in _records(path):
        passage = passage_of(record)
        if passage.key in passages:
            raise record.error(f"this passage of {passage.qid!r} stands there twice; remove one of the lines")
        passages[passage.key] = passage
    if not passages:
        raise PoolError(f"{path}: no passages")
    return list(passages.values())


def read_judgments(path: Path, source: str = "") -> Judgments:
    """What was judged in the end: of every source and passage the last row; a line cut short by a crash is left out.

    Args:
        path: a judgment file of `python -m evaluation.judge`, or a pool whose grades were filled in.
        source: what counts for rows that do not name theirs.

    Raises:
        BenchmarkError: a line is no JSON object in UTF-8.
    """
    last: dict[tuple[str, Key], Passage] = {}
    problems = []
    for record in _records(path):
        try:
            passage = passage_of(record)
        except BenchmarkError as error:
            problems.append(str(error))
            continue
        passage = replace(passage, source=passage.source or source)
        last[passage.source, passage.key] = passage
    judged = tuple(passage for passage in last.values() if passage.grade is not None)
    return Judgments(judged, len(last) - len(judged), tuple(problems))


def journal_path(pool: Path) -> Path:
    """Where the judgments of a pool are stored: `pool.judgments.jsonl` beside `pool.jsonl` or `pool.csv`."""
    return pool.with_name(f"{pool.stem}.judgments.jsonl")


def whole_lines(path: Path) -> int:
    """Bytes of a file up to its last line break: what comes behind was cut short by a crash."""
    return path.read_bytes().rfind(b"\n") + 1


def as_record(passage: Passage) -> dict[str, Any]:
    """The row as a JSON object, without an empty source."""
    row = asdict(passage)
    return row if passage.source else {name: row[name] for name in COLUMNS}


def _line(passage: Passage) -> str:
    return json.dumps(as_record(passage), ensure_ascii=False) + "\n"


def passage_of(record: Record) -> Passage:
    """The row of one line.

    Raises:
        BenchmarkError: an unknown key, something is missing, or a value is out of range.
    """
    record.refuse_unknown_keys(KNOWN)
    graded = record.data.get("grade") not in (None, "")
    return Passage(
        qid=record.required("qid"),
        query=record.text("query"),
        chunk_id=record.identifier("chunk_id"),
        doc_name=record.required("doc_name"),
        page=record.number("page", 0, 0),
        char_start=record.number("char_start", -1, -1),
        char_end=record.number("char_end", -1, -1),
        quote=record.required("quote"),
        grade=record.number("grade", 0, 0, HIGHEST) if graded else None,
        comment=record.text("comment"),
        source=record.text("source"),
    )


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _records(path: Path) -> Iterator[Record]:
    if not path.is_file():
        raise PoolError(f"{path}: no such file")
    if _is_csv(path):
        yield from _csv_records(path)
    elif path.name.endswith(".judgments.jsonl"):
        whole = path.read_bytes()[: whole_lines(path)]
        yield from islice(read_records(path), sum(bool(line.strip()) for line in whole.split(b"\n")))
    else:
        yield from read_records(path)


def _as_csv(passages: Iterable[Passage]) -> str:
    """CSV with a byte order mark, so that spreadsheets read UTF-8; a blank in front of what they would calculate."""
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerow(COLUMNS)
    for passage in passages:
        row = as_record(passage)
        writer.writerow([_cell(row[name]) for name in COLUMNS])
    return "\ufeff" + sheet.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(FORMULA):
        return f" {value}"
    return "" if value is None else value


def _csv_records(path: Path) -> Iterator[Record]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise PoolError(f"{path}: not UTF-8 ({error}); save it as CSV UTF-8") from error
    separator = max(",;\t", key=text.partition("\n")[0].count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, restkey="a cell without a column")
    try:
        for row in rows:
            yield Record(path, rows.line_num, _typed(row))
    except csv.Error as error:
        raise PoolError(f"{path}, line {rows.line_num}: no CSV ({error})") from error


def _typed(row: dict[str | Any, Any]) -> dict[str, Any]:
    """Cells as JSON has them: whole numbers as numbers, empty ones left out."""
    cells = {name: cell.strip() if isinstance(cell, str) else cell for name, cell in row.items()}
    filled = {name: cell for name, cell in cells.items() if cell}
    return {name: _number(cell) if name in WHOLE_NUMBERS else cell for name, cell in filled.items()}


def _number(text: str) -> int | str:
    return int(text) if text.removeprefix("-").isdecimal() else text
