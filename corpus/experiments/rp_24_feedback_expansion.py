"""RP-TR-24: RM3 feedback over BM25 on public collections: means, winners and losers, and what short documents do.

    RANKPROOF_DATA=<folder> python corpus/experiments/rp_24_feedback_expansion.py [artifact folder]

Writes `corpus/sources/measured/rp-24.json`. `long` takes feedback only from documents of at least 20 terms; `known`
takes it from the judged relevant ones among the first ten, and is a ceiling that no system can reach: it is scored on
the documents it was told about.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rp_13_shared import Collection, artifacts, holm, means, paired, write
from scipy.stats import spearmanr

from retrieval.rerankers.prf import Prf
from retrieval.retrievers.bm25 import Bm25
from retrieval.retrievers.tfidf import chunk_vectors
from retrieval.schema import Floats, Run, make_run

SEED = 24
NAMES = ("med", "cacm", "cranfield", "npl")
METRICS = ("nDCG@5", "R@100", "AP")
SWEEPS: dict[str, tuple[float, ...]] = {
    "docs": (1, 3, 5, 10, 20),
    "terms": (5, 10, 20, 50, 100),
    "weight": (0.1, 0.3, 0.5, 0.7, 0.9),
    "max_share": (0.1, 0.2, 0.5, 1.0),
}
HEAD, SHORT = 10, 20
BINS = ((0, 1), (2, 3), (4, 10))


def only(run: Run, kept: npt.NDArray[np.bool_]) -> Run:
    """The ranking without what is not kept, ranks closed up."""
    return make_run(run.query[kept], run.chunk[kept], run.score[kept], 100)


def hits(collection: Collection, run: Run) -> npt.NDArray[np.bool_]:
    """Which rows of a run are relevant."""
    q = collection.qrels
    relevant = {(a, b) for a, b, g in zip(q.query.tolist(), q.chunk.tolist(), q.grade.tolist(), strict=True) if g > 0}
    return np.asarray([pair in relevant for pair in zip(run.query.tolist(), run.chunk.tolist(), strict=True)])


def agreement(collection: Collection, run: Run) -> Floats:
    """Mean TF-IDF cosine between the feedback documents of every question."""
    vectors, found = chunk_vectors(collection.ctx), []
    for query in range(len(collection.queries)):
        rows = run.chunk[(run.query == query) & (run.rank <= HEAD)]
        cosines = (vectors[rows] @ vectors[rows].T).toarray()
        found.append((cosines.sum() - len(rows)) / (len(rows) * (len(rows) - 1)))
    return np.asarray(found)


def flooding(collection: Collection, run: Run) -> dict[str, float]:
    """How many feedback documents are shorter than `SHORT` terms, and which share of the added weight is theirs."""
    lengths, counts = np.diff(collection.terms.offsets), collection.terms.counts
    stage, shares = Prf(), []
    added = stage._best(stage.relevance(collection.terms, run, len(collection.queries)), collection.terms)
    head = run.rank <= HEAD
    for query in range(len(collection.queries)):
        mine = head & (run.query == query)
        chosen = added.indices[added.indptr[query] : added.indptr[query + 1]]
        weight = counts[run.chunk[mine]][:, chosen].sum(axis=1) / np.maximum(1, lengths[run.chunk[mine]])
        weight = weight * run.score[mine]
        shares.append(weight[lengths[run.chunk[mine]] < SHORT].sum() / weight.sum())
    short = float((lengths[run.chunk[head]] < SHORT).mean())
    all_short = round(float((lengths < SHORT).mean()), 4)
    return {"documents": all_short, "head": round(short, 4), "weight": round(float(np.mean(shares)), 4)}


def added_terms(collection: Collection, run: Run) -> dict[str, float]:
    """How many of the best terms the question had, the weight of those in a tenth of all documents, and lengths."""
    terms, asked = collection.terms, collection.terms.query_counts(collection.queries.query)
    found: dict[str, float] = {}
    for kept in (5, 20, 50):
        stage = Prf(terms=kept)
        best = stage._best(stage.relevance(terms, run, len(collection.queries)), terms)
        own = best.copy()
        own.data = np.ones_like(own.data)
        found[f"own {kept}"] = round(float(own.multiply(asked > 0).sum() / own.nnz), 4)
        common = terms.frequency[best.indices] > 0.1 * len(terms.offsets)
        found[f"common {kept}"] = round(float(best.data[common].sum() / best.data.sum()), 4)
        expanded = stage.expand(collection.ctx, collection.queries, run)
        found[f"length {kept}"] = round(expanded.nnz / expanded.shape[0], 1)
    found["asked"] = round(asked.nnz / asked.shape[0], 1)
    return found


def reach(collection: Collection, run: Run, after: Run) -> dict[str, float]:
    """Where BM25 had the relevant documents that feedback newly brings to the first hundred; turnover at five."""
    deep = Bm25().postings(collection.ctx).search(collection.terms.query_counts(collection.queries.query), 20_000)
    rows = zip(deep.query.tolist(), deep.chunk.tolist(), deep.rank.tolist(), strict=True)
    rank = {(q, c): r for q, c, r in rows}
    good = hits(collection, after)
    pairs = zip(after.query[good].tolist(), after.chunk[good].tolist(), strict=True)
    places = np.asarray([rank.get(pair, 0) for pair in pairs])
    gained = places[(places == 0) | (places > 100)]
    top = [{(q, c) for q, c in zip(r.query[r.rank <= 5], r.chunk[r.rank <= 5], strict=True)} for r in (run, after)]
    return {
        "gained": len(gained),
        "unranked": int((gained == 0).sum()),
        "to 200": int(((gained > 100) & (gained <= 200)).sum()),
        "to 500": int(((gained > 200) & (gained <= 500)).sum()),
        "beyond": int((gained > 500).sum()),
        "turnover": round(1 - len(top[0] & top[1]) / len(top[0]), 4),
    }


def measure(name: str, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[Floats]]:
    """The figures of a collection, its comparisons, and per question: relevant feedback documents and differences."""
    collection = Collection.open(name, folder / name)
    clusters, n = collection.queries.cluster, len(collection.queries)
    run = collection.search(Bm25())
    relevant, lengths = hits(collection, run), np.diff(collection.terms.offsets)

    def values(stage: Prf, feedback: Run = run) -> Floats:
        return collection.values(stage.rerank(collection.ctx, collection.queries, feedback), *METRICS)

    told = only(run, relevant & (run.rank <= HEAD))
    base, without = collection.values(run, *METRICS), ~np.isin(np.arange(n), told.query)
    arms = {"bm25": base, "20 terms": values(Prf()), "50 terms": values(Prf(terms=50))}
    arms["long"] = values(Prf(terms=50), only(run, lengths[run.chunk] >= SHORT))
    arms["known"] = np.where(without, base, values(Prf(), told))
    found: dict[str, Any] = {"size": {"questions": n, "documents": len(lengths), "median": float(np.median(lengths))}}
    comparisons = []
    for at, metric in enumerate(METRICS):
        rows = {arm: value[at] for arm, value in arms.items()}
        pairs = paired({arm: row for arm, row in rows.items() if arm != "known"}, "bm25", clusters, SEED)
        comparisons += pairs.values()
        arm_means = dict(zip(rows, means(np.stack(list(rows.values())), clusters, SEED), strict=True))
        found[metric] = {"arms": arm_means, "pairs": pairs}
    for key, settings in SWEEPS.items():
        swept = [values(Prf(**{key: value})).mean(axis=1).round(4).tolist() for value in settings]
        found[f"sweep {key}"] = {
            "settings": list(settings),
            "nDCG@5": [v[0] for v in swept],
            "R@100": [v[1] for v in swept],
        }
    head = run.rank <= HEAD
    pure = np.bincount(run.query[head & relevant], minlength=n)
    gain = arms["20 terms"] - base
    signs = {"relevant": pure, "agreement": agreement(collection, run), "bm25": base[0]}
    for at, metric in enumerate(METRICS):
        found[f"predict {metric}"] = {sign: round(float(spearmanr(by, gain[at])[0]), 2) for sign, by in signs.items()}
    found["purity"] = {"mean": round(float(pure.mean() / HEAD), 4), "none": int((pure == 0).sum())}
    found["flooding"] = flooding(collection, run)
    found["added"] = added_terms(collection, run)
    once = Prf().rerank(collection.ctx, collection.queries, run)
    found["reach"] = reach(collection, run, once)
    twice = Prf().rerank(collection.ctx, collection.queries, once)
    found["twice"] = dict(
        zip(METRICS, collection.values(twice, *METRICS).mean(axis=1).round(4).tolist(), strict=True)
    )
    found["agreement and recall"] = round(float(spearmanr(signs["agreement"], base[1])[0]), 2)
    return found, comparisons, [pure, *gain]


def main(arguments: list[str]) -> None:
    """Measure every collection; all comparisons are corrected together; bins by relevant feedback pool them."""
    folder = artifacts(arguments)
    parts = {name: measure(name, folder) for name in NAMES}
    rows = [row for _, comparisons, _ in parts.values() for row in comparisons]
    holm(rows)
    pooled = np.hstack([np.stack(columns) for _, _, columns in parts.values()])
    bins = {}
    for low, high in BINS:
        inside = pooled[:, (pooled[0] >= low) & (pooled[0] <= high)]
        labels = [str(number) for number in range(inside.shape[1])]
        gains = dict(zip(METRICS, means(inside[1:], labels, SEED), strict=True))
        bins[f"{low} to {high}"] = {"questions": inside.shape[1], "lost": int((inside[1] < 0).sum()), **gains}
    write("rp-24", {name: found for name, (found, _, _) in parts.items()} | {"bins": bins, "holm": {"n": len(rows)}})


if __name__ == "__main__":
    main(sys.argv[1:])
