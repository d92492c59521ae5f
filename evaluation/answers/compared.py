"""Paired comparisons of answers: contexts (what retrieval adds), generators on identical context, and rank 1.

All by the machinery of `evaluation.compare`: the same questions on both sides, whole source documents resampled and
flipped, verdicts on one metric, corrected by Holm within a family. Lift is one family, the generators are another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from evaluation.answers.questions import ABLE, Questions
from evaluation.answers.tables import GROUP, NONE, ORACLE, RETRIEVED
from evaluation.answers.values import ACCURACY, EXACT, F1, NUMBERS, PRECISION, RECALL, SOURCES
from evaluation.compare import COLUMNS, compare
from evaluation.rules import Rules
from evaluation.stats import intervals
from retrieval.schema import Queries

LIFTS = ((RETRIEVED, NONE), (ORACLE, RETRIEVED))
UNAIDED = (F1, EXACT, NUMBERS, ACCURACY)  # what has a value without context
LIFTED = (*UNAIDED, PRECISION, SOURCES, RECALL)
FIRST = "first"  # the generator that cites what ranks first
WITH = {RETRIEVED: "with retrieved evidence", NONE: "without evidence", ORACLE: "with the judged evidence"}
Arm = tuple[str, str, str]  # strategy, generator, context
LIFT = ["strategy", "generator", *COLUMNS]
COMPARED = ["strategy", "context", *COLUMNS]
AGAINST = ["strategy", "generator", "context", "metric", "questions", "n", "diff", "lo", "hi", "clusters", "note"]


def decides(primary: str) -> str:
    """The metric of the verdicts on lift: the primary one, or answer F1 where that has no value without context."""
    return primary if primary in UNAIDED else F1


def lift(values: pd.DataFrame, queries: Queries, rules: Rules, seed: int) -> pd.DataFrame:
    """What a context adds to each strategy and generator, paired by question; columns `LIFT`.

    `a` and `b` are contexts: retrieved minus none, oracle minus retrieved. The metric `decides` gets the verdicts;
    only `LIFTED` metrics are compared. A context whose answers do not depend on the strategy has the strategy ''.
    """
    rules = replace(rules, primary=decides(rules.primary))
    own = values[values["metric"].isin(LIFTED)]
    arms = _arms(own)
    pairs: dict[tuple[Arm, Arm], None] = {}
    for strategy, generator, _ in arms:
        for more, less in LIFTS:
            a, b = _side(arms, strategy, generator, more), _side(arms, strategy, generator, less)
            if strategy and a and b:
                pairs[a, b] = None
    table = _paired(own, list(pairs), queries, rules, seed)
    first = [next((arm for arm in pair if arm[0]), pair[0]) for pair in table["pair"]]
    sides = {"a": [a[2] for a, _ in table["pair"]], "b": [b[2] for _, b in table["pair"]]}
    return table.assign(strategy=[arm[0] for arm in first], generator=[arm[1] for arm in first], **sides)[LIFT]


def generators(values: pd.DataFrame, queries: Queries, rules: Rules, seed: int) -> pd.DataFrame:
    """Every pair of generators on the same strategy's context, paired by question; columns `COMPARED`."""
    own = values[values["context"] != NONE]
    by_context: dict[tuple[str, str], list[Arm]] = {}
    for arm in _arms(own):
        by_context.setdefault((arm[0], arm[2]), []).append(arm)
    pairs = [pair for arms in by_context.values() for pair in combinations(arms, 2)]
    table = _paired(own, pairs, queries, rules, seed)
    sides = {"a": [a[1] for a, _ in table["pair"]], "b": [b[1] for _, b in table["pair"]]}
    place = {"strategy": [a[0] for a, _ in table["pair"]], "context": [a[2] for a, _ in table["pair"]]}
    return table.assign(**place, **sides)[COMPARED]


def against_first(
    values: pd.DataFrame, questions: Questions, seed: int, settings: Mapping[str, Any], first: str = FIRST
) -> pd.DataFrame:
    """Precision minus that of the generator `first`, over the questions that both answered; columns `AGAINST`.

    `metric`: by cited span and by cited passage; a whole passage holds a relevant span more easily than a sentence of
    it, so that only the second compares like with like. `questions`: `all` that both answered, an unanswerable one
    being 0 for either; or the `answerable` ones alone. The interval resamples source documents (`settings`:
    resamples, confidence, interval).
    """
    rows = [
        row for metric in (PRECISION, SOURCES) for row in _against(values, metric, questions, seed, settings, first)
    ]
    return pd.DataFrame(rows, columns=AGAINST)


def _against(
    values: pd.DataFrame, metric: str, questions: Questions, seed: int, settings: Mapping[str, Any], first: str
) -> list[tuple[object, ...]]:
    wide = values[values["metric"] == metric].pivot_table(index=GROUP, columns="qid", values="value", sort=False)
    wide = wide.reindex(columns=list(questions.table.index))
    able = (questions.table["state"] == ABLE).to_numpy()
    clusters = questions.table["cluster"].to_numpy(dtype=str)
    rows: list[tuple[object, ...]] = []
    place = {arm: row for row, arm in enumerate(wide.index)}
    precision = wide.to_numpy(np.float64)
    for (strategy, generator, context), row in place.items():
        rank_1 = place.get((strategy, first, context))
        if generator == first or rank_1 is None:
            continue
        apart = precision[row] - precision[rank_1]
        both = np.round(np.vstack([apart, np.where(able, apart, np.nan)]), 12)
        found = intervals(
            both,
            clusters,
            seed,
            resamples=int(settings["resamples"]),
            confidence=float(settings["confidence"]),
            method=settings["interval"],
        )
        for at, which in enumerate(("all", ABLE)):
            numbers = (int(found.n[at]), float(found.mean[at]), float(found.lo[at]), float(found.hi[at]))
            few = "too few documents" if found.too_few[at] else ""
            rows.append((strategy, generator, context, metric, which, *numbers, int(found.n_clusters[at]), few))
    return rows


def _arms(values: pd.DataFrame) -> list[Arm]:
    return [
        (str(s), str(g), str(c)) for s, g, c in values[GROUP].drop_duplicates().itertuples(index=False, name=None)
    ]


def _side(arms: Sequence[Arm], strategy: str, generator: str, context: str) -> Arm | None:
    """The answers of a context: the strategy's own, or those that all strategies share."""
    return next((arm for own in (strategy, "") if (arm := (own, generator, context)) in arms), None)


def _said(arm: Arm) -> str:
    """An arm as sentences name it; no two have one name."""
    strategy, generator, context = arm
    return f"{generator} {WITH[context]}" + (f" ({strategy})" if strategy else "")


def _paired(
    values: pd.DataFrame, pairs: Sequence[tuple[Arm, Arm]], queries: Queries, rules: Rules, seed: int
) -> pd.DataFrame:
    """`compare.COLUMNS` and `pair` of declared pairs of arms; a pair without common questions is left out."""
    tables = []
    names: dict[Any, str] = {arm: _said(arm) for pair in pairs for arm in pair}
    labelled = values.assign(strategy=[names.get(arm, "") for arm in pd.MultiIndex.from_frame(values[GROUP])])
    labelled = labelled[labelled["strategy"] != ""]
    for metric in dict.fromkeys([rules.primary, *labelled["metric"]]):
        rows = labelled[labelled["metric"] == metric]
        asked = {str(arm): set(own) for arm, own in rows.groupby("strategy")["qid"]}
        kept = [(names[a], names[b]) for a, b in pairs if asked.get(names[a], set()) & asked.get(names[b], set())]
        if kept:
            own = _declared(rules, kept)
            tables.append(compare(rows[["strategy", "qid", "metric", "value"]], queries, own, seed, {}, [metric]))
    if not tables:
        return pd.DataFrame(columns=[*COLUMNS, "pair"])
    table = pd.concat(tables, ignore_index=True)
    of = {(names[a], names[b]): (a, b) for a, b in pairs}
    found = [of[pair] for pair in zip(table["a"], table["b"], strict=True)]
    return table.assign(pair=pd.Series(found, index=table.index, dtype=object))


def _declared(rules: Rules, pairs: Sequence[tuple[str, str]]) -> Rules:
    """The rules with these pairs and no others: as a bound no arm is a rival of any that is not declared."""
    every = tuple(dict.fromkeys(name for pair in pairs for name in pair))
    return replace(rules, baseline="", declared=tuple(pairs), bounds=every)
