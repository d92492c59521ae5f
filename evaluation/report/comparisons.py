"""The comparisons as a report shows them: both directions of every pair, and the ones that matter most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from evaluation.findings import Findings
from evaluation.report.view import flipped, margin, order, pairs
from evaluation.sentences import sentence


def cells(findings: Findings) -> pd.DataFrame:
    """Both directions of every comparison on the primary metric, by row and column in the order of the leaderboard.

    Columns as in `comparisons`, diff = a - b with `a` the row, and `row`, `column` (their places), `cell` and `text`.
    """
    rows = pairs(findings)
    if not len(rows):
        return rows
    both = pd.concat([rows, flipped(rows)], ignore_index=True)
    place = {name: at for at, name in enumerate(order(findings))}
    both = both.assign(row=both["a"].map(place), column=both["b"].map(place)).sort_values(["row", "column"])
    both["cell"] = [_cell(row) for row in both.to_dict("records")]
    both["text"] = [_text(row) for row in both.to_dict("records")]
    return both.reset_index(drop=True)


def _cell(row: Mapping[Any, Any]) -> str:
    """`+.12`, `−.03`, `≈.01`: the sign says the verdict again for who cannot see the colour."""
    number = f"{abs(row['diff']):.2f}".removeprefix("0")
    if row["verdict"] == "equivalent":
        return f"≈{number}"
    return number if number == ".00" else ("+" if row["diff"] > 0 else "−") + number


def _text(row: Mapping[Any, Any]) -> str:
    said = [
        f"{row['a']} minus {row['b']}",
        f"{row['diff']:+.3f} {row['metric']} [{row['lo']:+.3f}, {row['hi']:+.3f}]: {row['verdict']}",
        f"better on {row['wins']} questions, equal on {row['ties']}, worse on {row['losses']}",
    ]
    named = {"p_adjusted": "corrected p", "p_hsd": "p of Tukey's HSD", "p_equivalent": "p of equivalence"}
    tests = [f"{label} {row[key]:.4f}" for key, label in named.items() if row[key] == row[key]]
    return "; ".join(said + ([", ".join(tests)] if tests else []))


def differences(findings: Findings) -> pd.DataFrame:
    """The comparisons that matter most, largest difference first; columns as in `comparisons`, and `name`, `text`.

    The declared ones; where nothing is declared, the leader against every other strategy.
    """
    rows = cells(findings)
    if not len(rows):
        return rows
    if is_declared(findings):
        declared = pairs(findings)
        wanted = set(declared[declared["family"] == "declared"][["a", "b"]].itertuples(index=False, name=None))
        rows = rows[[pair in wanted for pair in zip(rows["a"], rows["b"], strict=True)]]
    else:
        leader = findings.verdict.leader or str(rows["a"].iloc[0])
        rows = rows[rows["a"] == leader]
        rows = rows.assign(sentence=_sentences(rows, findings))
    rows = rows.sort_values(["diff", "a", "b"], ascending=[False, True, True]).reset_index(drop=True)
    return rows.assign(name=rows["a"] + " − " + rows["b"] if is_declared(findings) else rows["b"])


def _sentences(rows: pd.DataFrame, findings: Findings) -> list[str]:
    """What the comparisons say, seen from `a`."""
    size, known = margin(findings), pairs(findings)
    if size is None:
        return [str(said) for said in rows["sentence"]]
    declared = int((known["family"] == "declared").sum())
    records: Sequence[Mapping[Any, Any]] = rows.to_dict("records")
    return [
        sentence(row, size, declared if row["family"] == "declared" else len(known)) if row["sentence"] else ""
        for row in records
    ]


def is_declared(findings: Findings) -> bool:
    """Whether the run declares its comparisons."""
    rows = pairs(findings)
    return bool(len(rows)) and bool((rows["family"] == "declared").any())
