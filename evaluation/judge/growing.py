"""What people decide, key by key, in a file that only grows: on disk at once, taken back, taken up again."""

from __future__ import annotations

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from evaluation.pool.file import whole_lines
from evaluation.records import Record, read_records

Key = TypeVar("Key", bound=Hashable)
Row = TypeVar("Row")


@dataclass
class Growing(ABC, Generic[Key, Row]):
    """The decisions of one source in a file.

    `current` holds what is decided now, by key. An open row takes a decision back; a line with `undo` takes back the
    one before, and says what counts again.
    """

    path: Path
    source: str
    current: dict[Key, Row] = field(default_factory=dict)
    _before: list[tuple[Row, Row | None]] = field(default_factory=list)

    @abstractmethod
    def key(self, row: Row) -> Key:
        """What a row decides about."""

    @abstractmethod
    def is_open(self, row: Row) -> bool:
        """Whether a row decides nothing, and so takes back what was decided."""

    @abstractmethod
    def opened(self, row: Row) -> Row:
        """The row without its decision."""

    @abstractmethod
    def as_record(self, row: Row) -> dict[str, Any]:
        """The row as a JSON object."""

    def append(self, row: Row) -> None:
        """Store one decision; it is on the disk when this returns."""
        self._write(row, undo=False)

    def undo(self) -> Row | None:
        """Take the last decision back; returns its row as it is now, None where nothing is left to take back."""
        if not self._before:
            return None
        row, before = self._before[-1]
        restored = self.opened(row) if before is None else before
        self._write(restored, undo=True)
        return restored

    def remember(self, row: Row, undo: bool) -> None:
        """Let a stored row count."""
        if undo and self._before:
            self._before.pop()
        else:
            self._before.append((row, self.current.get(self.key(row))))
        if self.is_open(row):
            self.current.pop(self.key(row), None)
        else:
            self.current[self.key(row)] = row

    def _write(self, row: Row, undo: bool) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        content = {**self.as_record(row), "time": stamp} | ({"undo": True} if undo else {})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as handle:
            handle.write((json.dumps(content, ensure_ascii=False) + "\n").encode())
            handle.flush()
            os.fsync(handle.fileno())
        self.remember(row, undo)


def whole_records(path: Path) -> Iterator[Record]:
    """The records of a growing file, none where it is not there; a line that a crash cut short is cut off.

    Raises:
        BenchmarkError: a line is unreadable.
    """
    if path.exists():
        with path.open("r+b") as handle:
            handle.truncate(whole_lines(path))
        yield from read_records(path)
