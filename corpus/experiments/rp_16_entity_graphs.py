"""The entity graph as a ranking, alone and as a third list: hop, weight, and which questions name an entity.

``RANKPROOF_DATA=<data> python corpus/experiments/rp_16_entity_graphs.py [<artifacts folder>]`` writes
`corpus/sources/measured/rp-16.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rp_05_shared import opened, spread, values, write

from evaluation.judging import Judged, without_excluded
from ingestion.graph import GraphSpec, open_graph
from ingestion.graph_command import figures
from ingestion.linking import linked
from retrieval.build import build_strategy, strategy_config
from retrieval.fusers.rrf import Rrf
from retrieval.retrievers.graph import Graph
from retrieval.schema import Floats, Run
from retrieval.stage import Context, Fused, Retriever

COLLECTIONS = ("med", "cacm", "cranfield", "csfcube", "scifact", "npl", "clscisumm")
HOPS, WEIGHTS = (0.0, 0.25, 0.5, 1.0), (0.1, 0.25, 0.5)
METRICS = ("nDCG@5", "R@1", "R@100")
TOP = 10
SHOWN = ("third hop=0.5", "third weight=0.25", "third weight=0.1")


def arms() -> dict[str, Retriever]:
    """What is compared, by name: the lexical rankings, the graph alone, and the graph as a third list."""
    found = {name: build_strategy(strategy_config(name)) for name in ("bm25", "tfidf", "rrf")}
    third = build_strategy(strategy_config("rrf_graph"))
    assert isinstance(third, Fused)
    for hop in HOPS:
        found[f"alone hop={hop:g}"] = Graph(hop=hop)
        branches = tuple((name, Graph(hop=hop) if name == "graph" else part) for name, part in third.branches)
        found[f"third hop={hop:g}"] = replace(third, branches=branches)
    return found | {f"third weight={own:g}": replace(third, fuser=Rrf(weights=(("graph", own),))) for own in WEIGHTS}


def news(runs: Mapping[str, Run], judged: Judged) -> dict[str, int]:
    """Relevant chunks among the first 100 of the graph that neither BM25 nor TF-IDF has there."""
    relevant = judged.qrels.grade > 0
    wanted = set(zip(judged.qrels.query[relevant].tolist(), judged.qrels.chunk[relevant].tolist(), strict=True))
    has = {name: set(zip(run.query.tolist(), run.chunk.tolist(), strict=True)) for name, run in runs.items()}
    known = has["bm25"] | has["tfidf"]
    own = has["alone hop=0.5"]
    return {
        "relevant": len(wanted),
        "lexical": len(wanted & known),
        "graph": len(wanted & own),
        "new": len((wanted & own) - known),
        "brought": len(own - known),
    }


def tied(run: Run, n_queries: int) -> Floats:
    """Share of each question's first ranks whose score another ranked chunk has too; NaN without a ranking."""
    found = np.full(n_queries, np.nan)
    for row, (low, high) in enumerate(pairwise(run.bounds(n_queries).tolist())):
        if high > low:
            score = np.round(run.score[low:high], 9)
            kept, count = np.unique(score, return_counts=True)
            found[row] = (count[np.searchsorted(kept, score[:TOP])] > 1).mean()
    return found


def measured(ctx: Context, judged: Judged) -> dict[str, Any]:
    """The graph's figures, what questions name, metrics of all arms, and differences to RRF by entities named."""
    queries = judged.benchmark.queries
    graph = open_graph(ctx.corpus, GraphSpec(), ctx.store)
    pairs = np.unique(np.stack(linked(graph.linker, queries.query)), axis=1)
    named = np.bincount(pairs[0], minlength=len(queries))
    runs = {name: without_excluded(ctx.search(stage, queries), judged, ctx.depth) for name, stage in arms().items()}
    found = {name: values(run, judged, *METRICS) for name, run in runs.items()}
    groups = {"none": named == 0, "one": named == 1, "several": named > 1}
    flat = tied(ctx.search(Graph(), queries), len(queries))
    differences: dict[str, Any] = {"hop": spread(found["alone hop=0.5"][0] - found["alone hop=0"][0], judged)}
    for label in SHOWN:
        change = found[label] - found["rrf"]
        own = {metric: spread(change[row], judged) for row, metric in enumerate(METRICS)}
        own |= {group: spread(np.where(rows, change[0], np.nan), judged) for group, rows in groups.items()}
        differences[label] = own | {"gated": spread(np.where(named > 1, change[0], 0.0), judged)}
    return {
        "graph": {key: value for key, value in figures(graph).items() if key != "words"},
        "questions": len(queries),
        "entities": float(named.mean()),
        **{group: int(rows.sum()) for group, rows in groups.items()},
        "tied": {
            group: float(np.nanmean(flat[rows])) for group, rows in groups.items() if (rows & ~np.isnan(flat)).any()
        },
        "arms": {
            name: dict(zip(METRICS, np.nanmean(own, axis=1).tolist(), strict=True)) for name, own in found.items()
        },
        "differences": differences,
        "news": news(runs, judged),
    }


def measure(artifacts: Path) -> Mapping[str, Any]:
    """All collections."""
    return {collection: measured(*opened(collection, artifacts)) for collection in COLLECTIONS}


if __name__ == "__main__":
    write("rp-16", measure)
