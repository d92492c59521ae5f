"""What there is to judge in a run: answers with references, claims with quotes, pairs of answers. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pandas as pd

from evaluation.llm_judges.kinds import CORRECTNESS, FAITHFULNESS, PREFERENCE, Item
from evaluation.llm_judges.run_folder import Answered

REFUSED = "refused, so there is no answer to judge"
FAILED = "the generator failed"
NO_REFERENCE = "the question has no reference answer"
NO_QUOTE = "claims without a quote, which nothing supports"
SAME = "pairs of equal answers, which are ties"
ONE_SIDED = "pairs in which not both answered"


@dataclass(frozen=True)
class Items:
    """What is judged, in an order that does not depend on that of the tables; what is left out, by reason."""

    items: tuple[Item, ...]
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class _Question:
    query: str
    cluster: str


def items_of(kind: str, answered: Answered) -> Items:
    """The items of one kind of judgment, by its name."""
    left_out: Counter[str] = Counter()
    made = _MAKERS[kind](answered, left_out)
    items = tuple(sorted(made, key=lambda item: item.key))
    return Items(items, dict(sorted(left_out.items())))


def _correctness(answered: Answered, left_out: Counter[str]) -> Iterator[Item]:
    questions = _questions(answered)
    for row in _rows(answered.answers):
        reason = _unanswered(row)
        reference = answered.references.get(row["qid"], "")
        if reason or not reference:
            left_out[reason or NO_REFERENCE] += 1
            continue
        question = questions[row["qid"]]
        texts = {"question": question.query, "reference": reference, "answer": row["text"]}
        yield Item(tuple(row[name] for name in CORRECTNESS.key), question.cluster, texts)


def _faithfulness(answered: Answered, left_out: Counter[str]) -> Iterator[Item]:
    questions = _questions(answered)
    quotes: dict[tuple[str, ...], set[str]] = {}
    for row in _rows(answered.citations):
        if row["quote"].strip():
            quotes.setdefault(_claim(row), set()).add(row["quote"])
    for row in _rows(answered.claims):
        key = _claim(row)
        if key not in quotes:
            left_out[NO_QUOTE] += 1
            continue
        yield Item(key, questions[row["qid"]].cluster, {"claim": row["text"], "quotes": tuple(sorted(quotes[key]))})


def _preference(answered: Answered, left_out: Counter[str]) -> Iterator[Item]:
    questions = _questions(answered)
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in _rows(answered.answers):
        groups.setdefault((row["strategy"], row["context"], row["qid"]), []).append(row)
    for (strategy, context, qid), rows in groups.items():
        for a, b in combinations(sorted(rows, key=lambda row: str(row["generator"])), 2):
            one_sided = _unanswered(a) or _unanswered(b)
            if one_sided or a["text"] == b["text"]:
                left_out[ONE_SIDED if one_sided else SAME] += 1
                continue
            question = questions[qid]
            texts = {"question": question.query, "reference": answered.references.get(qid)}
            yield Item(
                (strategy, a["generator"], b["generator"], context, qid),
                question.cluster,
                {**texts, "first": a["text"], "second": b["text"]},
            )


def _unanswered(row: Mapping[str, Any]) -> str:
    """Why there is no answer in a row to judge; empty where there is one."""
    return FAILED if row["error"] else REFUSED if row["refused"] else ""


def _claim(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in FAITHFULNESS.key)


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _questions(answered: Answered) -> dict[str, _Question]:
    table: pd.DataFrame = answered.questions
    rows = zip(table["qid"], table["query"], table["cluster"], strict=True)
    return {qid: _Question(query, cluster or qid) for qid, query, cluster in rows}


_MAKERS: Mapping[str, Callable[[Answered, Counter[str]], Iterator[Item]]] = {
    CORRECTNESS.name: _correctness,
    FAITHFULNESS.name: _faithfulness,
    PREFERENCE.name: _preference,
}
