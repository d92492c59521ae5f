"""Judgments as they are made: every one is stored at once, at the end of a file that only grows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluation.judge.growing import Growing, whole_records
from evaluation.pool.file import Key, Passage, as_record, passage_of


@dataclass
class Journal(Growing[Key, Passage]):
    """The judgments of one source in a file; a line without a grade takes one back. Other sources are left alone."""

    @staticmethod
    def open(path: Path, source: str) -> Journal:
        """Take up a file where it stopped, or begin one. A line that a crash cut short is cut off.

        Raises:
            BenchmarkError: a line is unreadable.
        """
        journal = Journal(path, source)
        for record in whole_records(path):
            passage = passage_of(record)
            if passage.source == source:
                journal.remember(passage, undo=record.data.get("undo") is True)
        return journal

    def judge(self, passage: Passage, grade: int | None, comment: str = "") -> None:
        """Store one judgment; it is on the disk when this returns. Grade None takes it back."""
        self.append(replace(passage, grade=grade, comment=comment, source=self.source))

    def key(self, row: Passage) -> Key:
        """What a judgment is of."""
        return row.key

    def is_open(self, row: Passage) -> bool:
        """Whether the row takes a judgment back."""
        return row.grade is None

    def opened(self, row: Passage) -> Passage:
        """The passage without its judgment."""
        return replace(row, grade=None, comment="")

    def as_record(self, row: Passage) -> dict[str, Any]:
        """The row as a JSON object."""
        return as_record(row)
