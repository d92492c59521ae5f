"""`python -m evaluation.pool`: what nobody has judged yet goes into a file for people, and judgments come back."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from evaluation.errors import RequestError
from evaluation.judging import Judged, without_excluded
from evaluation.options import Options, read_options, run_command
from evaluation.pool import pooling
from evaluation.pool.file import Passage, PoolError, write_pool
from evaluation.pool.importing import import_judgments
from evaluation.replay import Replay, replay
from evaluation.schema import Longs
from evaluation.table import as_text
from evaluation.trec import read_run
from ingestion.config import nearest
from retrieval.schema import Run

USAGE = """usage: python -m evaluation.pool runs=<results folder> [strategies=[bm25,rrf]] [k=5] [unjudged=true]
           [out=pool.jsonl|pool.csv] [outside.<name>=<run.trec>] [artifacts=<folder>]
       python -m evaluation.pool import=<judgments> into=<folder or questions.jsonl> [source=hand] [replace=false]
           [runs=<results folder> | corpus.path=<folder>]

The first form unites the top k of the runs per question, in blind order, one passage a row. Only passages that
nobody has judged are listed; unjudged=false lists all of them, without their grades, for a second judge. Grade them
0 to 3 in the file, or with `python -m evaluation.judge pool.jsonl`.

The second form adds the judgments to a benchmark's evidence. Nothing is written if any row is refused: an unknown
question, a wrong grade, a quote that is not in the corpus, another grade of the same source for the same span (given
replace=true it takes the old one's place). Rows without a grade are left out, and so is what is there already.

Scores of strategies without the passages that only they contributed: python -m evaluation.fairness"""
POOL_KEYS = ("runs", "strategies", "k", "out", "unjudged", "outside.", "artifacts")


def main(arguments: Sequence[str]) -> int:
    """Write a pool or import judgments; returns the exit code (1 refused rows, 2 a wrong request)."""
    return run_command("pool", USAGE, arguments, _act)


def _act(arguments: Sequence[str]) -> int:
    if any(argument.startswith("import=") for argument in arguments):
        return import_judgments(arguments)
    return write(read_options(arguments, POOL_KEYS))


def write(options: Options) -> int:
    """Write the passages of the chosen runs and say what judging them brings."""
    folder = Path(options.required("runs", "<results folder>"))
    out, k = Path(options.values.get("out", "pool.jsonl")), options.number("k", 5)
    if out.suffix not in (".jsonl", ".csv"):
        raise RequestError(f"out={out}: must end in .jsonl or .csv")
    moved = {"artifacts": options.values["artifacts"]} if "artifacts" in options.values else {}
    only_new = options.flag("unjudged", True)
    rows, shares, foreign = [], [], 0
    parts = replay(folder, moved, same_judgments=False)
    for part in parts:
        runs = chosen(part, options.names("strategies"), options.below("outside."), k)
        pairs = pooling.pool(runs, k)
        listed = pooling.unjudged(pairs, part.judged.qrels) if only_new else pairs
        shares.append(_shares(part, runs, pairs, k))
        rows.append(pooling.passages(listed, part.judged))
        foreign += len(listed) - len(rows[-1])
    found = pooling.united(rows)
    if found:
        write_pool(out, found)
    print(as_text(pd.concat(shares)))
    _say(out, found, only_new, foreign, by_document=parts[0].judged.spans is None)
    return 0


def chosen(part: Replay, names: Sequence[str], outside: Mapping[str, str], k: int) -> dict[str, Run]:
    """The rankings to pool: all of the run's or the named ones, and files from elsewhere.

    Raises:
        RequestError: a strategy did not run, or a file is not there.
        PoolError: the collection has no texts to read.
    """
    if part.judged.corpus is None:
        raise PoolError("this run judged ids alone and has no texts; run a strategy over the corpus")
    for name in names:
        if name not in part.runs:
            raise RequestError(f"strategies: {name!r} has no ranking in this run{nearest(name, part.runs)}")
    runs = {name: part.runs[name] for name in names or part.runs}
    for name, path in outside.items():
        if not Path(path).is_file():
            raise RequestError(f"outside.{name}: no file {path}")
        runs[name] = _outside(Path(path), part.judged, k)
    return runs


def _outside(path: Path, judged: Judged, k: int) -> Run:
    row_of = {str(name): row for row, name in enumerate(judged.ids)}
    run, _ = read_run(path).to_run(judged.benchmark.queries.qid, row_of)
    return without_excluded(run, judged, k)


def _shares(part: Replay, runs: Mapping[str, Run], pairs: Longs, k: int) -> pd.DataFrame:
    """Judged@k of every run of the folder, now and once the pool is judged, as text."""
    judged, n_queries = part.judged, len(part.judged.benchmark.queries)
    after = pooling.with_pool(pairs, judged, float(part.request.evaluation["min_coverage"]))
    everyone = {**part.runs, **runs}
    now, then = (pooling.judged_shares(everyone, qrels, n_queries, k) for qrels in (judged.qrels, after))
    new = {name: len(pooling.unjudged(pooling.top(run, k), judged.qrels)) for name, run in everyone.items()}
    rows = [
        {
            "strategy": name,
            "pooled": "yes" if name in runs else "no",
            f"unjudged in top {k}": str(new[name]),
            f"Judged@{k}": f"{now[name]:.3f}",
            "once judged": f"{then[name]:.3f}",
        }
        for name in everyone
    ]
    return pd.DataFrame(rows)


def _say(out: Path, found: Sequence[Passage], only_new: bool, foreign: int, by_document: bool) -> None:
    questions = len({row.qid for row in found})
    what = "to judge" if only_new else "to judge again, grades hidden"
    if foreign:
        print(f"{foreign} ranked ids have no text in the corpus and cannot be judged")
    if not found:
        print("nothing to judge: every passage has a judgment already; no file was written")
        return
    words = int(np.median([len(row.quote.split()) for row in found]))
    print(f"{out}: {questions} questions, {len(found)} passages {what} (median {words} words)")
    print(f"judge them with `python -m evaluation.judge {out}`")
    if by_document:
        print(
            "this collection is judged by document: the grades belong into its qrels file, import= takes spans only"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
