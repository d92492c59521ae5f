"""Tables come from results, in marked places, or not at all."""

import json

import pandas as pd
import pytest

from evaluation.errors import RequestError
from evaluation.publish import fill, main

PAGE = "before\n<!-- results: mine-core -->\nold\n<!-- /results -->\nafter\n"


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "mine-core"
    folder.mkdir()
    manifest = {
        "name": "core",
        "config": {"eval": {"primary": "nDCG@5"}, "split": "test"},
        "benchmark": {"name": "mine"},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "verdict.json").write_text(json.dumps({"sentence": "No winner."}))
    rows = [
        ("bm25", "nDCG@5", 40, 0.5, 0.4, 0.6, 11),
        ("rrf", "nDCG@5", 40, 0.5126, 0.4111, 0.6, 11),
        ("bm25", "RR", 40, 0.7, 0.6, 0.8, 11),
        ("rrf", "RR", 40, 0.6, 0.5, 0.7, 11),
    ]
    columns = ["strategy", "metric", "n", "mean", "lo", "hi", "clusters"]
    pd.DataFrame(rows, columns=columns).to_parquet(folder / "summary.parquet")
    return tmp_path


def test_a_place_is_filled_with_n_split_intervals_and_verdict(results):
    text = fill(PAGE, results, "page.md")
    assert text.startswith(
        "before\n<!-- results: mine-core -->\n`suite=core`, split `test`: 40 questions from 11 documents"
    )
    assert "**No winner.**" in text and "old" not in text
    assert text.index("| rrf | 0.513 [0.411, 0.600] | 0.600 |") < text.index(
        "| bm25 | 0.500 [0.400, 0.600] | 0.700 |"
    )
    assert text.endswith("<!-- /results -->\nafter\n")


def test_filling_twice_changes_nothing(results):
    once = fill(PAGE, results, "page.md")
    assert fill(once, results, "page.md") == once


def test_a_page_without_a_place_and_missing_results_are_refused(results):
    with pytest.raises(RequestError, match=r"page.md: no <!-- results"):
        fill("nothing", results, "page.md")
    with pytest.raises(RequestError, match=r"no results in .*other-core"):
        fill(PAGE.replace("mine", "other"), results, "page.md")


def test_nothing_is_written_if_one_page_fails(results, capsys):
    good, bad = results / "good.md", results / "bad.md"
    good.write_text(PAGE)
    bad.write_text("no place")
    assert main([f"runs={results}", f"into=[{good},{bad}]"]) == 2
    assert good.read_text() == PAGE
    assert "no <!-- results" in capsys.readouterr().err
