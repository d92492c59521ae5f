"""`python -m evaluation.fairness`: how much each strategy owes to passages that were judged only because of it.

Leave-one-out after Zobel (SIGIR 1998), "How reliable are the results of large-scale information retrieval
experiments?": a strategy that had not contributed to the pool would be scored without its own finds. If that costs it
much, the judgments favour whoever was pooled.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.agreement.rank_correlation import PLACES
from evaluation.errors import EvaluationError, RequestError
from evaluation.grades import Credit, grade_matrix
from evaluation.metrics import Metric, evaluate, parse_metric
from evaluation.options import read_options, run_command
from evaluation.pool.pooling import pairs_of, top
from evaluation.replay import replay
from evaluation.schema import Longs, Qrels
from evaluation.table import as_text
from ingestion.config import nearest
from retrieval.schema import Run

USAGE = """usage: python -m evaluation.fairness runs=<results folder> [strategies=[bm25,rrf]] [k=5]
           [metric=nDCG@5] [artifacts=<folder>]

For every strategy: its score and rank, and both again without the judgments of passages that it alone had in its
top k. Strategies with the same ranking count as one. Close relatives keep each other's finds: name one of each family
with strategies=[...] to see what a newcomer would lose. Default metric: the primary one of the run."""
KEYS = ("runs", "strategies", "k", "metric", "artifacts")
COLUMNS = [
    "strategy", "unique", "unique_relevant", "n", "score", "n_without", "score_without", "change", "rank",
    "rank_without",
]  # fmt: skip


@dataclass(frozen=True)
class Scores:
    """Mean of a metric per strategy (NaN without a query that has a value), and over how many queries."""

    mean: Mapping[str, float]
    n: int

    def rank(self, name: str) -> int:
        """Place of a strategy by its mean, from 1; equal means share the better place."""
        own = self.mean[name]
        return 1 + sum(round(other, PLACES) > round(own, PLACES) for other in self.mean.values())


def leave_one_out(
    runs: Mapping[str, Run], qrels: Qrels, n_queries: int, metric: Metric, k: int, credit: Credit = "once"
) -> pd.DataFrame:
    """Every strategy with and without the judgments that it alone contributed.

    What counts as one judgment is a class of chunks that show the same span, or a chunk of grade 0. A strategy alone
    contributed it if no other has a chunk of it in its top k. Without it the ideal ranking changes for all, and a
    query that keeps nothing relevant leaves the means of all (`n_without`).

    Returns:
        Columns `COLUMNS`, best score first, ties by name; `unique` counts judged passages (chunks), `unique_relevant`
        those of grade 1 and up. `change` is `score_without - score`.

    Raises:
        EvaluationError: there is no run, or the metric reads texts, which judgments of chunks do not change.
    """
    if not runs:
        raise EvaluationError("no strategy has a ranking")
    if metric.row.over_grades is None:
        raise EvaluationError(f"metric={metric.name}: it reads judged spans; take one over grades, such as nDCG@5")
    now = _scores(runs, qrels, n_queries, metric, credit)
    seen = {name: _judgments(top(run, k), qrels) for name, run in runs.items()}
    rows = []
    for name in runs:
        others = np.concatenate([np.zeros(0, dtype=np.int64), *(seen[other] for other in runs if other != name)])
        alone = np.isin(_identities(qrels), np.setdiff1d(seen[name], others))
        found = alone & np.isin(pairs_of(qrels.query, qrels.chunk), top(runs[name], k))
        without = _scores(runs, _only(qrels, ~alone), n_queries, metric, credit)
        rows.append(
            {
                "strategy": name,
                "unique": int(found.sum()),
                "unique_relevant": int((found & (qrels.grade > 0)).sum()),
                "n": now.n,
                "score": now.mean[name],
                "n_without": without.n,
                "score_without": without.mean[name],
                "change": without.mean[name] - now.mean[name],
                "rank": now.rank(name),
                "rank_without": without.rank(name),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS).sort_values(["score", "strategy"], ascending=[False, True])


def main(arguments: Sequence[str]) -> int:
    """Print the table; returns the exit code."""
    return run_command("fairness", USAGE, arguments, _act)


def _act(arguments: Sequence[str]) -> int:
    options = read_options(arguments, KEYS)
    folder, k = Path(options.required("runs", "<results folder>")), options.number("k", 5)
    moved = {"artifacts": options.values["artifacts"]} if "artifacts" in options.values else {}
    for part in replay(folder, moved, same_judgments=False):
        names = options.names("strategies")
        for name in names:
            if name not in part.runs:
                raise RequestError(f"strategies: {name!r} has no ranking in this run{nearest(name, part.runs)}")
        settings = part.request.evaluation
        metric = parse_metric(options.values.get("metric", str(settings["primary"])))
        runs, twins = distinct({name: part.runs[name] for name in names or part.runs})
        n_queries = len(part.judged.benchmark.queries)
        found = leave_one_out(runs, part.judged.qrels, n_queries, metric, k, settings["credit"])
        _show(found, twins, metric.name, k)
    return 0


def distinct(runs: Mapping[str, Run]) -> tuple[dict[str, Run], list[str]]:
    """The runs with different rankings, and a sentence for every one that equals an earlier one."""
    first: dict[str, str] = {}
    for name, run in runs.items():
        first.setdefault(run.fingerprint, name)
    twins = [
        f"{name} has the same ranking as {first[run.fingerprint]}"
        for name, run in runs.items()
        if first[run.fingerprint] != name
    ]
    return {name: runs[name] for name in first.values()}, twins


def _show(found: pd.DataFrame, twins: Sequence[str], metric: str, k: int) -> None:
    cells = found.astype(object)
    for column in ("score", "score_without"):
        cells[column] = found[column].map("{:.3f}".format)
    cells["change"] = found["change"].map("{:+.3f}".format)
    print(as_text(cells.rename(columns=lambda column: column.replace("_", " "))))
    moved = found[found["rank"] != found["rank_without"]]["strategy"]
    print(f"score: {metric}; unique: judged passages in the top {k} of this strategy alone")
    print("\n".join([*twins, f"another rank without its own finds: {', '.join(moved) or 'none'}"]))


def _scores(runs: Mapping[str, Run], qrels: Qrels, n_queries: int, metric: Metric, credit: Credit) -> Scores:
    """Means over the queries that have a relevant judgment."""
    values = {name: evaluate(grade_matrix(run, qrels, n_queries, credit), [metric])[0] for name, run in runs.items()}
    valid = ~np.isnan(next(iter(values.values())))
    n = int(valid.sum())
    return Scores({name: float(value[valid].mean()) if n else float("nan") for name, value in values.items()}, n)


def _identities(qrels: Qrels) -> Longs:
    """What a row judges, int64 [n_rows]: a class of its query, or for grade 0 its chunk; the two never meet."""
    grouped = qrels.group >= 0
    own = np.where(grouped, 2 * qrels.group.astype(np.int64), 2 * qrels.chunk.astype(np.int64) + 1)
    return qrels.query.astype(np.int64) << 33 | own


def _judgments(pairs: Longs, qrels: Qrels) -> Longs:
    """Identities of what is judged among the pairs."""
    return np.unique(_identities(qrels)[np.isin(pairs_of(qrels.query, qrels.chunk), pairs)])


def _only(qrels: Qrels, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Qrels:
    """The judgments at `keep`."""
    return replace(
        qrels,
        query=qrels.query[keep],
        chunk=qrels.chunk[keep],
        grade=qrels.grade[keep],
        group=qrels.group[keep],
        parts=qrels.parts[keep],
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
