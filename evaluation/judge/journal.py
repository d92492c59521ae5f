"""Judgments as they are made: every one is stored at once, at the end of a file that only grows."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluation.pool.file import Key, Passage, as_record, passage_of, whole_lines
from evaluation.records import read_records


@dataclass
class Journal:
    """The judgments of one source in a file; other sources in it are left alone.

    `current` holds what is judged now, by passage. A line without a grade takes a judgment back; one with `undo`
    takes back the one before, and says what counts again.
    """

    path: Path
    source: str
    current: dict[Key, Passage] = field(default_factory=dict)
    _before: list[tuple[Passage, Passage | None]] = field(default_factory=list)

    @staticmethod
    def open(path: Path, source: str) -> Journal:
        """Take up a file where it stopped, or begin one. A line that a crash cut short is cut off.

        Raises:
            BenchmarkError: a line is unreadable.
        """
        journal = Journal(path, source)
        if path.exists():
            with path.open("r+b") as handle:
                handle.truncate(whole_lines(path))
            for record in read_records(path):
                passage = passage_of(record)
                if passage.source == source:
                    journal._remember(passage, undo=record.data.get("undo") is True)
        return journal

    def judge(self, passage: Passage, grade: int | None, comment: str = "") -> None:
        """Store one judgment; it is on the disk when this returns. Grade None takes it back."""
        self._append(replace(passage, grade=grade, comment=comment, source=self.source), undo=False)

    def undo(self) -> Passage | None:
        """Take the last judgment back; returns the passage as it is now, None where nothing is left to take back."""
        if not self._before:
            return None
        passage, before = self._before[-1]
        restored = before or replace(passage, grade=None, comment="")
        self._append(restored, undo=True)
        return restored

    def _append(self, passage: Passage, undo: bool) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        row = {**as_record(passage), "time": stamp} | ({"undo": True} if undo else {})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as handle:
            handle.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
            handle.flush()
            os.fsync(handle.fileno())
        self._remember(passage, undo)

    def _remember(self, passage: Passage, undo: bool) -> None:
        if undo and self._before:
            self._before.pop()
        else:
            self._before.append((passage, self.current.get(passage.key)))
        if passage.grade is None:
            self.current.pop(passage.key, None)
        else:
            self.current[passage.key] = passage
