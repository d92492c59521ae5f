"""Verdicts as they arrive, in a file that only grows: what was paid for is never asked again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evaluation.judge.growing import Growing, whole_records

NONE = -1  # a verdict that there is not


@dataclass(frozen=True)
class Verdict:
    """What a judge said to one prompt: `code` names the prompt, `verdict` is a row of its kind's choices.

    `requests`: how many it took until a reply could be read.
    """

    code: str
    verdict: int
    reason: str
    requests: int


@dataclass
class Verdicts(Growing[str, Verdict]):
    """The verdicts of one judge in a file, by the code of the prompt; those of other judges are left alone."""

    @staticmethod
    def open(path: Path, source: str) -> Verdicts:
        """Take up a file where it stopped, or begin one. A line that a crash cut short is cut off.

        Raises:
            BenchmarkError: a line is unreadable.
        """
        verdicts = Verdicts(path, source)
        for record in whole_records(path):
            if record.required("source") == source:
                row = Verdict(
                    record.required("code"),
                    record.number("verdict", NONE, NONE, 127),
                    record.text("reason"),
                    record.number("requests", 1, 1),
                )
                verdicts.remember(row, undo=record.data.get("undo") is True)
        return verdicts

    def key(self, row: Verdict) -> str:
        """What a verdict is of: the prompt."""
        return row.code

    def is_open(self, row: Verdict) -> bool:
        """Whether the row takes a verdict back."""
        return row.verdict == NONE

    def opened(self, row: Verdict) -> Verdict:
        """The row without its verdict."""
        return replace(row, verdict=NONE, reason="")

    def as_record(self, row: Verdict) -> dict[str, Any]:
        """The row as a JSON object."""
        return {"source": self.source, **asdict(row)}
