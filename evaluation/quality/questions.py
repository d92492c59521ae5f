"""The questions of a benchmark: how many of which kind, and how much they repeat the words of their evidence."""

from __future__ import annotations

from collections import defaultdict

import pandas as pd

from evaluation.schema import Benchmark
from evaluation.wording import shared_words

ANSWERS = 2  # from this grade on a passage answers, at least in part
COLUMNS = ["qid", "kind", "split", "cluster", "shared"]


def wording(benchmark: Benchmark) -> pd.DataFrame:
    """One row per question; columns `COLUMNS`.

    `shared` is the share of the question's content words that its answering evidence (grade 2 and up) holds; NaN for
    a question without any.
    """
    quotes: dict[str, list[str]] = defaultdict(list)
    for row in benchmark.evidence:
        if row.grade >= ANSWERS:
            quotes[row.qid].append(row.quote)
    queries = benchmark.queries
    rows = zip(queries.qid, queries.query, queries.kind, queries.split, queries.cluster, strict=True)
    return pd.DataFrame(
        [
            (qid, kind, split, cluster, shared_words(text, quotes[qid]) if quotes[qid] else float("nan"))
            for qid, text, kind, split, cluster in rows
        ],
        columns=COLUMNS,
    )


def by_kind(words: pd.DataFrame) -> pd.DataFrame:
    """One row per kind: questions of every split, mean and largest share of common words."""
    counts = words.pivot_table(index="kind", columns="split", values="qid", aggfunc="count", fill_value=0)
    shares = words.groupby("kind")["shared"].agg(["mean", "max"])
    return counts.join(shares).reset_index()
