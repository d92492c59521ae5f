"""Answers on the bundled corpus, from the command to MLflow: what is promised, written, and can be redone."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from evaluation.answers.files import TABLES
from evaluation.replay import replay
from evaluation.runner import Outcome, run
from evaluation.tracking import main as tracking
from generation.build import build_confidence
from ingestion.artifacts import fingerprint
from ingestion.config import load, to_plain

ROOT = Path(__file__).parents[2]
TIMES = ("answer_usage", "answer_costs")  # what differs from run to run
NUMBER = re.compile(r"(?<![\w.])[+-]?(?:\d[\d,]*)?\.?\d+(?![\w.]*\w)")
HIDDEN = re.compile("[\ufe00-\ufe0f]")  # variation selectors, which nobody sees
ASKED = ("strategy=bm25", "generator=grounded", "split=test")


def carry_out(out: Path, *more: str) -> Outcome:
    overrides = [*ASKED, f"out={out}", f"ledger={out.parent / 'ledger.jsonl'}", *more]
    return run(load(overrides), overrides, {})


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('store') / 'mlflow.db'}"


@pytest.fixture(scope="module")
def done(tmp_path_factory, store) -> Path:
    """The folder of one run, which MLflow has too."""
    out = tmp_path_factory.mktemp("out") / "r"
    assert carry_out(out, f"tracking.uri={store}") == Outcome(0)
    return out


def table(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(folder / f"{name}.parquet")


def ours(rows: pd.DataFrame) -> pd.DataFrame:
    """What the offline generator said from retrieved passages."""
    own = rows[rows["generator"] == "grounded"]
    return own[own["context"] == "retrieved"] if "context" in own else own


def test_every_claim_is_a_quote_with_its_place(done):
    claims, citations = table(done, "claims"), table(done, "citations")
    assert len(ours(claims)) >= 100
    assert ours(claims)["supported"].all()
    assert citations["verbatim"].all()
    key = ["strategy", "generator", "context", "qid", "claim"]
    quoted = citations.groupby(key)["quote"].agg(lambda quotes: " ".join(HIDDEN.sub("", " ".join(quotes)).split()))
    said = claims[claims["generator"] == "grounded"].set_index(key)["text"]
    assert (said == quoted.reindex(said.index)).all()
    assert set(ours(table(done, "answer_values")).query("metric == 'supported claims'")["value"]) == {1.0}


def test_citing_is_no_worse_than_citing_rank_1(done):
    found = ours(table(done, "answer_against_first")).query("metric == 'source precision'")
    assert found["questions"].tolist() == ["all", "answerable"]
    assert (found["diff"] >= 0).all()


def test_levels_are_in_order_and_probabilities_calibrated(done):
    order = ours(table(done, "answer_level_order")).query("by == 'level'")
    assert order["higher"].tolist() == ["HIGH", "MEDIUM"]
    assert order["ordered"].all()
    found = ours(table(done, "calibration"))
    assert found["binning"].tolist() == ["mass", "width"]
    assert (found["ece_p"] > 0.01).all()


def test_equal_requests_give_equal_bytes_but_for_times(done, tmp_path):
    again = tmp_path / "again"
    command = [sys.executable, str(ROOT / "run_eval.py"), *ASKED, f"out={again}", "tracking=none"]
    command.append(f"ledger={tmp_path / 'ledger.jsonl'}")
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=environment)

    def digests(folder: Path) -> dict[str, str]:
        names = [name for name in ("answers", *TABLES) if name not in TIMES]
        files = [folder / f"{name}.{ending}" for name in names for ending in ("parquet", "csv")]
        files += sorted((folder / "figures").glob("answer_*.svg"))
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    assert digests(again) == digests(done)
    assert len(digests(done)) == 2 * 15 + 6
    assert "seconds" not in table(done, "answers").columns
    assert (table(done, "answer_usage")["seconds"] > 0).any()


class Section(HTMLParser):
    """The section about answers: rows of its tables by the table's name, and the texts of its list items."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.inside, self.held, self.name = False, False, ""
        self.heads, self.rows = dict[str, list[str]](), dict[str, list[list[str]]]()
        self.items: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "section":
            self.inside = dict(attrs).get("id") == "answers"
        if not self.inside:
            return
        self.held = tag in ("td", "th", "li", "button")
        if tag == "table":
            self.name = dict(attrs)["aria-label"]
            self.heads[self.name], self.rows[self.name] = [], []
        elif tag == "li":
            self.items.append("")
        elif tag == "tr" and self.heads[self.name]:
            self.rows[self.name].append([])
        elif tag in ("td", "th"):
            (self.rows[self.name] or [self.heads[self.name]])[-1].append("")

    def handle_endtag(self, tag):
        self.held = self.held and tag not in ("td", "th", "li")
        self.name = "" if tag in ("table", "section") else self.name

    def handle_data(self, data):
        if self.inside and self.held:
            into = (self.rows[self.name] or [self.heads[self.name]])[-1] if self.name else self.items
            into[-1] += data

    def table(self, name: str) -> list[dict[str, str]]:
        return [dict(zip(self.heads[name], row, strict=True)) for row in self.rows[name]]


def spelled(row, mean: str, form: str = ".3f") -> str:
    return f"{row[mean]:{form}} [{row['lo']:{form}}, {row['hi']:{form}}]"


def test_every_mean_of_the_report_is_a_value_of_the_tables(done):
    page = Section((done / "report.html").read_text())
    key = ["generator", "strategy", "context", "metric"]
    summary = table(done, "answer_summary").set_index(key)
    shown = 0
    for row in page.table("All strategies, metrics and contexts"):
        place = (row.pop("generator"), row.pop("strategy"), row.pop("context"))
        assert row.pop("N") == str(summary.loc[(*place, "refused"), "n"])
        for metric, cell in row.items():
            own = summary.loc[(*place, metric)] if (*place, metric) in summary.index else None
            form = ".0f" if metric == "cited characters" else ".3f"
            assert cell == ("-" if own is None else spelled(own, "mean", form))
            shown += own is not None
    assert shown == len(summary)
    against = table(done, "answer_against_first").set_index([*key, "questions"])
    for row in page.table("Against rank 1 in all contexts, and on answerable questions alone"):
        for metric in ("source precision", "citation precision"):
            own = against.loc[(row["generator"], row["strategy"], row["context"], metric, row["questions"])]
            assert (row[metric], row["N"]) == (spelled(own, "diff", "+.3f"), str(own["n"]))


def test_levels_refusals_and_calibration_of_the_report_are_values_of_the_tables(done):
    page = Section((done / "report.html").read_text())
    levels = table(done, "answer_levels").set_index(["generator", "strategy", "level", "by"])
    for row in page.table("Levels"):
        level, by = row["level"].split(", ")
        own = levels.loc[
            (row["generator"], row["strategy"], level, {"calibrated": "level", "fixed rule": "rule"}[by])
        ]
        assert (row["right"], row["labelled"]) == (spelled(own, "rate"), str(own["n"]))
        assert row["by documents"] == f"[{own['clustered_lo']:.3f}, {own['clustered_hi']:.3f}]"
    refusals = table(done, "answer_refusals").set_index(["generator", "strategy"])
    for row in page.table("Refusals"):
        own = refusals.loc[(row["generator"], row["strategy"])]
        for column, name, of in (("unanswerable", "right", "unanswerable"), ("answerable", "wrong", "answerable")):
            ends = f"[{own[f'{name}_lo']:.0%}, {own[f'{name}_hi']:.0%}] of {own[of]:.0f}"
            assert row[f"{column} refused"] == f"{own[name]:.0%} {ends}"
        assert row["area"] == f"{own['area']:.3f}"
    calibration = table(done, "calibration").set_index(["generator", "strategy", "binning"])
    for row in page.table("Brier score and calibration error"):
        own = calibration.loc[(row["generator"], row["strategy"], row["bins"].rpartition(" ")[2])]
        assert row["bins"].startswith(f"{own['bins']}, equal ")
        assert (row["Brier"], row["ECE"]) == (f"{own['brier']:.3f}", f"{own['ece']:.3f}")


def test_every_sentence_of_the_report_has_its_figures_from_the_tables(done):
    page = Section((done / "report.html").read_text())
    sentences = set(table(done, "answer_lift")["sentence"]) | set(table(done, "answer_generators")["sentence"])
    others = [text for text in page.items if text not in sentences]
    assert len(page.items) - len(others) == 5  # two generators between two pairs of contexts, and the two of them
    claims = table(done, "claims").query("context != 'none'")
    known = {"95", "1", str(len(table(done, "citations"))), str(len(claims)), str(claims["right"].isna().sum())}
    for name in ("calibration", "answer_level_order"):
        for value in ours(table(done, name)).select_dtypes("number").to_numpy().ravel().tolist():
            known |= {f"{value:.3f}", f"{value:+.3f}", f"{value:.3f}".removeprefix("0"), f"{value:.0f}", ".001"}
    assert [token for text in others for token in NUMBER.findall(text) if token not in known] == []
    markdown = (done / "report.md").read_text().partition("## Answers")[2].partition("\n## ")[0]
    summary = ours(table(done, "answer_summary")).set_index("metric")
    for metric in ("source precision", "citation precision", "citation recall", "answer F1", "refusal accuracy"):
        assert spelled(summary.loc[metric], "mean") in markdown


def test_mlflow_has_the_means_under_names_of_their_own(done, store):
    mlflow = pytest.importorskip("mlflow")
    client = mlflow.MlflowClient(tracking_uri=store)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (child,) = client.search_runs(experiments, "tags.`level` = 'arm'")
    summary = table(done, "answer_summary")
    named = {"grounded": "citation_precision", "first": "first/citation_precision"}
    for generator, name in named.items():
        rows = summary[(summary["generator"] == generator) & (summary["context"] == "retrieved")]
        row = rows.set_index("metric").loc["citation precision"]
        assert [child.data.metrics[key] for key in (name, f"{name}_lo", f"{name}_hi")] == pytest.approx(
            row[["mean", "lo", "hi"]].tolist()
        )
    for name in ("source_precision", "citation_recall", "answer_f1", "faithfulness", "refusal_accuracy"):
        assert child.data.metrics[name] == child.data.metrics[f"grounded/{name}"]
    assert "grounded/oracle/answer_f1" in child.data.metrics
    assert tracking(["sync", f"folder={done}", f"tracking.uri={store}"]) == 0
    assert len(client.search_runs(experiments, "tags.`level` = 'arm'")) == 1


def test_the_manifest_says_who_answered_from_what(done):
    manifest = json.loads((done / "manifest.json").read_text())
    said = manifest["answers"]
    confidence = to_plain(load())["confidence"]
    assert said["confidence"] == {"name": "default", "digest": fingerprint(build_confidence(confidence))}
    assert (said["asked"], said["yardstick"], said["models"]) == (["grounded"], "first", {})
    assert said["generators"]["grounded"]["class"] == "Grounded"
    assert said["context"] == to_plain(load())["context"]
    folder = ROOT / "corpus" / "benchmark"
    asked, judged = (
        [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for name in ("queries.jsonl", "extracts.jsonl")
    )
    test = {question["qid"] for question in asked if question["split"] == "test"}
    assert said["extracts"]["quotes"] == sum(row["qid"] in test for row in judged)
    assert len(said["extracts"]["digest"]) == 64


def test_a_folder_with_answers_comes_back_without_asking_again(done):
    (found,) = replay(done)
    assert list(found.runs) == ["bm25"]
    assert found.request.answers is None
    manifest = json.loads((done / "manifest.json").read_text())
    assert found.judged.corpus.fingerprint == manifest["corpus"]["fingerprint"]


def test_a_plan_says_how_many_requests_a_model_would_get(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "-".join(["no", "key", "at", "all"]))
    asked = ["generators=[grounded,chat]", "answers.provider=openai", "answers.route=direct", "plan=true"]
    overrides = ["strategy=bm25", f"out={tmp_path / 'r'}", *asked]
    assert run(load(overrides), overrides, {}) == Outcome(0)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("answers")]
    queries = (ROOT / "corpus" / "benchmark" / "queries.jsonl").read_text().splitlines()
    questions = sum(json.loads(line)["split"] == "test" for line in queries) * 3
    assert lines[0].startswith(f"answers    grounded: {questions} answers over 1 ranking, nothing, judged evidence; ")
    assert lines[0].endswith("no request to a model")
    assert f"chat: {questions} answers" in lines[1]
    assert f"at most {questions} requests and their repairs, to openai/direct: " in lines[1]
    assert lines[2].startswith("answers    first: ")
    assert not (tmp_path / "r").exists()


def test_runs_made_elsewhere_are_answered_from_too(done, tmp_path):
    theirs = {"theirs": done / "runs" / "bm25.trec"}
    asked = ["suite=none", "generator=first", "answers.contexts=[retrieved]", "tracking=none"]
    overrides = [*asked, f"out={tmp_path / 'r'}", f"ledger={tmp_path / 'ledger.jsonl'}"]
    assert run(load(overrides), overrides, theirs) == Outcome(0)
    found, before = table(tmp_path / "r", "citations"), table(done, "citations")
    before = before[(before["generator"] == "first") & (before["context"] == "retrieved")]
    assert found["strategy"].unique().tolist() == ["theirs"]
    assert found["chunk_id"].tolist() == before["chunk_id"].tolist()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["ablation=chunker", "generator=grounded"], "a sweep over chunkers runs no generator"),
        (["strategy=bm25", "generator=grounde"], "'grounded'"),
        (["strategy=bm25", "generators=[grounde]"], "'grounded'"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_anything_starts(asked, said, tmp_path):
    command = [sys.executable, str(ROOT / "run_eval.py"), *asked, f"out={tmp_path / 'r'}", "tracking=none"]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert process.returncode == 2
    assert said in process.stderr
    assert not (tmp_path / "r").exists()


def test_runs_judged_by_document_alone_have_nothing_to_quote(tmp_path, capsys):
    (tmp_path / "qrels.txt").write_text("007 0 d1 1\n")
    (tmp_path / "r.trec").write_text("007 Q0 d1 1 9 x\n")
    overrides = ["benchmark=trec", f"benchmark.qrels={tmp_path / 'qrels.txt'}", "suite=none", "generator=grounded"]
    overrides += [f"out={tmp_path / 'o'}", "tracking=none"]
    assert run(load(overrides), overrides, {"mine": tmp_path / "r.trec"}) == Outcome(2)
    assert "generators quote from a corpus" in capsys.readouterr().err
