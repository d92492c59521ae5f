"""Louvain communities of entity graphs: sizes, modularity against a null graph, agreement of seeds, use in retrieval.

``RANKPROOF_DATA=<data> python corpus/experiments/rp_17_community_detection.py [<artifacts folder>]`` writes
`corpus/sources/measured/rp-17.json`. Seconds are those of one run on one machine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from rp_05_shared import opened, spread, values, write
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from evaluation.judging import Judged, without_excluded
from ingestion.communities import louvain
from ingestion.graph import GraphSpec, KnowledgeGraph, adjacency, open_graph
from ingestion.linking import linked
from retrieval.retrievers.graph import Graph
from retrieval.stage import Context

COLLECTIONS = ("med", "cacm", "cranfield", "csfcube", "clscisumm")
SEEDS, RESOLUTIONS, NULLS = range(10), (0.25, 0.5, 1.0, 2.0, 4.0, 8.0), range(3)
Labels = np.ndarray[Any, Any]


def drawn(weights: csr_array, seed: int, by: str) -> csr_array:
    """A null graph: who is joined to whom is drawn.

    By `strength`: every node keeps the sum of its weights, by `degree` its number of neighbours, and weights are
    drawn from the real ones (both but for loops and repeats).
    """
    rng = np.random.default_rng(seed)
    ends = np.diff(weights.indptr) if by == "degree" else np.asarray(weights.sum(axis=1), np.int64).reshape(-1)
    stubs = rng.permutation(np.repeat(np.arange(len(ends)), ends))
    pairs, count = np.unique(
        np.sort(stubs[: 2 * (len(stubs) // 2)].reshape(-1, 2), axis=1), axis=0, return_counts=True
    )
    apart = pairs[:, 0] != pairs[:, 1]
    own = rng.choice(weights.data, size=len(pairs)) if by == "degree" else count.astype(np.float64)
    return adjacency(pairs[apart, 0], pairs[apart, 1], own[apart], weights.shape[0])


def shape(community: Labels) -> dict[str, float]:
    """Communities of at least two nodes, the share of nodes in the largest, and the median size."""
    sizes = np.bincount(community)
    sizes = sizes[sizes > 1]
    return {
        "communities": len(sizes),
        "largest": float(sizes.max() / len(community)),
        "median": float(np.median(sizes)),
    }


def agreement(found: list[Labels], joined: Labels) -> dict[str, list[float]]:
    """Adjusted Rand index and NMI of every pair of seeds, over nodes with an edge: least, mean, greatest."""
    pairs = [(a[joined], b[joined]) for a, b in combinations(found, 2)]
    scores = {
        "ari": [adjusted_rand_score(a, b) for a, b in pairs],
        "nmi": [normalized_mutual_info_score(a, b) for a, b in pairs],
    }
    return {name: [float(f(values)) for f in (np.min, np.mean, np.max)] for name, values in scores.items()}


def edges(found: list[Labels], weights: csr_array) -> dict[str, float]:
    """Shares of edges whose ends are together in all seeds, in some, in none."""
    head, tail = weights.nonzero()
    together = np.mean([labels[head] == labels[tail] for labels in found], axis=0)
    return {
        "always": float((together == 1).mean()),
        "sometimes": float(((together > 0) & (together < 1)).mean()),
        "never": float((together == 0).mean()),
    }


def documents(graph: KnowledgeGraph, ctx: Context) -> float:
    """Share of entities whose main document is the commonest one of their community."""
    owner = np.unique(ctx.corpus.column("doc_id").astype(str), return_inverse=True)[1]
    held = np.zeros((len(graph), owner.max() + 1), dtype=np.int64)
    node = np.repeat(np.arange(len(graph)), np.diff(graph.mentions.indptr))
    np.add.at(held, (node, owner[graph.mentions.indices]), graph.mentions.data)
    main = held.argmax(axis=1)
    community = graph.nodes["community"].to_numpy()
    table = np.zeros((community.max() + 1, main.max() + 1), dtype=np.int64)
    np.add.at(table, (community, main), 1)
    big = table.sum(axis=1) > 1
    return float(table[big].max(axis=1).sum() / table[big].sum())


def retrieval(ctx: Context, judged: Judged, graph: KnowledgeGraph) -> dict[str, Any]:
    """nDCG@5 of the three ways to ask the graph, for questions that name an entity and for those that do not."""
    queries = judged.benchmark.queries
    known = np.zeros(len(queries), dtype=np.bool_)
    known[linked(graph.linker, queries.query)[0]] = True
    ways = {"local": Graph(), "global": Graph(mode="global"), "fallback": Graph(fallback="community")}
    found: dict[str, Any] = {"known": int(known.sum()), "unknown": int((~known).sum())}
    for name, stage in ways.items():
        own = values(without_excluded(ctx.search(stage, queries), judged, ctx.depth), judged, "nDCG@5")[0]
        parts = {"all": own, "known": np.where(known, own, np.nan), "unknown": np.where(known, np.nan, own)}
        found |= {f"{name} {part}": spread(series, judged) for part, series in parts.items()}
    return found


def measured(ctx: Context, judged: Judged) -> dict[str, Any]:
    """All figures of one collection."""
    graph = open_graph(ctx.corpus, GraphSpec(), ctx.store)
    weights = graph.adjacency
    joined = np.diff(weights.indptr) > 0
    started = time.perf_counter()
    runs = [louvain(weights, 1.0, seed) for seed in SEEDS]
    seconds = (time.perf_counter() - started) / len(SEEDS)
    null = {by: [louvain(drawn(weights, seed, by), 1.0, seed)[1] for seed in NULLS] for by in ("degree", "strength")}
    sweep = {f"{at:g}": louvain(weights, at, 0) for at in RESOLUTIONS}
    parts = sorted((len(part) for part in nx.connected_components(nx.from_scipy_sparse_array(weights))), reverse=True)
    return {
        "nodes": len(graph),
        "joined": int(joined.sum()),
        "pairs": weights.nnz // 2,
        "giant": parts[0] / len(graph),
        "hub": float(weights.sum(axis=1).max() / (weights.sum() / 2)),
        "seconds": round(seconds, 2),
        "modularity": [min(q for _, q in runs), float(np.mean([q for _, q in runs])), max(q for _, q in runs)],
        "null": {by: float(np.mean(found)) for by, found in null.items()},
        "shape": shape(runs[0][0]),
        "agreement": agreement([labels for labels, _ in runs], joined),
        "edges": edges([labels for labels, _ in runs], weights),
        "resolution": {at: shape(labels) | {"modularity": q} for at, (labels, q) in sweep.items()},
        "documents": documents(graph, ctx) if len(set(ctx.corpus.column("doc_id"))) < len(ctx.corpus) else None,
        "n_documents": len(set(ctx.corpus.column("doc_id"))),
        "retrieval": retrieval(ctx, judged, graph),
    }


def measure(artifacts: Path) -> Mapping[str, Any]:
    """All collections."""
    return {collection: measured(*opened(collection, artifacts)) for collection in COLLECTIONS}


if __name__ == "__main__":
    write("rp-17", measure)
