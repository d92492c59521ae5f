"""The record of who has read a test split."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from evaluation.errors import LedgerError
from evaluation.ledger import Reading, chance, expected_largest, is_sealed, readers, record


def reading(configurations, digest="aa", split="test", run="r1") -> Reading:
    return Reading("2026-01-01T00:00:00Z", run, "ours", digest, split, configurations)


def test_distinct_configurations_are_counted_by_judgments_and_split(tmp_path):
    path = tmp_path / "new" / "ledger.jsonl"
    assert readers(path, "aa", "test") == set()
    record(path, reading({"bm25": "c1", "rrf": "c2"}))
    record(path, reading({"bm25": "c1", "rrf": "c3"}, run="r2"))
    record(path, reading({"bm25": "c9"}, digest="bb"))
    record(path, reading({"bm25": "c8"}, split="graded"))
    assert readers(path, "aa", "test") == {"c1", "c2", "c3"}
    assert readers(path, "aa", "graded") == {"c8"}
    assert len(path.read_text().splitlines()) == 4


def test_whoever_read_all_has_read_test(tmp_path):
    record(tmp_path / "l.jsonl", reading({"bm25": "c1"}, split="all"))
    assert readers(tmp_path / "l.jsonl", "aa", "test") == {"c1"}


def test_a_broken_line_is_named_and_nothing_is_lost(tmp_path):
    path = tmp_path / "l.jsonl"
    record(path, reading({"bm25": "c1"}))
    before = path.read_bytes()
    path.write_bytes(before + b'{"half": \n')
    with pytest.raises(LedgerError, match="line 2"):
        readers(path, "aa", "test")
    assert path.read_bytes().startswith(before)


def test_a_ledger_that_cannot_be_written_names_the_key(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="ledger="):
        record(tmp_path / "file" / "l.jsonl", reading({}))


def test_lines_are_plain_json(tmp_path):
    record(tmp_path / "l.jsonl", reading({"bm25": "c1"}))
    assert json.loads((tmp_path / "l.jsonl").read_text())["configurations"] == {"bm25": "c1"}


def test_dev_is_open_and_everything_else_is_sealed():
    assert [is_sealed(split) for split in ("dev", "train", "validation", "test", "all", "graded")] == [
        False, False, False, True, True, True
    ]  # fmt: skip


@pytest.mark.parametrize(("n", "expected"), [(1, 0.0), (2, 0.5641895835), (3, 0.8462843753), (10, 1.5387527308)])
def test_the_expected_largest_of_normal_values_is_the_tabled_one(n, expected):
    """1/sqrt(pi), 3/(2 sqrt(pi)), and Teichroew's table (1956) for 10."""
    assert expected_largest(n) == pytest.approx(expected, abs=1e-8)


def test_chance_scales_the_paired_intervals():
    """Width .0784 of a difference: its standard error is .02, one strategy's own .02/sqrt(2)."""
    found = pd.DataFrame({"metric": ["nDCG@5", "RR"], "lo": [-0.0392, -9.0], "hi": [0.0392, 9.0]})
    assert chance(10, found, "nDCG@5") == pytest.approx(1.5387527308 * 0.02 / 2**0.5, rel=1e-4)
    assert chance(1, found, "nDCG@5") == 0.0
