"""RP-TR-02: stubs, pivots, thresholds and broken words, measured on public collections.

    RANKPROOF_DATA=<folder> python corpus/experiments/rp_02_tfidf_cosine.py [artifact folder]

A stub is a document of fewer than 20 terms. Words are broken at random (seeds 1 to 5) in a random half of the
documents: a share of all words of at least eight letters. Writes `corpus/sources/measured/rp-02.json`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rp_13_shared import Collection, artifacts, holm, means, paired, write
from scipy.sparse import csr_array, diags_array
from sklearn.metrics import roc_auc_score

from ingestion.schema import Corpus
from retrieval.analysis import tokens
from retrieval.retrievers.bm25 import Bm25
from retrieval.retrievers.tfidf import Tfidf, weights
from retrieval.schema import Run
from retrieval.sparse import Postings
from retrieval.stage import Context

SEED, SEEDS, SHORT, POOL = 2, range(1, 6), 20, 20
NAMES = ("cacm", "npl", "med", "cranfield")
SLOPES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
BROKEN = (0.0, 0.05, 0.1, 0.2)
LONG = re.compile(r"[A-Za-z]{8,}")


def pivoted(collection: Collection, slope: float) -> Run:
    """TF-IDF with the norm (1 - s) p + s v, where p is the mean norm of the documents."""
    terms = collection.terms
    counts = csr_array(terms.counts, dtype=np.float64)
    counts.data = 1 + np.log(counts.data)
    raw = csr_array(counts @ diags_array(np.log((1 + counts.shape[0]) / (1 + terms.frequency)) + 1))
    norm = np.sqrt(raw.power(2).sum(axis=1))
    length = (1 - slope) * norm[norm > 0].mean() + slope * np.where(norm > 0, norm, 1.0)
    asked = weights(terms.query_counts(collection.queries.query), terms)
    return Postings.of(csr_array(diags_array(1 / length) @ raw)).search(asked, collection.ctx.depth)


def separation(collection: Collection, run: Run) -> dict[str, float]:
    """How well scores of the first `POOL` separate relevant documents: over all questions, and within each (AUC)."""
    q, head = collection.qrels, run.rank <= POOL
    relevant = {(a, b) for a, b, g in zip(q.query.tolist(), q.chunk.tolist(), q.grade.tolist(), strict=True) if g > 0}
    query, score = run.query[head], run.score[head]
    hit = np.asarray([pair in relevant for pair in zip(query.tolist(), run.chunk[head].tolist(), strict=True)])
    mixed = [n for n in range(len(collection.queries)) if 0 < hit[query == n].mean() < 1]
    within = [roc_auc_score(hit[query == n], score[query == n]) for n in mixed]
    pooled = float(roc_auc_score(hit, score))
    return {"pooled": round(pooled, 3), "within": round(float(np.mean(within)), 3), "questions": len(mixed)}


def broken(collection: Collection, share: float, seed: int) -> tuple[Collection, np.ndarray]:
    """The collection with words of a random half of its documents cut in two, and which documents these are."""
    corpus, rng = collection.ctx.corpus, np.random.default_rng(seed)
    half = rng.random(len(corpus)) < 0.5

    def cut(match: re.Match[str]) -> str:
        word = match[0]
        at = int(rng.integers(3, len(word) - 2))
        return f"{word[:at]} {word[at:]}" if rng.random() < share else word

    texts = [LONG.sub(cut, text) if mine else text for text, mine in zip(corpus.texts, half, strict=True)]
    place = corpus.chunks.column_names.index("text")
    chunks = corpus.chunks.set_column(place, corpus.chunks.schema.field(place), pa.array(texts))
    ctx = Context(Corpus.of(chunks, corpus.documents, corpus.pages), collection.ctx.store, remember=False)
    return Collection(collection.benchmark, ctx), half


def drag(collection: Collection, share: float) -> dict[str, list[float]]:
    """Mean nDCG@5 and share of the first five that comes from the broken half, by ranker, over all seeds."""
    found: dict[str, list[list[float]]] = {"tfidf": [], "bm25": []}
    for seed in SEEDS:
        damaged, half = broken(collection, share, seed)
        for name, stage in (("tfidf", Tfidf()), ("bm25", Bm25())):
            run = damaged.search(stage)
            score = float(damaged.values(run, "nDCG@5").mean())
            found[name].append([score, float(half[run.chunk[run.rank <= 5]].mean())])
    return {name: np.mean(rows, axis=0).round(4).tolist() for name, rows in found.items()}


def measure(name: str, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The figures of a collection and its comparisons, whose p-values are corrected later."""
    collection = Collection.open(name, folder / name)
    terms, clusters = collection.terms, collection.queries.cluster
    short = np.diff(terms.offsets) < SHORT
    runs = {"bm25": collection.search(Bm25()), "tfidf": collection.search(Tfidf())}
    runs |= {f"slope {slope:g}": pivoted(collection, slope) for slope in SLOPES}
    values = {arm: collection.values(run, "nDCG@5")[0] for arm, run in runs.items()}
    stubs = {arm: round(float(short[run.chunk[run.rank <= 5]].mean()), 4) for arm, run in runs.items()}
    relevant = short[collection.qrels.chunk[collection.qrels.grade > 0]]
    known = [np.mean([word in terms.id_of for word in tokens(text)]) for text in collection.queries.query]
    top = runs["tfidf"].score[runs["tfidf"].rank == 1]
    against = paired({arm: values[arm] for arm in ("bm25", "tfidf", "slope 0.5")}, "tfidf", clusters, SEED)
    other = paired({arm: values[arm] for arm in ("bm25", "slope 0.5")}, "bm25", clusters, SEED)
    found = {
        "size": {
            "questions": len(clusters),
            "documents": len(short),
            "median": float(np.median(np.diff(terms.offsets))),
        },
        "arms": dict(zip(values, means(np.stack(list(values.values())), clusters, SEED), strict=True)),
        "stubs": {"documents": round(float(short.mean()), 4), "relevant": round(float(relevant.mean()), 4), **stubs},
        "minus tfidf": against,
        "minus bm25": other,
        "separation": {arm: separation(collection, runs[arm]) for arm in ("bm25", "tfidf")},
        "known": {
            "mean": round(float(np.mean(known)), 4),
            "incomplete": round(float((np.asarray(known) < 1).mean()), 4),
        },
        "top cosine": [round(float(value), 3) for value in np.quantile(top, (0, 0.5, 1))],
    }
    if name in ("med", "cranfield"):
        found["drag"] = {f"{share:g}": drag(collection, share) for share in BROKEN}
    return found, [*against.values(), *other.values()]


def main(arguments: list[str]) -> None:
    """Measure every collection; all comparisons are corrected together."""
    folder = artifacts(arguments)
    parts = {name: measure(name, folder) for name in NAMES}
    rows = [row for _, comparisons in parts.values() for row in comparisons]
    holm(rows)
    write("rp-02", {name: found for name, (found, _) in parts.items()} | {"holm": {"n": len(rows)}})


if __name__ == "__main__":
    main(sys.argv[1:])
