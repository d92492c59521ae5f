"""The figures that reports quote are those of the results folders."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from ingestion.config import ROOT

sys.path.insert(0, str(ROOT / "corpus"))
import measure


def results(folder: Path, arms: dict[str, float]) -> None:
    """A results folder with nDCG@5 of some arms over 40 questions from 11 documents, and all their pairs."""
    folder.mkdir(parents=True)
    rows = [(arm, "nDCG@5", 40, mean, mean - 0.1, mean + 0.1, 11) for arm, mean in arms.items()]
    columns = ["strategy", "metric", "n", "mean", "lo", "hi", "clusters"]
    pd.DataFrame(rows, columns=columns).to_parquet(folder / "summary.parquet")
    names = list(arms)
    pairs = [
        {"metric": metric, "a": a, "b": b, **dict.fromkeys(measure.PAIR, 0.123456), "n": 40, "verdict": "undecided"}
        for metric in ("nDCG@5", "RR")
        for at, a in enumerate(names)
        for b in names[at + 1 :]
    ]
    pd.DataFrame(pairs).to_parquet(folder / "comparisons.parquet")


def test_collections_by_suite_with_rounded_figures(tmp_path: Path) -> None:
    results(tmp_path / "med-core", {"bm25": 0.123456, "rrf": 0.5, "tfidf": 0.25})
    results(tmp_path / "med-alpha", {"alpha=0": 0.5, "alpha=0.5": 0.4, "alpha=1": 0.3})
    results(tmp_path / "bundled-core", {"bm25": 0.5, "rrf": 0.5})  # its own corpus: left out
    results(tmp_path / "med-beliefs", {"bm25": 0.5, "rrf": 0.5})  # no report reads it
    found = measure.measured(tmp_path)
    assert set(found) == {"med"} and set(found["med"]) == {"core", "alpha"}
    core = found["med"]["core"]
    assert (core["questions"], core["documents"]) == (40, 11)
    assert core["arms"]["bm25"]["nDCG@5"] == [0.1235, 0.0235, 0.2235]
    assert set(core["pairs"]) == {"bm25 - rrf", "bm25 - tfidf", "rrf - tfidf"}
    assert core["pairs"]["bm25 - rrf"]["diff"] == 0.1235
    assert set(found["med"]["alpha"]["pairs"]) == {"alpha=0 - alpha=0.5", "alpha=0 - alpha=1"}  # with the first arm


def test_the_file_is_json_with_a_line_per_arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results(tmp_path / "runs" / "med-core", {"bm25": 0.5, "rrf": 0.25})
    target = tmp_path / "measured" / "collections.json"
    monkeypatch.setattr(measure, "TARGET", target)
    assert measure.main([str(tmp_path / "runs")]) == 0
    text = target.read_text()
    assert json.loads(text)["med"]["core"]["arms"]["rrf"]["nDCG@5"][0] == 0.25
    assert sum('"bm25": {' in line for line in text.splitlines()) == 1


def test_without_results_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "TARGET", tmp_path / "collections.json")
    assert measure.main([str(tmp_path)]) == 2
    assert not (tmp_path / "collections.json").exists()
