"""The three tables that generators leave behind, one row per answer, claim and citation, and what a context is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evaluation.errors import EvaluationError

RETRIEVED, NONE, ORACLE = "retrieved", "none", "oracle"
CONTEXTS = (RETRIEVED, NONE, ORACLE)
GROUP = ["strategy", "generator", "context"]
KEY = [*GROUP, "qid"]
USAGE = ["seconds", "input_tokens", "output_tokens", "cost", "cached"]
ANSWERS = [*KEY, "refused", "reason", "claims", "text", *USAGE, "score", "held", "error"]
CLAIMS = [*KEY, "claim", "text", "level", "rule", "probability", "supported"]
CITATIONS = [*KEY, "claim", "source", "source_rank", "chunk_id", "doc_id", "page", "char_start", "char_end", "quote"]


@dataclass(frozen=True)
class Tables:
    """What generators said, as `Tables.of` checks and sorts it; rows of failed answers are in `answers` alone.

    `answers`: strategy, generator, context, qid, refused, reason, claims, text, seconds, input_tokens, output_tokens,
    cost (US dollars, NaN unknown), cached, score (probability that the question can be answered), held (1: a passage
    that was given holds an answer, 0: none does, NaN: none was given), error (empty, or why the call failed).
    `claims`: strategy, generator, context, qid, claim (from 1), text, level, rule, probability, supported.
    `citations`: strategy, generator, context, qid, claim, source, source_rank (from 1), chunk_id, doc_id, page (from
    1), char_start and char_end (characters of the document's repaired text), quote.

    `context` is what a generator was given: the `retrieved` chunks, `none`, or the judged evidence (`oracle`). Where
    `none` and `oracle` do not depend on the strategy, their strategy may be empty.
    """

    answers: pd.DataFrame
    claims: pd.DataFrame
    citations: pd.DataFrame

    @staticmethod
    def of(answers: pd.DataFrame, claims: pd.DataFrame, citations: pd.DataFrame, qids: Sequence[str]) -> Tables:
        """Check the tables and sort them, so that the order of their rows cannot matter.

        Raises:
            EvaluationError: a column is missing, an answer stands twice, a question or context is unknown, or a claim
                or citation belongs to no answer.
        """
        answers = _sorted("answers", answers, ANSWERS, KEY)
        unknown = sorted(set(answers["qid"]) - set(qids)) or sorted(set(answers["context"]) - set(CONTEXTS))
        if unknown:
            raise EvaluationError(f"answers: {unknown[0]!r} is no question of this benchmark and no context")
        answered = answers[(answers["error"] == "") & ~answers["refused"].astype(bool)]
        claims = _sorted("claims", claims, CLAIMS, [*KEY, "claim"])
        _check_known("claims", claims, answered, KEY)
        citations = _sorted("citations", citations, CITATIONS, [*KEY, "claim", "char_start", "char_end", "source"])
        _check_known("citations", citations, claims, [*KEY, "claim"])
        return Tables(answers, claims, citations)


def _sorted(name: str, table: pd.DataFrame, columns: Sequence[str], key: Sequence[str]) -> pd.DataFrame:
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise EvaluationError(f"{name}: column {missing[0]!r} is missing; it needs {', '.join(columns)}")
    ordered = table[list(columns)].sort_values(list(key), kind="stable").reset_index(drop=True)
    twice = ordered[ordered.duplicated(list(key))] if name != "citations" else ordered.iloc[:0]
    if len(twice):
        raise EvaluationError(f"{name}: {', '.join(map(str, twice.iloc[0][list(key)]))} stands twice")
    return ordered


def _check_known(name: str, table: pd.DataFrame, known: pd.DataFrame, key: Sequence[str]) -> None:
    there = pd.MultiIndex.from_frame(known[list(key)])
    lost = np.flatnonzero(~pd.MultiIndex.from_frame(table[list(key)]).isin(there))
    if len(lost):
        row = ", ".join(map(str, table.iloc[int(lost[0])][list(key)]))
        raise EvaluationError(f"{name}: {row} belongs to no answer that was given")


def answered(answers: pd.DataFrame) -> pd.DataFrame:
    """The answers without failed calls: what is averaged."""
    return answers[answers["error"] == ""]
