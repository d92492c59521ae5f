"""Files of questions as rows with known fields: CSV as spreadsheets write it, JSON lines, or a JSON list."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluation.errors import EvaluationError
from evaluation.importing.columns import ColumnError, fields_of
from evaluation.records import Record, read_records

SHEETS = (".csv", ".tsv", ".txt")
SEPARATORS = ",;\t|"
MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}  # what spreadsheets call Unicode text
SEPARATOR_LINE = re.compile(r"sep=(.)")  # the first line of some spreadsheets' files
ENDINGS = ".csv, .tsv, .jsonl, .jsonl.gz or .json"


class QuestionsError(EvaluationError):
    """A file of questions cannot be read; the message names file and line and says what to do."""


@dataclass(frozen=True)
class Rows:
    """The rows of a file under our names, which column holds what, and the columns that nobody reads.

    `sheet`: whether an empty question means the one above, as in spreadsheets.
    """

    records: tuple[Record, ...]
    columns: Mapping[str, str]
    ignored: tuple[str, ...]
    sheet: bool


def read_rows(path: Path) -> Rows:
    """Read a file of questions.

    Raises:
        QuestionsError: the file is not there, of another kind, or has no rows or no column of questions.
        BenchmarkError: a line of JSON is unreadable.
    """
    if not path.is_file():
        raise QuestionsError(f"file={path}: no such file")
    sheet = path.suffix.lower() in SHEETS
    if sheet:
        records: Iterable[Record] = _sheet(path)
    elif path.suffix.lower() == ".json":
        records = _json_list(path)
    elif path.name.lower().endswith((".jsonl", ".jsonl.gz")):
        records = read_records(path)
    else:
        raise QuestionsError(f"file={path}: must end in {ENDINGS}; save spreadsheets as CSV UTF-8")
    rows = [record for record in records if any(value not in ("", None) for value in record.data.values())]
    if not rows:
        raise QuestionsError(f"{path}: no rows")
    return _named(path, rows, sheet)


def _named(path: Path, rows: Sequence[Record], sheet: bool) -> Rows:
    columns: dict[str, str] = {}
    ignored: dict[str, None] = {}
    records = []
    for row in rows:
        record, known = renamed(row)
        columns |= known
        ignored |= dict.fromkeys(name for name in row.data if name not in known)
        records.append(record)
    if "query" not in columns.values():
        there = ", ".join(repr(name) for name in [*columns, *ignored])
        raise QuestionsError(f"{path}: no column of questions; call one `question` (there are: {there})")
    return Rows(tuple(records), columns, tuple(ignored), sheet)


def renamed(record: Record) -> tuple[Record, dict[str, str]]:
    """The record under our names, and the names that it had.

    Raises:
        BenchmarkError: two of its keys mean the same, or one is misspelt.
    """
    try:
        known = fields_of(record.data)
    except ColumnError as error:
        raise record.error(str(error)) from error
    filled = {field: record.data[name] for name, field in known.items() if record.data[name] not in ("", None)}
    return replace(record, data=filled), known


def _sheet(path: Path) -> Iterator[Record]:
    """The rows of a CSV file with their lines; cells without blanks around them."""
    text = _decoded(path)
    head, _, rest = text.partition("\n")
    told = SEPARATOR_LINE.fullmatch(head.strip("\r"))
    skipped = 0
    if told:
        text, head, skipped = rest, rest.partition("\n")[0], 1
    separator = told[1] if told else max(SEPARATORS, key=head.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        names = _names(path, next(rows, []))
        line = rows.line_num + skipped + 1
        for cells in rows:
            if any(cell.strip() for cell in cells[len(names) :]):
                raise QuestionsError(
                    f"{path}, line {line}: a cell behind the last column; put cells that hold {separator!r} in"
                    " double quotes"
                )
            yield Record(path, line, dict(zip(names, (cell.strip() for cell in cells), strict=False)))
            line = rows.line_num + skipped + 1
    except csv.Error as error:
        raise QuestionsError(f"{path}, line {rows.line_num + skipped}: no CSV ({error})") from error


def _names(path: Path, cells: Sequence[str]) -> list[str]:
    """The names of the columns; one without a name is called by its number.

    Raises:
        QuestionsError: a name stands twice.
    """
    names = [cell.strip() or f"column {number}" for number, cell in enumerate(cells, 1)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise QuestionsError(f"{path}: two columns are called {twice!r}; rename or remove one of them")
    return names


def _decoded(path: Path) -> str:
    content = path.read_bytes()
    encoding = MARKS.get(content[:2], "utf-8-sig")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise QuestionsError(f"{path}, line {line}: not UTF-8 ({error.reason}); save it as CSV UTF-8") from error


def _json_list(path: Path) -> Iterator[Record]:
    """The objects of a JSON list, numbered as if each stood on a line of its own."""
    try:
        content: Any = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise QuestionsError(f"{path}: not JSON in UTF-8 ({error})") from error
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise QuestionsError(f"{path}: must be a list of objects; one per question")
    yield from (Record(path, number, row, f"entry {number}") for number, row in enumerate(content, 1))


def whole_number(record: Record, name: str, value: object) -> int | None:
    """A whole number as spreadsheets have it (`3`, `3.0`, `p. 3`); None where the cell is empty.

    Raises:
        BenchmarkError: it is none.
    """
    if value in ("", None):
        return None
    if isinstance(value, str):
        text = value.strip().casefold()
        for lead in ("page", "pg", "p"):
            text = text.removeprefix(lead) if name == "page" else text
        text = text.strip(" .") if name == "page" else text
        whole, _, rest = text.partition(".")
        if (whole.removeprefix("-").isdecimal() and whole.isascii()) and not rest.strip("0"):
            return int(whole)
    elif isinstance(value, int | float) and not isinstance(value, bool) and value == int(value):
        return int(value)
    raise record.error(f"{name} {value!r} is no whole number; one per row")
