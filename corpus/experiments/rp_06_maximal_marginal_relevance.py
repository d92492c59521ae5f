"""MMR behind BM25, behind linear fusion and behind rank fusion, and MMR whose first chunk is taken away afterwards.

``RANKPROOF_DATA=<data> python corpus/experiments/rp_06_maximal_marginal_relevance.py [<artifacts folder>]``
writes `corpus/sources/measured/rp-06.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rp_05_shared import opened, spread, values, write

from evaluation.judging import Judged, without_excluded
from retrieval.build import build_strategy, strategy_config
from retrieval.rerankers.mmr import Mmr
from retrieval.retrievers.tfidf import chunk_vectors
from retrieval.schema import Run, make_run
from retrieval.stage import Context

COLLECTIONS = ("med", "cacm", "cranfield", "scifact")
FIRST = ("bm25", "linear_0.3", "rrf")
LAMBDAS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
POOLS = (10, 20, 50, 100)
METRICS = ("nDCG@5", "R@1", "R@5")
TOP, LAM, POOL = 5, 0.7, 50


def tops(run: Run, n_queries: int) -> list[set[int]]:
    """The chunks of the first ranks of every query."""
    head = run.rank <= TOP
    found: list[set[int]] = [set() for _ in range(n_queries)]
    for query, chunk in zip(run.query[head].tolist(), run.chunk[head].tolist(), strict=True):
        found[query].add(chunk)
    return found


def likeness(ctx: Context, chosen: list[set[int]]) -> float:
    """Mean cosine between two chunks of a top, over all queries."""
    vectors, found = chunk_vectors(ctx), []
    for chunks in chosen:
        rows = vectors[sorted(chunks)]
        found += (rows @ rows.T).toarray()[np.triu_indices(len(chunks), 1)].tolist()
    return float(np.mean(found))


def lead(run: Run, n_queries: int) -> float:
    """Median lead of the first rank over the second, as a share of the range of the pool."""
    found = []
    for low, high in pairwise(run.bounds(n_queries).tolist()):
        score = run.score[low : min(high, low + POOL)]
        if len(score) > 1 and score[0] > score[-1]:
            found.append((score[0] - score[1]) / (score[0] - score[-1]))
    return float(np.median(found))


def behind(ctx: Context, judged: Judged, name: str) -> Mapping[str, Any]:
    """MMR behind one ranking: differences to it with intervals, chunks exchanged in the top, and their likeness."""
    queries = judged.benchmark.queries
    run = ctx.search(build_strategy(strategy_config(name)), queries)
    plain, before = values(run, judged, *METRICS), tops(run, len(queries))
    found: dict[str, Any] = {"lead": lead(run, len(queries)), "likeness": likeness(ctx, before)}
    settings = [(f"lam={lam:g}", Mmr(lam, POOL)) for lam in LAMBDAS] + [(f"pool={p}", Mmr(LAM, p)) for p in POOLS]
    for label, mmr in settings:
        moved = mmr.rerank(ctx, queries, run)
        change, after = values(moved, judged, *METRICS) - plain, tops(moved, len(queries))
        found[label] = {
            "nDCG@5": spread(change[0], judged),
            "R@1": float(np.nanmean(change[1])),
            "exchanged": float(np.mean([len(a - b) for a, b in zip(before, after, strict=True)])),
            "likeness": likeness(ctx, after),
        }
    return found


def phantom(ctx: Context, judged: Judged) -> Mapping[str, Any]:
    """Query by example: the question's own document taken out behind MMR (late), or before it (early)."""
    queries, exclude = judged.benchmark.queries, judged.benchmark.exclude
    run = ctx.search(build_strategy(strategy_config("rrf")), queries)
    owner = ctx.corpus.column("doc_id")[run.chunk]
    own = np.asarray([doc in exclude.get(queries.qid[row], ()) for row, doc in zip(run.query, owner, strict=True)])
    early = make_run(run.query[~own], run.chunk[~own], run.score[~own], ctx.depth)
    plain, found = values(early, judged, *METRICS), {}
    for lam in LAMBDAS:
        after = without_excluded(Mmr(lam).rerank(ctx, queries, run), judged, ctx.depth)
        late, before = values(after, judged, *METRICS), values(Mmr(lam).rerank(ctx, queries, early), judged, *METRICS)
        for when, change in (("late", late - plain), ("early", before - plain), ("early - late", before - late)):
            figures = {metric: spread(change[row], judged) for row, metric in enumerate(METRICS)}
            found.setdefault(f"lam={lam:g}", {})[when] = figures
    return {"leads": int((own & (run.rank == 1)).sum()), "questions": len(queries), **found}


def measure(artifacts: Path) -> Mapping[str, Any]:
    """All collections."""
    found: dict[str, Any] = {}
    for collection in COLLECTIONS:
        ctx, judged = opened(collection, artifacts)
        found[collection] = {name: behind(ctx, judged, name) for name in FIRST}
        found[collection]["questions"] = len(judged.benchmark.queries)
    return {**found, "csfcube": phantom(*opened("csfcube", artifacts))}


if __name__ == "__main__":
    write("rp-06", measure)
