"""The tables of answers: what is checked, and that the order of rows cannot matter."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evaluation.answers.assembled import assemble
from evaluation.answers.files import files
from evaluation.answers.tables import Tables
from evaluation.errors import EvaluationError
from tests.unit.evaluation.answers.made import RULES, SETTINGS, made_judged, made_tables

JUDGED = made_judged(10, 3)
TABLES = made_tables(JUDGED, ("bm25",))
QUICK = {**SETTINGS, "resamples": 50}
QIDS = JUDGED.benchmark.queries.qid


def test_a_shuffled_table_gives_the_same_findings():
    rng = np.random.default_rng(3)
    shuffled = [
        table.iloc[rng.permutation(len(table))] for table in (TABLES.answers, TABLES.claims, TABLES.citations)
    ]
    first = assemble(TABLES, JUDGED, RULES, QUICK, 0)
    second = assemble(Tables.of(*shuffled, QIDS), JUDGED, RULES, QUICK, 0)
    for name, table in files(first).items():
        pd.testing.assert_frame_equal(table, files(second)[name], check_exact=True)
    assert (first.strategy, first.generator) == (second.strategy, second.generator)


def test_what_is_wrong_is_named():
    with pytest.raises(EvaluationError, match="'score' is missing"):
        Tables.of(TABLES.answers.drop(columns="score"), TABLES.claims, TABLES.citations, QIDS)
    with pytest.raises(EvaluationError, match="q00-0 stands twice"):
        Tables.of(pd.concat([TABLES.answers] * 2), TABLES.claims, TABLES.citations, QIDS)
    with pytest.raises(EvaluationError, match="'q00-0' is no question"):
        Tables.of(TABLES.answers, TABLES.claims, TABLES.citations, QIDS[1:])
    with pytest.raises(EvaluationError, match="'web' is no question of this benchmark and no context"):
        Tables.of(
            TABLES.answers[TABLES.answers["context"] == "none"].assign(context="web"),
            TABLES.claims,
            TABLES.citations,
            QIDS,
        )


def test_claims_belong_to_answers_and_citations_to_claims():
    refused = TABLES.answers.assign(refused=True)
    with pytest.raises(EvaluationError, match=r"claims: .* belongs to no answer"):
        Tables.of(refused, TABLES.claims, TABLES.citations, QIDS)
    with pytest.raises(EvaluationError, match=r"citations: .* belongs to no answer"):
        Tables.of(TABLES.answers, TABLES.claims, TABLES.citations.assign(claim=99), QIDS)
