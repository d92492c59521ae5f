"""The grade matrix: what each rank of each query is worth. Built once per arm; every rank metric reads it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from evaluation.errors import EvaluationError
from evaluation.pairs import look_up, pairs
from evaluation.schema import Grades8, Longs, Qrels
from retrieval.schema import Floats, Ints, Run

Bools = npt.NDArray[np.bool_]
Credit = Literal["once", "each"]

UNJUDGED, REPEAT, PADDING = np.int8(-1), np.int8(-2), np.int8(-3)


@dataclass(frozen=True)
class Grades:
    """One arm's rankings seen through the judgments. Relevant means grade 1 or more.

    `grades` int8 [n_queries, depth], depth at least 1; column r - 1 is rank r: the judged grade (0 and up),
    `UNJUDGED`, `REPEAT` (judged, but its class was credited at an earlier rank), `PADDING` (below the ranking's end).
    `length` int32 [n_queries]: how many chunks the ranking holds.
    `ideal` int8 [n_queries, max_relevant]: grades of everything relevant, descending, padded with 0. It comes from
    all judgments, whatever was returned: one entry per class (its best grade) with credit `once`, per chunk with
    `each`. `n_relevant` int32 [n_queries] counts these entries, `n_nonrelevant` the chunks judged 0.
    `n_parts` int32 [n_queries]; `complete_at` int32 [n_queries]: rank at which the last part was found, 0 for never.
    """

    grades: Grades8
    length: Ints
    ideal: Grades8
    n_relevant: Ints
    n_nonrelevant: Ints
    n_parts: Ints
    complete_at: Ints

    @cached_property
    def hits(self) -> Ints:
        """Int32 [n_queries, depth]: relevant chunks at or above each rank."""
        return np.cumsum(self.grades > 0, axis=1, dtype=np.int32)

    @cached_property
    def first(self) -> Ints:
        """Int32 [n_queries]: rank of the first relevant chunk, 0 if there is none."""
        relevant = self.grades > 0
        return np.where(relevant.any(axis=1), relevant.argmax(axis=1) + 1, 0).astype(np.int32)

    @cached_property
    def judged(self) -> Ints:
        """Int32 [n_queries, depth]: judged chunks (repeats are judged) at or above each rank."""
        return np.cumsum((self.grades >= 0) | (self.grades == REPEAT), axis=1, dtype=np.int32)

    @cached_property
    def precision_sum(self) -> Floats:
        """Float64 [n_queries, depth]: precision at each relevant rank, summed down the ranking."""
        ranks = np.arange(1, self.grades.shape[1] + 1)
        return np.cumsum(np.where(self.grades > 0, self.hits / ranks, 0.0), axis=1)


def grade_matrix(run: Run, qrels: Qrels, n_queries: int, credit: Credit = "once") -> Grades:
    """Look up every ranked chunk in the judgments.

    Credit `once`: chunks of one class cover the same span, the first of them in the ranking counts, the rest are
    repeats. Credit `each`: every judged chunk counts (trec_eval over chunk qrels). Equal when no class has two.

    Raises:
        EvaluationError: run or qrels name a query beyond `n_queries`, or a grade is negative.
    """
    _check(run, qrels, n_queries)
    found, row = look_up(pairs(qrels.query, qrels.chunk), pairs(run.query, run.chunk))
    query, rank, grade = run.query[found], run.rank[found], qrels.grade[row]
    if credit == "once":
        grade[_repeats(query, grade, qrels.group[row])] = REPEAT
    length = np.bincount(run.query, minlength=n_queries).astype(np.int32)
    grades = np.full((n_queries, max(1, int(length.max(initial=0)))), UNJUDGED, dtype=np.int8)
    grades[np.arange(grades.shape[1]) >= length[:, None]] = PADDING
    grades[query, rank - 1] = grade
    ideal, n_relevant = _ideal(qrels, n_queries, credit)
    n_nonrelevant = np.bincount(qrels.query[qrels.grade == 0], minlength=n_queries).astype(np.int32)
    complete_at = _complete_at(query, rank, qrels.parts[row], qrels.n_parts)
    return Grades(grades, length, ideal, n_relevant, n_nonrelevant, qrels.n_parts, complete_at)


def _repeats(query: Ints, grade: Grades8, group: Ints) -> Longs:
    """Positions, in ranking order, of relevant chunks whose class stands at an earlier rank."""
    relevant = np.flatnonzero(grade > 0)
    first = np.unique(pairs(query[relevant], group[relevant]), return_index=True)[1]
    return np.delete(relevant, first)


def _ideal(qrels: Qrels, n_queries: int, credit: Credit) -> tuple[Grades8, Ints]:
    """The best possible ranking's grades [n_queries, max_relevant] and how many there are [n_queries]."""
    relevant = qrels.grade > 0
    query, grade, group = qrels.query[relevant], qrels.grade[relevant], qrels.group[relevant]
    if credit == "once":
        by_class = np.lexsort((-grade, group, query))
        query, grade, group = query[by_class], grade[by_class], group[by_class]
        best = np.unique(pairs(query, group), return_index=True)[1]
        query, grade = query[best], grade[best]
    order = np.lexsort((-grade, query))
    query, grade = query[order], grade[order]
    count = np.bincount(query, minlength=n_queries).astype(np.int32)
    ideal = np.zeros((n_queries, max(1, int(count.max(initial=0)))), dtype=np.int8)
    ideal[query, np.arange(len(query)) - np.searchsorted(query, query)] = grade
    return ideal, count


def _complete_at(query: Ints, rank: Ints, parts: Longs, n_parts: Ints) -> Ints:
    """Rank [n_queries] at which every part of the query has been found, 0 where one is missing or there is none.

    `query`, `rank` and `parts` (bits) belong to the judged chunks of the ranking.
    """
    never = np.iinfo(np.int32).max
    last = np.where(n_parts > 0, 0, never)
    for part in range(int(n_parts.max(initial=0))):
        found = np.full(len(n_parts), never)
        holds = (parts >> part & 1) == 1
        np.minimum.at(found, query[holds], rank[holds])
        last = np.where(part < n_parts, np.maximum(last, found), last)
    return np.where(last == never, 0, last).astype(np.int32)


def _check(run: Run, qrels: Qrels, n_queries: int) -> None:
    for name, query in (("run", run.query), ("qrels", qrels.query)):
        if len(query) and not 0 <= int(query.min()) <= int(query.max()) < n_queries:
            raise EvaluationError(f"the {name} names query row {int(query.max())}, but there are {n_queries} queries")
    if len(qrels.n_parts) != n_queries:
        raise EvaluationError(f"qrels.n_parts has {len(qrels.n_parts)} entries for {n_queries} queries")
    negative = np.flatnonzero(qrels.grade < 0)
    if len(negative):
        row = negative[0]
        pair = f"query row {qrels.query[row]}, chunk row {qrels.chunk[row]}"
        raise EvaluationError(f"{pair} has grade {qrels.grade[row]}; grades are 0 and up")
