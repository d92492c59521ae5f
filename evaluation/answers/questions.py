"""What a benchmark knows of its questions: whether they can be answered, what must be cited, the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from evaluation.judging import Judged
from evaluation.schema import Longs, Spans

UNANSWERABLE, NUMERIC = "unanswerable", "numeric"
RELEVANT = 2  # a grade from here on answers the question, at least in part; 1 is about its subject
ABLE, CANNOT, UNKNOWN = "answerable", "unanswerable", "unknown"


@dataclass(frozen=True)
class Questions:
    """The questions by qid. `table` has the index qid and the columns below; `least` is the grade of relevance.

    `kind`, `cluster`; `state`: `answerable` (a needed part has a relevant span), `unanswerable` (its kind says so),
    or `unknown` (neither, so that citing and refusing cannot be judged); `needed`: int64, bit p is set where part p
    has a relevant span; `reference`: the reference answer, empty without one.
    """

    table: pd.DataFrame
    least: int

    @staticmethod
    def of(judged: Judged) -> Questions:
        """The questions of a judged benchmark."""
        queries, least = judged.benchmark.queries, relevant_from(judged)
        needed = needed_parts(judged, least)
        kind = np.asarray(queries.kind, dtype=object)
        state = np.where(kind == UNANSWERABLE, CANNOT, np.where(needed > 0, ABLE, UNKNOWN))
        references = [judged.benchmark.answers.get(qid, "") for qid in queries.qid]
        columns = {"kind": kind, "cluster": list(queries.cluster), "state": state, "needed": needed}
        index = pd.Index(list(queries.qid), name="qid")
        return Questions(pd.DataFrame({**columns, "reference": references}, index=index), least)


def relevant_from(judged: Judged) -> int:
    """The least grade that counts as relevant: 2, or 1 where nothing is graded higher (binary judgments)."""
    grades = judged.qrels.grade if judged.spans is None else judged.spans.grade
    return min(RELEVANT, max(1, int(grades.max(initial=0))))


def needed_parts(judged: Judged, least: int) -> Longs:
    """The parts of every question that have a relevant span, as bits of an int64 [n_queries].

    Questions judged by document, and those whose parts are not named, have one part.
    """
    needed = np.zeros(len(judged.benchmark.queries), dtype=np.int64)
    if judged.spans is None:
        needed[judged.qrels.query[judged.qrels.grade >= least]] = 1
        return needed
    relevant = np.flatnonzero(judged.spans.grade >= least)
    np.bitwise_or.at(needed, judged.spans.query[relevant], part_bits(judged.spans)[relevant])
    return needed


def part_bits(spans: Spans) -> Longs:
    """The part of every span as one bit of an int64 [n_spans]; 0 for a span that no part needs."""
    bit = np.left_shift(np.int64(1), np.maximum(spans.part, 0).astype(np.int64))
    return np.where(spans.part >= 0, bit, 0)
