"""The answers of a run brought back from its results folder, with the references that its benchmark has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from evaluation.benchmark import load_benchmark
from evaluation.llm_judges.verdicts import Resampling
from evaluation.replay import ReplayError, request_of

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "answers": ("strategy", "generator", "context", "qid", "refused", "text", "error"),
    "claims": ("strategy", "generator", "context", "qid", "claim", "text"),
    "citations": ("strategy", "generator", "context", "qid", "claim", "quote"),
    "questions": ("qid", "query", "cluster"),
}


@dataclass(frozen=True)
class Answered:
    """What a run answered.

    Tables as in the results folder, without missing values: `answers` one row per answer, `claims` per claim,
    `citations` per quote, `questions`. `references` is the right answer by qid, where the benchmark has one. `how`:
    the run's seed, resamples and confidence.
    """

    answers: pd.DataFrame
    claims: pd.DataFrame
    citations: pd.DataFrame
    questions: pd.DataFrame
    references: Mapping[str, str]
    how: Resampling

    def only(self, wanted: Mapping[str, tuple[str, ...]]) -> Answered:
        """The answers of these strategies, generators and contexts; no name stands for all.

        Raises:
            ReplayError: a name is not in this run; the message lists those that are.
        """
        tables = {"answers": self.answers, "claims": self.claims, "citations": self.citations}
        for axis, names in wanted.items():
            there = sorted(set(self.answers[axis]))
            for name in names:
                if name not in there:
                    raise ReplayError(f"{axis} {name!r} has no answer in this run; there are: {', '.join(there)}")
            if names:
                tables = {key: table[table[axis].isin(names)] for key, table in tables.items()}
        return Answered(**tables, questions=self.questions, references=self.references, how=self.how)


def read_answered(folder: Path, moved: Mapping[str, str]) -> Answered:
    """Read the tables of a run and the references of its benchmark.

    Args:
        folder: a results folder.
        moved: new places of what has moved since, such as `benchmark.path`.

    Raises:
        ReplayError: it is no results folder, or has no answers.
        EvaluationError, IngestionError: a file that the run names cannot be read.
    """
    request = request_of(folder, moved)
    tables = {name: _table(folder, name) for name in COLUMNS}
    benchmark = load_benchmark(request.benchmark, request.split)
    settings = request.evaluation
    how = Resampling(request.seed, int(settings["resamples"]), float(settings["confidence"]))
    return Answered(**tables, references=benchmark.answers, how=how)


def _table(folder: Path, name: str) -> pd.DataFrame:
    """One table of a run, its texts without gaps.

    Raises:
        ReplayError: it is not there, or lacks a column.
    """
    path = folder / f"{name}.parquet"
    if not path.is_file():
        raise ReplayError(f"{path}: not there; only a run that generates answers leaves them (generator=<name>)")
    table = pd.read_parquet(path)
    missing = [column for column in COLUMNS[name] if column not in table.columns]
    if missing:
        raise ReplayError(f"{path}: no column {missing[0]!r}; it must have {', '.join(COLUMNS[name])}")
    texts = [column for column in COLUMNS[name] if column not in ("claim", "refused")]
    return table.assign(**{column: table[column].astype(object).fillna("").astype(str) for column in texts})
