"""The summary by kind equals the summary of that kind's questions alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evaluation.explain.subsets import KINDS, kinds
from evaluation.stats import intervals, wilson
from retrieval.schema import Queries

SETTINGS = {"resamples": 500, "confidence": 0.95, "interval": "bca"}


def queries_of(kind, cluster=None):
    n = len(kind)
    return Queries.of([f"q{at:03}" for at in range(n)], [""] * n, kind=kind, cluster=cluster)


def table(values, queries, strategy="x", metric="nDCG@5"):
    rows = [(strategy, qid, metric, value) for qid, value in zip(queries.qid, values, strict=True) if value == value]
    return pd.DataFrame(rows, columns=["strategy", "qid", "metric", "value"])


def test_each_kind_has_the_interval_of_its_questions_alone():
    rng = np.random.default_rng(2)
    kind = [["numeric", "jargon", ""][at % 3] for at in range(90)]
    cluster = [f"d{at // 5}" for at in range(90)]
    queries = queries_of(kind, cluster)
    values = rng.random((2, 90))
    values[1, 4] = np.nan
    per_query = pd.concat([table(values[0], queries), table(values[1], queries, "y")], ignore_index=True)
    found = kinds(per_query, queries, SETTINGS, seed=7)
    assert found[["strategy", "kind", "n"]].to_numpy().tolist() == [
        ["x", "jargon", 30], ["x", "numeric", 30], ["y", "jargon", 29], ["y", "numeric", 30],
    ]  # fmt: skip
    for at, row in enumerate(found.itertuples()):
        own = [place for place in range(90) if kind[place] == row.kind and not np.isnan(values[at // 2, place])]
        alone = intervals(values[at // 2, own], [cluster[place] for place in own], 7, 500)
        assert (row.mean, row.lo, row.hi) == (alone.mean[0], alone.lo[0], alone.hi[0])
        assert row.mean == pytest.approx(values[at // 2, own].mean(), abs=1e-12)
        assert row.clusters == len({cluster[place] for place in own})


def test_notes_count_questions_and_documents():
    kind = ["a"] * 50 + ["b"] * 49 + ["c"] * 50
    cluster = [f"d{at % 10}" for at in range(99)] + [f"e{at % 9}" for at in range(50)]
    found = kinds(table(np.linspace(0, 1, 149), queries_of(kind, cluster)), queries_of(kind, cluster), SETTINGS, 0)
    assert found["note"].tolist() == ["", "described, not tested (n < 50)", "too few documents"]
    both = kinds(table([0.0, 1.0], queries_of(["a", "a"])), queries_of(["a", "a"]), SETTINGS, 0)
    assert both["note"].tolist() == ["described, not tested (n < 50); too few documents"]


def test_zero_or_one_of_single_question_documents_is_wilson_s():
    queries = queries_of(["a"] * 12)
    found = kinds(table([1.0] * 9 + [0.0] * 3, queries, metric="Success@5"), queries, SETTINGS, 0)
    lo, hi = wilson([9], [12])
    assert found[["mean", "lo", "hi"]].to_numpy().tolist() == [[0.75, lo[0], hi[0]]]


def test_nothing_without_kinds_or_values():
    queries = queries_of(["", ""])
    assert kinds(table([0.0, 1.0], queries), queries, SETTINGS, 0).columns.tolist() == KINDS
    assert kinds(table([0.0, 1.0], queries), queries, SETTINGS, 0).empty
    some = queries_of(["a", "b"])
    assert kinds(table([0.5, np.nan], some), some, SETTINGS, 0)["kind"].tolist() == ["a"]
    assert kinds(table([], queries_of([])), some, SETTINGS, 0).empty


def test_the_order_of_rows_does_not_matter():
    queries = queries_of(["a", "b"] * 20, [f"d{at // 4}" for at in range(40)])
    rows = table(np.random.default_rng(0).random(40), queries)
    pd.testing.assert_frame_equal(kinds(rows, queries, SETTINGS, 3), kinds(rows[::-1], queries, SETTINGS, 3))
