"""`python -m evaluation.explain`: why a strategy scores as it does, from the files of a results folder.

Where evidence was lost, what the top of the rankings holds, and in which queries two strategies differ.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from evaluation.errors import RequestError
from evaluation.explain.diagnosis import FOUND, STAGES, waterfall
from evaluation.explain.flips import check_name, flips, paired, side_by_side
from evaluation.metrics import looked_at, parse_metric
from evaluation.options import run_command
from evaluation.table import as_text, not_run
from ingestion.config import nearest, whole_number

USAGE = """\
usage: python -m evaluation.explain run=<results folder> [a=<strategy> b=<strategy>] [qid=<id>] [metric=nDCG@5] [n=10]

run=<folder>            where evidence was lost, strategy by strategy; duplicates, unjudged and truncated chunks; the
                        values by kind of question
... a=<one> b=<other>   wins, ties and losses of a against b, and the n queries in which they differ most
... a= b= qid=<id>      both rankings of one query side by side, and where its evidence was lost
... qid=<id>            where every strategy lost the evidence of one query

metric: one that the run measured; default: the primary one. Everything is read from the folder; nothing is run.
"""
KEYS = ("run", "a", "b", "qid", "metric", "n")
TABLES = ("losses", "shares", "kinds", "questions", "shown", "passages", "per_query")
WIDE = 160  # characters of a line at most


@dataclass(frozen=True)
class Asked:
    """What was typed; empty: not given."""

    run: str
    a: str = ""
    b: str = ""
    qid: str = ""
    metric: str = ""
    n: int = 10


@dataclass(frozen=True)
class Results:
    """What a results folder says; the tables are those of `evaluation.findings.Findings`."""

    primary: str
    arms: dict[str, dict[str, Any]]
    losses: pd.DataFrame
    shares: pd.DataFrame
    kinds: pd.DataFrame
    questions: pd.DataFrame
    shown: pd.DataFrame
    passages: pd.DataFrame
    per_query: pd.DataFrame

    @property
    def k(self) -> int:
        """The ranks that the diagnosis looked at: the primary metric's cutoff, else 5."""
        return looked_at(self.primary)

    def question(self, qid: str) -> str:
        """The text of a question.

        Raises:
            RequestError: there is no such question; the message offers the nearest id.
        """
        check_name("qid", qid, self.questions["qid"])
        return str(self.questions.set_index("qid").loc[qid, "query"])


def main(arguments: Sequence[str]) -> int:
    """Explain a run; returns the exit code (0, or 2 for a wrong request)."""
    return run_command("explain", USAGE, arguments, _run)


def _run(arguments: Sequence[str]) -> int:
    asked = read_arguments(arguments)
    print(explain(read_results(Path(asked.run)), asked))
    return 0


def read_arguments(arguments: Sequence[str]) -> Asked:
    """What was typed, checked.

    Raises:
        RequestError, MetricError, ConfigError: an unknown key or metric, no `run=`, one strategy without the other,
            or n is no number.
    """
    given: dict[str, str] = {}
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if key not in KEYS or not sign:
            raise RequestError(f"unknown argument {argument!r}{nearest(key, KEYS)}")
        given[key] = value
    if not given.get("run"):
        raise RequestError("run=<results folder> is missing; it is the last line that run_eval.py prints")
    if bool(given.get("a")) != bool(given.get("b")):
        raise RequestError("a= and b= go together: name two strategies")
    if given.get("metric"):
        given["metric"] = parse_metric(given["metric"]).name
    n = whole_number("n", given.pop("n", "10"))
    return Asked(**given, n=n)


def read_results(folder: Path) -> Results:
    """Read a results folder.

    Raises:
        RequestError: it is no results folder, or one that was written before there were these tables.
    """
    if not (folder / "manifest.json").is_file():
        raise RequestError(f"run={folder}: no results here (there is no manifest.json)")
    missing = [name for name in TABLES if not (folder / f"{name}.parquet").is_file()]
    if missing:
        raise RequestError(f"run={folder}: no {missing[0]}.parquet; an older version wrote this: run it again")
    try:
        tables = {name: pd.read_parquet(folder / f"{name}.parquet") for name in TABLES}
        primary = str(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["primary"])
        arms = json.loads((folder / "arms.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise RequestError(f"run={folder}: cannot be read: {type(error).__name__}: {error}") from error
    return Results(primary, arms, **tables)


def explain(results: Results, asked: Asked) -> str:
    """The answer to what was asked, as text.

    Raises:
        RequestError: no such strategy, metric or query; the message offers the nearest one.
    """
    for name in (asked.a, asked.b):
        if name:
            _check_strategy(results, name)
    if asked.a and asked.qid:
        return _one_query(results, asked)
    if asked.a:
        return _two_strategies(results, asked)
    if asked.qid:
        question = results.question(asked.qid)
        return (
            f"{asked.qid}: {question}\n\n{_evidence(results, asked.qid, list(results.losses['strategy'].unique()))}"
        )
    return _whole_run(results, asked)


def _check_strategy(results: Results, name: str) -> None:
    arm = results.arms.get(name)
    if arm is None:
        raise RequestError(f"strategy {name!r} is not in these results{nearest(name, results.arms)}")
    if arm["state"] != "ran":
        raise RequestError(f"strategy {name!r} {arm['state']}: {arm['reason']}")


def _whole_run(results: Results, asked: Asked) -> str:
    metric = asked.metric or results.primary
    check_name("metric", metric, results.per_query["metric"])
    blocks = [
        f"Where evidence was lost: pieces of relevant evidence and their share; looked at: the top {results.k}\n\n"
        + _waterfall(results.losses),
        f"The top {results.k} of all rankings\n\n" + _shares(results.shares),
    ]
    if len(results.kinds):
        blocks.append(f"{metric} by kind of question\n\n" + _kinds(results.kinds, metric))
    blocks.append("\n".join(not_run(results.arms)))
    return "\n\n".join(block for block in blocks if block)


def _two_strategies(results: Results, asked: Asked) -> str:
    """Wins, ties and losses, and the queries that differ most."""
    a, b, metric = asked.a, asked.b, asked.metric or results.primary
    both = paired(results.per_query, metric, a, b)
    wins, losses = int((both["diff"] > 0).sum()), int((both["diff"] < 0).sum())
    head = (
        f"{a} against {b} by {metric}: {wins} wins, {len(both) - wins - losses} ties, {losses} losses "
        f"in {len(both)} questions; mean difference {both['diff'].mean():+.3f}"
    )
    found = flips(results.per_query, metric, a, b)
    if found.empty:
        return f"{head}\nno question in which they differ"
    texts = results.questions.set_index("qid")["query"]
    rows = [
        {
            "qid": row["qid"],
            a: f"{row['a']:.3f}",
            b: f"{row['b']:.3f}",
            "difference": f"{row['diff']:+.3f}",
            "question": str(texts[row["qid"]])[: _width() // 2],
        }
        for row in found.head(asked.n).to_dict("records")
    ]
    tail = f"qid={found['qid'][0]} shows both rankings of a question with their texts"
    return f"{head}\n\n{as_text(pd.DataFrame(rows))}\n\n{tail}"


def _one_query(results: Results, asked: Asked) -> str:
    """Both rankings of a query, its values, and where its evidence was lost."""
    a, b, qid, metric = asked.a, asked.b, asked.qid, asked.metric or results.primary
    question = results.question(qid)
    both = paired(results.per_query, metric, a, b).set_index("qid")
    values = (
        f"{metric}: {both['a'][qid]:.3f} and {both['b'][qid]:.3f}" if qid in both.index else f"{metric}: no value"
    )
    columns = side_by_side(results.shown, results.passages, qid, a, b, results.k, asked.n, _width())
    return f"{qid}: {question}\n{values}\n\n{columns}\n\n{_evidence(results, qid, [a, b])}"


def _evidence(results: Results, qid: str, strategies: Sequence[str]) -> str:
    """What became of each piece of a query's relevant evidence, by strategy."""
    rows = results.losses[(results.losses["qid"] == qid) & results.losses["strategy"].isin(list(strategies))]
    if rows.empty:
        return "no relevant evidence is judged for this question"
    cells = [
        {
            "strategy": row["strategy"],
            "evidence": row["evidence"],
            "grade": row["grade"],
            "best rank": row["best_rank"] or "-",
            "final rank": row["final_rank"] or "-",
            "became": row["stage"] + (f" ({row['path']})" if row["path"] else ""),
        }
        for row in rows.to_dict("records")
    ]
    head = f"What became of its evidence; looked at: the top {results.k}; best rank: in any list on the way"
    return f"{head}\n\n{as_text(pd.DataFrame(cells))}"


def _waterfall(losses: pd.DataFrame) -> str:
    """One row per strategy; a stage that lost nothing anywhere has no column."""
    if losses.empty:
        return "no relevant evidence is judged"
    counts = waterfall(losses)
    lost = counts.groupby("stage")["n"].sum()
    stages = [stage for stage in STAGES if lost[stage] or stage == FOUND]
    cells = [f"{row['n']} {row['share']:4.0%}" if row["n"] else "-" for row in counts.to_dict("records")]
    return as_text(_crossed(counts.assign(cell=cells), "stage", stages))


def _shares(shares: pd.DataFrame) -> str:
    cells = [f"{row['value']:.1%} ({row['count']} of {row['total']})" for row in shares.to_dict("records")]
    return as_text(_crossed(shares.assign(cell=cells), "share", list(shares["share"].unique())))


def _kinds(kinds: pd.DataFrame, metric: str) -> str:
    """One row per strategy and one column per kind; below, what the intervals cannot bear."""
    rows = kinds[kinds["metric"] == metric]
    names = sorted(rows["kind"].unique())
    cells = [f"{row['mean']:.3f} [{row['lo']:.3f} {row['hi']:.3f}]" for row in rows.to_dict("records")]
    text = as_text(_crossed(rows.assign(cell=cells), "kind", names))
    notes = rows.groupby("kind").agg({"n": "max", "clusters": "max", "note": "max"}).to_dict("index")
    lines = [
        f"{name}: {said['n']} questions of {said['clusters']} documents"
        + (f"; {said['note']}" if said["note"] else "")
        for name, said in notes.items()
    ]
    return "\n".join([text, "", *lines])


def _crossed(cells: pd.DataFrame, by: str, names: Sequence[str]) -> pd.DataFrame:
    """A row per strategy in its order, a column per name; `-` where there is no cell."""
    table = cells.pivot_table(index="strategy", columns=by, values="cell", aggfunc="first")
    return table.reindex(index=cells["strategy"].unique(), columns=list(names)).fillna("-").reset_index()


def _width() -> int:
    return min(WIDE, max(80, shutil.get_terminal_size((WIDE, 40)).columns))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
