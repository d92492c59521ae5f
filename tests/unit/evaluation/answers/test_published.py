"""Tables about answers in the docs say what a results folder says, and nothing that it does not."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from evaluation.answers.assembled import assemble
from evaluation.answers.files import files
from evaluation.answers.published import table
from evaluation.errors import RequestError
from evaluation.publish import fill
from evaluation.results import write_table
from tests.unit.evaluation.answers.made import RULES, SETTINGS, made_judged, made_tables

PAGE = "before\n<!-- answers: mine -->\nold\n<!-- /answers -->\nafter\n"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with one run: three generators over one strategy, 10 papers of 4 questions each."""
    folder = tmp_path_factory.mktemp("runs")
    judged = made_judged(10, 4)
    found = assemble(made_tables(judged, ("rrf",)), judged, RULES, SETTINGS, 0)
    for name, rows in files(found).items():
        write_table(folder / "mine", name, rows)
    manifest = {
        "name": "rrf",
        "benchmark": {"name": "made", "queries": 40, "judged": 30},
        "config": {"split": "test", "answers": {"primary": "answer F1", "yardstick": "first"}},
    }
    (folder / "mine" / "manifest.json").write_text(json.dumps(manifest))
    return folder


def rows_of(text, head):
    """The rows of the table whose head begins so, by their cells."""
    own = text.partition(f"| {head}")[2].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in own[2:]]


def test_means_are_those_of_the_run_without_answers_from_no_source(results):
    text = table(results / "mine")
    assert text.startswith("`rrf`, split `test`: 40 questions of made, 30 of them with evidence. Means with 95 %")
    shown = rows_of(text, "generator | strategy | context")
    summary = pd.read_parquet(results / "mine" / "answer_summary.parquet")
    assert len(shown) == 6 and {row[2] for row in shown} == {"retrieved", "oracle"}
    precision = summary[(summary["metric"] == "citation precision") & (summary["context"] == "retrieved")]
    assert {row[0]: float(row[5].split()[0]) for row in shown if row[2] == "retrieved"} == pytest.approx(
        precision.set_index("generator")["mean"].to_dict(), abs=5e-4
    )


def test_refusals_and_levels_are_counted_from_the_answers(results):
    text = table(results / "mine")
    answers = pd.read_parquet(results / "mine" / "answers.parquet")
    own = answers[(answers["context"] == "retrieved") & (answers["generator"] == "grounded")]
    cannot = own["qid"].str.endswith("-3")  # the last of four questions has no answer
    grounded = next(row for row in rows_of(text, "generator | strategy | unanswerable") if row[0] == "grounded")
    assert grounded[2].startswith(f"{own[cannot]['refused'].mean():.0%} ") and grounded[2].endswith(" of 10")
    claims = pd.read_parquet(results / "mine" / "claims.parquet").query("context == 'retrieved'")
    levels = rows_of(text, "level | generator")
    assert {row[1] for row in levels} == {"grounded", "chat"}  # not the yardstick
    for name, by, column in (("calibrated", "level", "level"), ("fixed rule", "rule", "rule")):
        counted = claims[claims["generator"] == "chat"][column].value_counts()
        shown = {
            row[0].split(",")[0]: int(row[3]) + int(row[4]) for row in levels if row[1] == "chat" and name in row[0]
        }
        assert shown == counted.to_dict(), by


def test_a_place_is_filled_and_filling_twice_changes_nothing(results):
    once = fill(PAGE, results, "page.md")
    assert re.match(r"before\n<!-- answers: mine -->\n`rrf`.*\|\n<!-- /answers -->\nafter\n$", once, re.DOTALL)
    assert "old" not in once and fill(once, results, "page.md") == once


def test_a_run_without_answers_is_refused(results):
    with pytest.raises(RequestError, match=r"page.md: no answers in .*other"):
        fill(PAGE.replace("mine", "other"), results, "page.md")
