"""Costs, the names of files and of MLflow's metrics."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from evaluation.answers.costs import costs
from evaluation.answers.files import TABLES, files, measures, metric_key, metric_names
from evaluation.answers.findings import AnswerFindings
from evaluation.answers.tables import ANSWERS
from evaluation.errors import TrackingError

ROWS = [
    # refused, reason, claims, text, seconds, in, out, cost, cached, score, held, error
    (False, "", 1, "t", 1.0, 100, 10, 0.01, False, 0.5, 1.0, ""),
    (True, "weak", 0, "", 3.0, 100, 0, np.nan, False, 0.1, 0.0, ""),
    (False, "", 1, "t", 99.0, 100, 10, 0.02, True, 0.5, 1.0, ""),
    (False, "", 0, "", 60.0, 0, 0, np.nan, False, np.nan, np.nan, "CapacityError: busy"),
    (False, "", 0, "", 60.0, 0, 0, np.nan, False, np.nan, np.nan, "ProviderError: no end line"),
    (False, "", 0, "", 60.0, 0, 0, np.nan, False, np.nan, np.nan, "CapacityError: 503"),
]


def test_costs_by_hand():
    table = pd.DataFrame([("s", "g", "retrieved", f"q{at}", *row) for at, row in enumerate(ROWS)], columns=ANSWERS)
    found = costs(table).iloc[0]
    assert found[["questions", "failed", "refused", "cached"]].tolist() == [6, 3, 1, 1]
    assert found[["seconds_p50", "seconds_p95"]].tolist() == pytest.approx([2.0, 2.9])  # of 1 s and 3 s
    assert found[["input_tokens", "output_tokens", "unpriced"]].tolist() == [300, 20, 1]
    assert found["cost"] == pytest.approx(0.03)
    assert found["errors"] == "CapacityError 2; ProviderError 1"


def summary_of(*rows):
    columns = ["strategy", "generator", "context", "metric", "mean", "lo", "hi"]
    return pd.DataFrame(rows, columns=columns)


def test_mlflow_gets_names_that_it_takes_and_that_lead_back():
    assert metric_key("citation precision", "grounded", "retrieved") == "grounded/citation_precision"
    assert metric_key("answer F1", "gpt@5/x", "none") == "gpt_5_x/none/answer_f1"
    summary = summary_of(
        ("bm25", "g", "retrieved", "answer F1", 0.5, 0.4, 0.6),
        ("rrf", "g", "retrieved", "answer F1", 0.7, 0.6, np.nan),
        ("", "g", "none", "answer F1", 0.1, 0.0, 0.2),
    )
    assert measures(summary, "bm25", "g") == {
        "g/answer_f1": 0.5,
        "g/answer_f1_lo": 0.4,
        "g/answer_f1_hi": 0.6,
        "answer_f1": 0.5,
        "answer_f1_lo": 0.4,
        "answer_f1_hi": 0.6,
        "g/none/answer_f1": 0.1,
        "g/none/answer_f1_lo": 0.0,
        "g/none/answer_f1_hi": 0.2,
    }
    assert "g/answer_f1_hi" not in measures(summary, "rrf")
    assert metric_names(summary)["g/none/answer_f1"] == ("answer F1", "g", "none")
    twice = summary_of(*[("s", name, "retrieved", "refused", 0, 0, 0) for name in ("a@b", "a#b")])
    with pytest.raises(TrackingError, match="share one MLflow name"):
        metric_names(twice)


def test_every_table_of_the_findings_has_a_file():
    fields = AnswerFindings.__dataclass_fields__
    assert sorted(TABLES.values()) == sorted(set(fields) - {"strategy", "generator", "primary", "answers"})


def test_what_answers_took_is_kept_apart_from_what_they_said():
    table = pd.DataFrame([("s", "g", "retrieved", f"q{at}", *row) for at, row in enumerate(ROWS)], columns=ANSWERS)
    found = files(SimpleNamespace(answers=table, **dict.fromkeys(TABLES.values(), pd.DataFrame())))
    assert not {"seconds", "cached", "cost"} & set(found["answers"].columns)
    key = ["strategy", "generator", "context", "qid"]
    pd.testing.assert_frame_equal(found["answers"].merge(found["answer_usage"], on=key)[ANSWERS], table)
