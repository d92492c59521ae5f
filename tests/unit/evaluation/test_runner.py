"""What one request comes to: its exit code, and the value that a sweep optimises."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from evaluation.runner import Outcome, run
from ingestion.config import load
from tests.unit.evaluation.papers import write_lines

DOCUMENTS = {"d1": "rank fusion of lists", "d2": "document length in BM25", "d3": "rank of a document"}


@pytest.fixture
def asked(tmp_path) -> list[str]:
    """A collection with a dev split, where `rank document` finds d3 first and d1 second."""
    folder = tmp_path / "beir"
    write_lines(folder / "corpus.jsonl", [{"_id": name, "text": text} for name, text in DOCUMENTS.items()])
    write_lines(folder / "queries.jsonl", [{"_id": "q1", "text": "rank document"}, {"_id": "q2", "text": "fusion"}])
    (folder / "qrels").mkdir()
    (folder / "qrels" / "dev.tsv").write_text("q1\td1\t1\nq2\td1\t1\n")
    paths = {"benchmark.path": folder, "artifacts": tmp_path / "a", "ledger": tmp_path / "ledger.jsonl"}
    return ["benchmark=beir", "tracking=none", "strategy=bm25", *(f"{key}={path}" for key, path in paths.items())]


def carry_out(asked: list[str], out: Path, *more: str) -> Outcome:
    arguments = [*asked, f"out={out}", *more]
    return run(load(arguments), arguments, {})


def test_a_sweep_is_given_the_mean_of_its_objective(asked, tmp_path):
    ours = carry_out(asked, tmp_path / "o", "split=dev", "objective=R@1", "metrics=[R@1,RR]")
    assert ours == Outcome(0, 0.5)  # q1 has d3 first, which nobody judged; q2 has d1
    summary = pd.read_csv(tmp_path / "o" / "summary.csv").set_index("metric")
    assert summary["mean"]["R@1"] == 0.5
    assert carry_out(asked, tmp_path / "p", "split=dev").value is None


def test_an_open_split_is_not_entered_into_the_ledger(asked, tmp_path):
    assert carry_out(asked, tmp_path / "o", "split=dev").code == 0
    assert not (tmp_path / "ledger.jsonl").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["objective=R@1", "split=test"], "split=test, which is sealed"),
        (["objective=R@7", "split=dev"], "R@7 is not measured; add it to metrics"),
        (["split=dev", "eval.baseline=rrf"], "eval.baseline='rrf': no arm of this run"),
    ],
)
def test_a_wrong_request_starts_nothing(asked, tmp_path, capsys, more, said):
    assert carry_out(asked, tmp_path / "o", *more) == Outcome(2)
    assert said in capsys.readouterr().err
    assert not (tmp_path / "o").exists()
