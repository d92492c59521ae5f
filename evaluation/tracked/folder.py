"""A results folder read back: what it found, for whoever shows it elsewhere."""

from __future__ import annotations

import json
from calendar import timegm
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import strptime
from typing import Any

import pandas as pd

from evaluation.errors import TrackingError


@dataclass(frozen=True)
class Results:
    """A results folder as it lies on disk. What older folders do not have is empty."""

    folder: Path
    manifest: Mapping[str, Any]
    arms: Mapping[str, Mapping[str, Any]]
    summary: pd.DataFrame
    comparisons: pd.DataFrame = field(default_factory=pd.DataFrame)
    verdict: Mapping[str, Any] = field(default_factory=dict)
    report: str = ""
    answers: pd.DataFrame = field(default_factory=pd.DataFrame)

    @staticmethod
    def read(folder: Path) -> Results:
        """Read what a run left behind.

        Raises:
            TrackingError: it is no results folder.
        """
        try:
            manifest = json.loads((folder / "manifest.json").read_text())
            arms = json.loads((folder / "arms.json").read_text())
            summary = pd.read_parquet(folder / "summary.parquet")
        except (OSError, ValueError) as error:
            raise TrackingError(f"{folder}: no results folder of run_eval.py ({error})") from error
        verdict, report, compared = (folder / name for name in ("verdict.json", "report.md", "comparisons.parquet"))
        answered = folder / "answer_summary.parquet"
        return Results(
            folder,
            manifest,
            arms,
            summary,
            pd.read_parquet(compared) if compared.is_file() else pd.DataFrame(),
            json.loads(verdict.read_text()) if verdict.is_file() else {},
            report.read_text() if report.is_file() else "",
            pd.read_parquet(answered) if answered.is_file() else pd.DataFrame(),
        )

    @property
    def primary(self) -> str:
        """The metric that orders the arms; empty for folders that do not say."""
        return str(self.manifest.get("primary", ""))

    def means(self, metric: str) -> pd.DataFrame:
        """Mean, lo and hi of a metric by strategy."""
        return self.summary[self.summary["metric"] == metric].set_index("strategy")[["mean", "lo", "hi"]]

    def times(self) -> tuple[int, int]:
        """When the run began and ended; 0 for folders that do not say."""
        stamp = self.manifest.get("time")
        end = timegm(strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")) * 1000 if stamp else 0
        return end - int(float(self.manifest.get("seconds", 0)) * 1000), end
