"""The baseline's files: they give back what was put in, name no place, and survive a failure."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

from evaluation.errors import RequestError
from evaluation.regression import baseline, decline
from evaluation.regression.baseline import read_baseline, write_baseline
from evaluation.regression.ruling import judge
from evaluation.regression.settings import read_gate
from evaluation.regression.snapshot import BaselineError, BaselineWriteError
from evaluation.request import read_request
from ingestion.config import ROOT, load, to_plain
from ingestion.errors import ConfigError
from tests.unit.evaluation.gate_runs import GATE, FakeRun, fake_run

FILES = ["baseline.json", "top.csv", "values.csv"]


@pytest.fixture(scope="module")
def run() -> FakeRun:
    return fake_run()


@pytest.fixture
def written(run, tmp_path) -> Path:
    write_baseline(tmp_path / "kept" / "fake", run.snapshot(tmp_path / "results"))
    return tmp_path / "kept" / "fake"


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_baseline_gives_back_what_was_put_in(run, written, tmp_path):
    snapshot, found = run.snapshot(tmp_path / "results"), read_baseline(written)
    assert (found.identity, found.about, found.arms) == (snapshot.identity, snapshot.about, snapshot.arms)
    pd.testing.assert_frame_equal(found.values, snapshot.values, atol=1e-10, rtol=0, check_column_type=False)
    pd.testing.assert_frame_equal(found.top, snapshot.top)
    expected = run.per_query().set_index(["strategy", "qid", "metric"])["value"]
    assert found.values.loc[("rrf", "q05"), "RR"] == pytest.approx(expected["rrf", "q05", "RR"], abs=1e-10)
    assert found.top.set_index(["strategy", "qid"])["ids"]["rrf", "q05"].split() == run.rankings["rrf"]["q05"][:20]


def test_the_files_are_small_text_that_names_no_place_on_this_machine(written, tmp_path):
    files = bytes_of(written)
    assert list(files) == FILES
    text = b"".join(files.values()).decode()
    assert str(tmp_path) not in text
    assert not re.search(r"/(home|tmp|work|root|usr)\b", text)
    assert len(text) < 60_000  # four strategies, 60 questions: 240 rows of 20 ids with 4 letters
    assert json.loads(files["baseline.json"])["arms"]["dense"]["neural"] is True
    assert json.loads(files["baseline.json"])["arms"]["rrf"]["neural"] is False


def test_equal_runs_give_equal_bytes_whatever_the_order_of_rows(run, written, tmp_path):
    shuffled = run.changed(
        values=run.per_query().sample(frac=1, random_state=3),
        rankings=dict(reversed(run.rankings.items())),
    )
    write_baseline(tmp_path / "again", shuffled.snapshot(tmp_path / "shuffled"))
    assert bytes_of(tmp_path / "again") == bytes_of(written)


def test_ids_that_look_like_numbers_or_nothing_stay_what_they_are(tmp_path):
    rankings = {"bm25": {"007": ["NA", "1e5", "2605.23950"], "NA": ["null", "a%20b"]}}
    values = pd.DataFrame([("bm25", "007", "RR", 0.5), ("bm25", "NA", "RR", 0.25)])
    values.columns = pd.Index(["strategy", "qid", "metric", "value"])
    run = FakeRun(rankings, {"q00": set()}, values=values)
    write_baseline(tmp_path / "kept", run.snapshot(tmp_path / "results"))
    found = read_baseline(tmp_path / "kept")
    assert dict(zip(found.top["qid"], found.top["ids"], strict=True)) == {
        "007": "NA 1e5 2605.23950",
        "NA": "null a%20b",
    }
    assert found.values["RR"].to_dict() == {("bm25", "007"): 0.5, ("bm25", "NA"): 0.25}


def test_an_arm_that_found_nothing_is_kept_and_compared(run, tmp_path):
    empty = run.changed(rankings=run.rankings | {"bm25": {}})
    write_baseline(tmp_path / "kept", empty.snapshot(tmp_path / "a"))
    then = read_baseline(tmp_path / "kept")
    assert judge(empty.snapshot(tmp_path / "b"), then, GATE).code == 0
    ruling = judge(run.snapshot(tmp_path / "c"), then, GATE)
    assert (ruling.code, ruling.changed[0].first.then) == (1, "")


def test_an_update_replaces_all_files_at_once(run, written, tmp_path):
    before = bytes_of(written)
    write_baseline(written, fake_run(seed=9).snapshot(tmp_path / "other"))
    assert list(bytes_of(written)) == FILES
    assert bytes_of(written)["values.csv"] != before["values.csv"]
    assert [path.name for path in written.parent.iterdir()] == ["fake"]


@pytest.mark.parametrize("failing", ["_write", "second rename"])
def test_the_old_baseline_survives_a_failed_update(run, written, tmp_path, monkeypatch, failing):
    before = bytes_of(written)
    if failing == "_write":
        original, written_files = baseline._write, []

        def full_disk(path: Path, text: str) -> None:
            if written_files:
                raise OSError(28, "No space left on device")
            written_files.append(path)
            original(path, text)

        monkeypatch.setattr(baseline, "_write", full_disk)
    else:
        rename = Path.rename

        def stubborn(self: Path, target: Path) -> Path:
            if self.name == "new":
                raise OSError(5, "Input/output error")
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", stubborn)
    with pytest.raises(BaselineWriteError, match="cannot be written"):
        write_baseline(written, fake_run(seed=9).snapshot(tmp_path / "other"))
    assert bytes_of(written) == before
    assert [path.name for path in written.parent.iterdir()] == ["fake"]


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("baseline.json", '{"format": 0}', "of format 0, this version reads 1"),
        ("baseline.json", "[]", "of format None"),
        ("baseline.json", "<<<<<<< HEAD", "cannot be read"),
        ("baseline.json", '{"format": 1}', "cannot be read"),
        ("values.csv", "strategy,qid,RR\nbm25,q00,high\n", "cannot be read"),
        ("values.csv", "strategy,qid,RR\nelse,q00,0.5\n", "do not fit each other"),
        ("values.csv", "strategy,qid,AP\nbm25,q00,0.5\n", "do not fit each other"),
        ("top.csv", None, "cannot be read"),
    ],
)
def test_a_damaged_baseline_is_named_with_the_remedy(written, file, content, said):
    (written / file).unlink() if content is None else (written / file).write_text(content)
    with pytest.raises(BaselineError, match=re.escape(said)) as error:
        read_baseline(written)
    assert str(written) in str(error.value)
    assert "baseline=update" in str(error.value)


def test_a_missing_baseline_says_how_to_make_one(tmp_path):
    with pytest.raises(BaselineError, match="no baseline; baseline=update writes a new baseline"):
        read_baseline(tmp_path)


def request(tmp_path: Path, *overrides: str, name: str = "nightly"):
    typed = ["suite=smoke", "tracking=none", f"artifacts={tmp_path}", *overrides]
    return read_request(load(typed, name), typed, {})


def test_the_settings_of_nightly_are_read_and_name_the_baseline_by_the_suite(tmp_path):
    wanted = request(tmp_path, f"gate.folder={tmp_path / 'a, b'}", "gate.margin=0.01")
    gate = read_gate(wanted)
    assert (gate.baseline, gate.margin, gate.fresh) == ("compare", 0.01, True)
    assert gate.path(wanted) == tmp_path / "a, b" / "smoke"
    assert replace(gate, name="other").path(wanted).name == "other"
    assert wanted.allow_missing


def test_a_plain_run_has_no_gate(tmp_path):
    assert read_gate(request(tmp_path, name="config")) is None


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["baseline=updat"], "baseline=compare or baseline=update"),
        (["gate.margin=0"], "gate.margin=0: must lie between 0 and 1"),
        (["gate.alpha=1"], "gate.alpha"),
        (["gate.size_ratio=0.9"], "gate.size_ratio=0.9: must be at least 1"),
        (["gate.drift_places=-1"], "gate.drift_places"),
        (["gate.flips=10"], "gate.flips"),
        (["gate.remeasure=0"], "gate.remeasure"),
        (["gate.name=../core"], "gate.name"),
        (["gate.margin=wide"], "must be float"),
        (["gate.margn=0.1"], "'gate.margin'"),
    ],
)
def test_a_wrong_bound_is_refused(tmp_path, overrides, said):
    with pytest.raises((RequestError, ConfigError), match=re.escape(said)):
        read_gate(request(tmp_path, *overrides))


def test_an_update_without_the_gate_is_refused(tmp_path):
    with pytest.raises(RequestError, match="--config-name nightly"):
        read_gate(request(tmp_path, "baseline=update", name="config"))


def test_the_docs_give_the_bounds_and_states_that_the_code_has():
    text = (ROOT / "docs" / "nightly.md").read_text()
    settings = to_plain(load([], "nightly"))["gate"]
    named = dict(re.findall(r"`gate\.(\w+)=([\w.]+)`", text))
    assert named.pop("fresh") == "false"  # the other choice
    assert {key: float(value) for key, value in named.items()} == {key: settings[key] for key in named}
    assert set(named) >= {"margin", "drift_places", "drift_mean", "size_ratio", "latency_ratio", "remeasure"}
    states = re.findall(r"^\| `([a-z, ]+)` \|", text, re.MULTILINE)
    assert sorted(states) == sorted(get_args(decline.State))
