"""What the table and the reports say, and that they say it in the right order."""

from __future__ import annotations

import re

import pandas as pd

from evaluation import table
from evaluation.findings import Findings
from evaluation.report import write_reports
from evaluation.verdict import Verdict

ARMS = {
    "a|b": {"state": "ran", "reason": "", "latency_p50_ms": 1.26, "latency_p95_ms": 2.0, "index_bytes": 1_500_000},
    "best": {"state": "ran", "reason": "", "notes": ["same ranking as a|b"]},
    "gone": {"state": "absent", "reason": "did not run: <model> missing"},
}
MANIFEST = {
    "name": "core",
    "split": "test",
    "time": "2026-01-01T00:00:00Z",
    "depth": 100,
    "credit": "once",
    "primary": "nDCG@5",
    "benchmark": {
        "name": "tiny",
        "queries": 5,
        "judged": 4,
        "unjudged": 1,
        "clusters": 3,
        "orphans": 0,
        "uncovered": 2,
    },
}


def summary() -> pd.DataFrame:
    columns = ["strategy", "metric", "n", "mean", "lo", "hi", "clusters", "interval", "note"]
    rows = [
        ("a|b", "nDCG@5", 4, 0.25, 0.1, 0.4, 3, "bca", table.TOO_FEW),
        ("a|b", "Judged@5", 5, 0.5, 0.4, 0.6, 3, "bca", table.TOO_FEW),
        ("best", "nDCG@5", 4, 0.75, 0.7, 0.8, 3, "bca", table.TOO_FEW),
        ("best", "Judged@5", 5, 0.9, 0.8, 1.0, 3, "bca", table.TOO_FEW),
    ]
    return pd.DataFrame(rows, columns=columns)


def test_the_best_mean_comes_first_with_interval_cost_and_notes():
    board = table.leaderboard(summary(), ARMS, "nDCG@5")
    assert list(board["strategy"]) == ["best", "a|b"]
    row = board.iloc[1]
    assert (row["N"], row["nDCG@5"], row["nDCG@5 95 %"]) == ("4", "0.250", "0.100-0.400")
    assert (row["p50 ms"], row["p95 ms"], row["index MB"]) == ("1.3", "2.0", "1.5")
    assert board.iloc[0]["note"] == "same ranking as a|b"
    assert board.iloc[0]["p50 ms"] == "-"
    text = table.as_text(board)
    assert len({line.index("0.") for line in text.splitlines()[2:]}) == 1  # columns are aligned


def test_what_limits_the_figures_is_said():
    said = "\n".join(table.caveats(MANIFEST, summary(), "nDCG@5"))
    assert "5 questions, 4 of them with a relevant judgment" in said
    assert "1 questions without a relevant judgment" in said
    assert "too few documents (3 < 10)" in said
    assert "2 judged spans are in no indexed chunk" in said
    assert "(below .8) for a|b:" in said
    assert "contaminated" in "\n".join(table.caveats({**MANIFEST, "split": "all"}, summary(), "nDCG@5"))


def test_reports_escape_what_they_show_and_need_no_network(tmp_path):
    values = pd.DataFrame(columns=["strategy", "qid", "metric", "value"])
    verdict = Verdict("no verdict", "No verdict: 3 documents are too few.", "best", ("best", "a|b"))
    found = Findings({**MANIFEST, "run_id": "0" * 16}, ARMS, summary(), values, verdict)
    write_reports(tmp_path, found)
    page, text = (tmp_path / "report.html").read_text(), (tmp_path / "report.md").read_text()
    assert "a\\|b" in text
    assert "&lt;model&gt;" in page
    assert "<model>" not in page
    assert "<svg" in page
    assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//[^"' >]*|url\((?!#)""", page) == []
    write_reports(tmp_path / "again", found)
    assert (tmp_path / "again" / "report.html").read_bytes() == (tmp_path / "report.html").read_bytes()
