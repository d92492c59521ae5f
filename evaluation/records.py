"""JSON lines with a place: every complaint about a field names the file, the line and the remedy."""

from __future__ import annotations

import difflib
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.errors import BenchmarkError
from ingestion.config import nearest

MAX_GRADE = 127  # grades are int8


@dataclass(frozen=True)
class Record:
    """One JSON object of a file, with its line (from 1) and, for nested objects, its `part` such as `evidence 2`."""

    path: Path
    line: int
    data: Mapping[str, Any]
    part: str = ""

    def error(self, problem: str) -> BenchmarkError:
        """An error that names file, line and part."""
        part = f", {self.part}" if self.part else ""
        return BenchmarkError(f"{self.path}, line {self.line}{part}: {problem}")

    def identifier(self, *names: str) -> str:
        """The id under the first of these names that is present; an empty string where none is.

        Raises:
            BenchmarkError: a JSON number: `007` and `2605.23950` do not survive as numbers.
        """
        name, value = self._first(names)
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise self.error(f'{name} is the number {value}; ids are strings, so quote it: {name!r}: "{value}"')
        if not isinstance(value, str):
            raise self.error(f"{name} must be a string, not {_kind(value)}")
        return value

    def required(self, *names: str) -> str:
        """The id under the first of these names; it must be there and not be empty."""
        value = self.identifier(*names)
        if not value.strip():
            raise self.error(f"{' or '.join(names)} is missing or empty; every line needs one")
        return value

    def text(self, *names: str) -> str:
        """The string under the first of these names that is present; an empty string where none is."""
        name, value = self._first(names)
        if not isinstance(value, str):
            raise self.error(f"{name} must be a string, not {_kind(value)}; put it in double quotes")
        return value

    def number(self, name: str, default: int, low: int, high: int = 2**62) -> int:
        """The whole number under this name, between `low` and `high`."""
        value = self.data.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(f"{name} must be a whole number, not {_kind(value)}")
        if not low <= value <= high:
            raise self.error(f"{name} is {value}; it must lie between {low} and {high}")
        return value

    def grade(self, default: int) -> int:
        """The grade: a whole number from 0 (judged, not relevant) to 127."""
        return self.number("grade", default, 0, MAX_GRADE)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings; empty where the name is absent."""
        value = self._list(name)
        if not all(isinstance(item, str) for item in value):
            raise self.error(f"{name} must be a list of strings")
        return tuple(value)

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """A list of [head, tail] string pairs; empty where the name is absent."""
        value = self._list(name)
        if not all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(i, str) for i in pair) for pair in value
        ):
            raise self.error(f"{name} must be a list of [head, tail] pairs of strings")
        return tuple((head, tail) for head, tail in value)

    def records(self, name: str) -> tuple[Record, ...]:
        """A list of objects, each with this record's place; empty where the name is absent."""
        value = self._list(name)
        for item in value:
            if not isinstance(item, dict):
                raise self.error(f'{name} must be a list of objects such as [{{"doc": "a.pdf", "quote": "..."}}]')
        return tuple(Record(self.path, self.line, item, f"{name} {row}") for row, item in enumerate(value, 1))

    def metadata(self) -> Mapping[str, Any]:
        """The object under `metadata`; empty where it is absent."""
        value = self.data.get("metadata") or {}
        if not isinstance(value, dict):
            raise self.error(f"metadata must be an object, not {_kind(value)}")
        return value

    def refuse_misspelt(self, known: Iterable[str]) -> None:
        """Refuse a key that nearly is one of `known`; other keys are the user's own and are ignored."""
        options = sorted(known)
        for key in self.data:
            close = [] if key in options else difflib.get_close_matches(key, options, n=1, cutoff=0.8)
            if close and close[0] not in self.data:
                raise self.error(f"unknown key {key!r}; did you mean {close[0]!r}?")

    def refuse_unknown_keys(self, known: Iterable[str]) -> None:
        """Refuse any key but these."""
        options = sorted(known)
        for key in self.data:
            if key not in options:
                raise self.error(f"unknown key {key!r}{nearest(key, options)}")

    def _first(self, names: tuple[str, ...]) -> tuple[str, Any]:
        name = next((name for name in names if self.data.get(name) is not None), None)
        return (names[0], "") if name is None else (name, self.data[name])

    def _list(self, name: str) -> list[Any]:
        value = self.data.get(name)
        if value is not None and not isinstance(value, list):
            raise self.error(f"{name} must be a list, not {_kind(value)}; put it in [brackets]")
        return value or []


def read_records(path: Path) -> Iterator[Record]:
    """The JSON objects of a file, one a line, plain or `.gz`; blank lines are skipped.

    Raises:
        BenchmarkError: the file cannot be read, or a line is not one JSON object in UTF-8.
    """
    for number, text in read_lines(path):
        try:
            data = json.loads(text)
            if "\\u" in text:
                json.dumps(data, ensure_ascii=False).encode()  # a lone surrogate could not be written again
        except (ValueError, RecursionError) as error:
            raise BenchmarkError(f"{path}, line {number}: not JSON ({error}); one JSON object a line") from error
        if not isinstance(data, dict):
            raise BenchmarkError(f"{path}, line {number}: {_kind(data)} instead of a JSON object; one {{...}} a line")
        yield Record(path, number, data)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of every line that is not blank, plain or `.gz`, without its line break.

    Raises:
        BenchmarkError: the file cannot be read, or a line is not UTF-8.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as handle:
            for number, raw in enumerate(handle, 1):
                text = _decoded(raw, path, number).rstrip("\r\n")
                if text.strip():
                    yield number, text
    except (OSError, EOFError, zlib.error) as error:
        raise BenchmarkError(f"{path}: cannot be read ({error})") from error


def grade_of(text: str) -> int | None:
    """The grade in a field of a judgment file, negative ones as 0; None where it is no whole number up to 127."""
    digits = text.strip().removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9 or int(digits) > MAX_GRADE:
        return None
    return max(int(text), 0)


def either(folder: Path, name: str) -> Path:
    """The file `name` in a folder, or its `.gz` twin where only that is there."""
    plain, packed = folder / name, folder / f"{name}.gz"
    return packed if packed.is_file() and not plain.is_file() else plain


def _decoded(raw: bytes, path: Path, number: int) -> str:
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise BenchmarkError(f"{path}, line {number}: not UTF-8 ({error}); save the file as UTF-8") from error


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = {
        bool: "true/false",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return kinds[type(value)]
