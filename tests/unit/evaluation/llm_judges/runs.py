"""A run's answers by hand: two generators, four questions, in the tables that a results folder holds."""

from __future__ import annotations

import pandas as pd

from evaluation.llm_judges.run_folder import Answered
from evaluation.llm_judges.verdicts import Resampling

HOW = Resampling(3, 200)
REFERENCES = {"q1": "the first answer", "q2": "the second answer", "q3": "the third answer"}


def answers_of(rows: list[tuple[str, str, str]], **more: object) -> pd.DataFrame:
    """Rows of (generator, qid, text); an empty text is a refusal."""
    table = pd.DataFrame(rows, columns=["generator", "qid", "text"])
    return table.assign(
        strategy="bm25",
        context="retrieved",
        refused=table["text"] == "",
        error="",
        **more,
    )


def answered() -> Answered:
    """Generators `grounded` and `small-1` over four questions; q4 has no reference, q3 is refused by one of them."""
    answers = answers_of(
        [
            ("grounded", "q1", "one"),
            ("small-1", "q1", "ONE"),
            ("grounded", "q2", "two"),
            ("small-1", "q2", "two"),
            ("grounded", "q3", ""),
            ("small-1", "q3", "three"),
            ("grounded", "q4", "four"),
            ("small-1", "q4", "quatre"),
        ]
    )
    key = {"strategy": "bm25", "context": "retrieved"}
    claims = pd.DataFrame(
        [
            {**key, "generator": "grounded", "qid": "q1", "claim": 1, "text": "one is one"},
            {**key, "generator": "grounded", "qid": "q1", "claim": 0, "text": "one is"},
            {**key, "generator": "small-1", "qid": "q1", "claim": 0, "text": "ONE is"},
        ]
    )
    citations = pd.DataFrame(
        [
            {**key, "generator": "grounded", "qid": "q1", "claim": 1, "quote": "is one"},
            {**key, "generator": "grounded", "qid": "q1", "claim": 1, "quote": "is one"},
            {**key, "generator": "grounded", "qid": "q1", "claim": 1, "quote": "a one"},
            {**key, "generator": "grounded", "qid": "q1", "claim": 0, "quote": "is"},
            {**key, "generator": "small-1", "qid": "q1", "claim": 0, "quote": " "},
        ]
    )
    questions = pd.DataFrame(
        {
            "qid": ["q1", "q2", "q3", "q4"],
            "query": ["first?", "second?", "third?", "fourth?"],
            "cluster": ["paper-1", "paper-1", "paper-2", ""],
        }
    )
    return Answered(answers, claims, citations, questions, REFERENCES, HOW)
