"""The command that explains a run, from the files of a results folder made by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from evaluation.explain import __main__ as explain
from evaluation.results import write_json, write_table
from tests.unit.evaluation.test_flips import PASSAGES, PER_QUERY, SHOWN

LOSSES = pd.DataFrame(
    [
        ("bm25", "q1", 0, 3, "found", "", 1, 1), ("bm25", "q1", 1, 1, "candidates", "", 0, 0),
        ("bm25", "q2", 0, 2, "below k", "", 7, 7), ("bm25", "q3", 0, 2, "found", "", 2, 2),
        ("rrf", "q1", 0, 3, "fusion", "fuser", 1, 0), ("rrf", "q1", 1, 1, "candidates", "", 0, 0),
        ("rrf", "q2", 0, 2, "found", "", 1, 1), ("rrf", "q3", 0, 2, "found", "", 1, 1),
    ],
    columns=["strategy", "qid", "evidence", "grade", "stage", "path", "best_rank", "final_rank"],
)  # fmt: skip


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    """What is printed side by side depends on how wide the terminal is."""
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    kinds = [("bm25", "nDCG@5", "numeric", 3, 0.5, 0.25, 0.75, 2, "described, not tested (n < 50)")]
    names = ["strategy", "metric", "kind", "n", "mean", "lo", "hi", "clusters", "note"]
    shares = [("bm25", "duplicates", 0.2, 2, 10), ("rrf", "unjudged", 0.5, 5, 10)]
    tables = {
        "losses": LOSSES,
        "shares": pd.DataFrame(shares, columns=["strategy", "share", "value", "count", "total"]),
        "kinds": pd.DataFrame(kinds, columns=names),
        "questions": pd.DataFrame(
            [(f"q{at}", f"question {at}?", "", "") for at in range(1, 7)], columns=["qid", "query", "kind", "cluster"]
        ),
        "shown": SHOWN,
        "passages": PASSAGES,
        "per_query": PER_QUERY,
    }
    for name, table in tables.items():
        write_table(folder, name, table)
    arms = {"bm25": {"state": "ran"}, "rrf": {"state": "ran"}, "gone": {"state": "absent", "reason": "no model"}}
    write_json(folder / "arms.json", arms)
    write_json(folder / "manifest.json", {"primary": "nDCG@2"})
    return folder


def answer(capsys, *arguments):
    code = explain.main(arguments)
    told = capsys.readouterr()
    return code, told.out, told.err


def row(text, name):
    return next(line.split() for line in text.splitlines() if line.startswith(f"{name} "))


def test_a_whole_run(run, capsys):
    code, out, _ = answer(capsys, f"run={run}", "metric=nDCG@5")
    assert code == 0
    assert "looked at: the top 2" in out
    assert row(out, "strategy") == ["strategy", "candidates", "fusion", "below", "k", "found"]
    assert row(out, "bm25") == ["bm25", "1", "25%", "-", "1", "25%", "2", "50%"]
    assert row(out, "rrf") == ["rrf", "1", "25%", "1", "25%", "-", "2", "50%"]
    for text in (
        "20.0% (2 of 10)",
        "0.500 [0.250 0.750]",
        "numeric: 3 questions of 2 documents; described, not tested",
    ):
        assert text in out
    assert "absent: gone: no model" in out


def test_two_strategies(run, capsys):
    code, out, _ = answer(capsys, f"run={run}", "a=bm25", "b=rrf", "metric=nDCG@5", "n=2")
    assert code == 0
    # of q1 to q4: +.5, +.5, -.7, 0; mean .075
    assert out.startswith(
        "bm25 against rrf by nDCG@5: 2 wins, 1 ties, 1 losses in 4 questions; mean difference +0.075"
    )
    rows = [line.split() for line in out.splitlines() if "question" in line][2:4]
    assert rows == [
        ["q3", "0.200", "0.900", "-0.700", "question", "3?"],
        ["q1", "0.500", "0.000", "+0.500", "question", "1?"],
    ]
    assert "question 2?" not in out
    assert "qid=q3" in out
    assert "no question in which they differ" in answer(capsys, f"run={run}", "a=rrf", "b=rrf", "metric=RR")[1]


def test_one_question(run, capsys):
    code, out, _ = answer(capsys, f"run={run}", "a=bm25", "b=rrf", "qid=q1", "metric=RR")
    assert code == 0
    assert "q1: question 1?\nRR: 0.500 and 0.000" in out
    assert "1. [grade 3] a.pdf, page 3" in out
    assert "- the top 2 ends here" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["bm25", "0", "3", "1", "1", "found"] in lines
    assert ["rrf", "0", "3", "1", "-", "fusion", "(fuser)"] in lines
    every = answer(capsys, f"run={run}", "qid=q2")[1]
    assert ["bm25", "0", "2", "7", "7", "below", "k"] in [line.split() for line in every.splitlines()]
    assert "no relevant evidence" in answer(capsys, f"run={run}", "qid=q5")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "run=<results folder> is missing"),
        (["runs=x"], "unknown argument 'runs=x'; did you mean 'run'?"),
        (["run"], "unknown argument 'run'"),
        (["run={run}", "a=bm25"], "a= and b= go together"),
        (["run={run}", "a=bm52", "b=rrf"], "strategy 'bm52' is not in these results; did you mean 'bm25'?"),
        (["run={run}", "a=gone", "b=rrf"], "strategy 'gone' absent: no model"),
        (["run={run}", "qid=qq1"], "qid 'qq1' is not in these results; did you mean 'q1'?"),
        (["run={run}", "metric=ndcg@5", "n=0"], "use 'nDCG@5'"),
        (["run={run}", "n=0"], "n='0': must be a whole number from 1"),
        (["run={run}", "metric=AP"], "metric 'AP' is not in these results"),
        (["run={run}/none"], "no results here"),
    ],
)
def test_wrong_requests(arguments, message, run, capsys):
    code, out, err = answer(capsys, *[text.replace("{run}", str(run)) for text in arguments] or ["n=3"])
    assert (code, out) == (2, "")
    assert message in err


def test_results_of_an_older_version_and_broken_ones(run, capsys):
    (run / "losses.parquet").unlink()
    assert "no losses.parquet; an older version wrote this: run it again" in answer(capsys, f"run={run}")[2]
    (run / "losses.parquet").write_text("no parquet")
    code, _, err = answer(capsys, f"run={run}")
    assert (code, "cannot be read" in err) == (2, True)


def test_help_and_nothing(capsys):
    assert answer(capsys, "--help")[0] == 0
    assert answer(capsys)[0] == 2
    assert "usage: python -m evaluation.explain" in answer(capsys, "-h")[1]
