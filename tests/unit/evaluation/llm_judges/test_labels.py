"""Hand labels: a blind sample goes out, and what comes back finds its items by their texts."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from evaluation.errors import BenchmarkError
from evaluation.llm_judges.items import items_of
from evaluation.llm_judges.kinds import CORRECTNESS, FAITHFULNESS, PREFERENCE, Item
from evaluation.llm_judges.labels import LabelError, draw, read_labels, write_sample
from tests.unit.evaluation.llm_judges.runs import answered


def filled(path, label) -> None:
    """The sample with the label that `label(row)` gives."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**row, "label": label(row)}) + "\n" for row in rows))


def test_labels_come_back_to_their_items(tmp_path):
    items, path = items_of("correctness", answered()).items, tmp_path / "l.jsonl"
    write_sample(path, draw(CORRECTNESS, items, 10, seed=1))
    assert "grounded" not in path.read_text()  # blind
    grade = {"one": 2, "ONE": 0, "two": "1", "three": None}
    filled(path, lambda row: grade[row["answer"]])
    found = read_labels(path, CORRECTNESS, items)
    assert found.verdicts.tolist() == [2, 1, 0, 1, -1]  # both generators answered `two`, which is labelled once
    assert (found.open, found.strange) == (1, 0)


def test_a_label_is_of_its_texts_and_not_of_a_name(tmp_path):
    items, path = items_of("correctness", answered()).items, tmp_path / "l.jsonl"
    write_sample(path, draw(CORRECTNESS, items, 10, seed=1))
    filled(path, lambda row: 1)
    run = answered()
    changed = replace(run, answers=run.answers.replace({"text": {"one": "another answer now"}}))
    found = read_labels(path, CORRECTNESS, items_of("correctness", changed).items)
    assert found.verdicts.tolist() == [-1, 1, 1, 1, 1]
    assert found.strange == 1
    with pytest.raises(LabelError, match="4 of other texts"):
        read_labels(path, CORRECTNESS, [Item(("x",), "c", {"question": "", "reference": "", "answer": "new"})])


def test_a_pair_is_labelled_as_it_is_shown(tmp_path):
    texts = {"question": "q", "reference": None, "first": "a's", "second": "b's"}
    items = [Item((str(at),), "c", {**texts, "question": str(at)}) for at in range(40)]
    path = tmp_path / "l.jsonl"
    write_sample(path, draw(PREFERENCE, items, 40, seed=2))
    shown_first = [json.loads(line)["first"] for line in path.read_text().splitlines()]
    assert 10 < shown_first.count("a's") < 30
    filled(path, lambda row: "first" if row["first"] == "a's" else "second")
    assert (read_labels(path, PREFERENCE, items).verdicts == PREFERENCE.best).all()
    filled(path, lambda row: "TIE ")
    assert (read_labels(path, PREFERENCE, items).verdicts == 1).all()


def test_a_spreadsheet_keeps_its_labels(tmp_path):
    claims = ["=1+1", "plain, with a comma", 'said "so"']
    items = [Item((text,), "c", {"claim": text, "quotes": ("one", "two")}) for text in claims]
    path = tmp_path / "l.csv"
    write_sample(path, draw(FAITHFULNESS, items, 9, seed=1))
    with path.open(encoding="utf-8-sig", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert sorted(row["claim"] for row in rows) == sorted([" =1+1", *claims[1:]])
    assert rows[0]["quotes"] == "one\n\ntwo"
    for separator in ",;":
        with path.open("w", encoding="utf-8-sig", newline="") as handle:
            sheet = csv.DictWriter(handle, [*rows[0]], delimiter=separator)
            sheet.writeheader()
            sheet.writerows({**row, "label": "Yes" if "so" in row["claim"] else "no"} for row in rows)
        assert read_labels(path, FAITHFULNESS, items).verdicts.tolist() == [0, 0, 1]


def test_every_distinct_text_is_drawn_with_the_same_chance():
    """Three answers, one of which five generators gave: each is drawn first in a third of the seeds."""
    texts = ["x", "y", *["z"] * 5]
    items = [
        Item((str(at),), "c", {"question": "q", "reference": "r", "answer": text}) for at, text in enumerate(texts)
    ]
    drawn = [draw(CORRECTNESS, items, 1, seed)[0].item.texts["answer"] for seed in range(900)]
    counts = np.asarray([drawn.count(text) for text in "xyz"])
    assert (abs(counts - 300) < 4 * np.sqrt(900 * 2 / 9)).all()
    assert draw(CORRECTNESS, items, 3, 7) == draw(CORRECTNESS, items[:1] + items[1:], 3, 7)


def test_what_is_wrong_with_a_file_is_named(tmp_path):
    items, path = items_of("correctness", answered()).items, tmp_path / "l.jsonl"
    write_sample(path, draw(CORRECTNESS, items, 10, seed=1))
    with pytest.raises(LabelError, match="may hold labels"):
        write_sample(path, draw(CORRECTNESS, items, 10, seed=1))
    with pytest.raises(LabelError, match="4 rows without a label"):
        read_labels(path, CORRECTNESS, items)
    filled(path, lambda row: 3)
    with pytest.raises(BenchmarkError, match="line 1: label '3': must be one of 0, 1, 2"):
        read_labels(path, CORRECTNESS, items)
    with pytest.raises(LabelError, match="no such file"):
        read_labels(tmp_path / "no.csv", CORRECTNESS, items)
    with pytest.raises(LabelError, match="nothing to label"):
        write_sample(tmp_path / "new.csv", [])
