"""RP-TR-13: PPMI word vectors alone and beside BM25, on public collections.

    RANKPROOF_DATA=<folder> python corpus/experiments/rp_13_ppmi_associations.py [artifact folder]

Windows, shifts, counts and dimensions of `ppmi`; whole questions, and questions cut to their rarest known term; and
how many of the strongest associations rest on one or two meetings. Writes `corpus/sources/measured/rp-13.json`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from rp_13_shared import Collection, artifacts, holm, means, paired, strategy, write

from retrieval.analysis import tokens
from retrieval.retrievers.bm25 import Bm25
from retrieval.retrievers.ppmi import Ppmi, cooccurrences, frequent_terms, positive_pmi
from retrieval.schema import Queries

SEED, RARE = 13, 10
NAMES = ("med", "cacm", "cranfield")
METRICS = ("nDCG@5", "R@100")
SETTINGS = {
    "default": Ppmi(),
    "window=2": Ppmi(window=2),
    "window=10": Ppmi(window=10),
    "window=20": Ppmi(window=20),
    "shift=5": Ppmi(shift=5.0),
    "min_count=1": Ppmi(min_count=1),
    "min_count=10": Ppmi(min_count=10),
    "dims=50": Ppmi(dims=50),
    "dims=100": Ppmi(dims=100),
    "rows": Ppmi(dims=None),
}


def rarest(collection: Collection) -> Queries:
    """Every question cut to the known term that the fewest documents hold (ties: the smaller term id).

    A term that the analyser would change again (a stem that is no stem of itself, a compound) is passed over.
    """
    counts, terms = collection.terms.query_counts(collection.queries.query), collection.terms
    kept = []
    for low, high in zip(counts.indptr, counts.indptr[1:], strict=False):
        ids = np.asarray(
            [n for n in counts.indices[low:high] if tokens(terms.vocabulary[n]) == [terms.vocabulary[n]]]
        )
        kept.append(terms.vocabulary[ids[np.argmin(terms.frequency[ids])]])
    return Queries.of(collection.queries.qid, kept)


def strong_cells(collection: Collection, min_count: int) -> dict[str, float]:
    """Of all PPMI cells above the diagonal and of their strongest hundredth: on how few meetings they rest."""
    terms = collection.terms
    kept = frequent_terms(terms, min_count, 50_000)
    number = np.full(len(terms.vocabulary), -1)
    number[kept] = np.arange(len(kept))
    ids = number[terms.ids]
    owner = np.repeat(np.arange(len(terms.offsets) - 1), np.diff(terms.offsets))
    counts = cooccurrences(ids[ids >= 0], owner[ids >= 0], len(kept), 5)
    cells = positive_pmi(counts).tocoo()
    above = cells.row < cells.col
    rows, cols, value = cells.row[above], cells.col[above], cells.data[above]
    met = np.asarray(counts[rows, cols]).reshape(-1)
    rarer = np.minimum(*(np.bincount(ids[ids >= 0], minlength=len(kept))[side] for side in (rows, cols)))
    strong = value >= np.quantile(value, 0.99)
    return {
        "terms": len(kept),
        "cells": int(above.sum()),
        "few": round(float((met[strong] <= 2).mean()), 4),
        "few_all": round(float((met <= 2).mean()), 4),
        "rare": round(float((rarer[strong] <= RARE).mean()), 4),
        "rare_all": round(float((rarer <= RARE).mean()), 4),
        "largest": round(float(value.max()), 2),
    }


def measure(name: str, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The figures of a collection, and its comparisons, whose p-values are corrected later."""
    collection = Collection.open(name, folder / name)
    clusters, terms = collection.queries.cluster, collection.terms
    found: dict[str, Any] = {
        "size": {
            "questions": len(collection.queries),
            "documents": len(collection.ctx.corpus),
            "tokens": len(terms.ids),
            "terms": len(terms.vocabulary),
            "known": round(float(np.diff(terms.query_counts(collection.queries.query).indptr).mean()), 2),
        },
        "cells": {str(least): strong_cells(collection, least) for least in (1, 3, 10)},
    }
    for setting, stage in SETTINGS.items():
        values = collection.values(collection.search(stage), *METRICS)
        found[f"setting {setting}"] = dict(zip(METRICS, means(values, clusters, SEED), strict=True))
    arms = {"bm25": Bm25(), "alone": Ppmi(), "fused": strategy("ppmi"), "feedback": strategy("bm25_prf")}
    comparisons = []
    for kind, queries in (("whole", collection.queries), ("one", rarest(collection))):
        runs = {arm: collection.search(stage, queries) for arm, stage in arms.items()}
        values = {arm: collection.values(run, *METRICS) for arm, run in runs.items()}
        for at, metric in enumerate(METRICS):
            row = {arm: value[at] for arm, value in values.items()}
            pairs = paired(row, "bm25", clusters, SEED)
            comparisons += pairs.values()
            arm_means = dict(zip(row, means(np.stack(list(row.values())), clusters, SEED), strict=True))
            found[f"{kind} {metric}"] = {"arms": arm_means, "pairs": pairs}
        found[f"{kind} ranked"] = {arm: round(len(run) / len(queries), 1) for arm, run in runs.items()}
    return found, comparisons


def main(arguments: list[str]) -> None:
    """Measure every collection; all comparisons are corrected together."""
    folder = artifacts(arguments)
    parts = {name: measure(name, folder) for name in NAMES}
    rows = [row for _, comparisons in parts.values() for row in comparisons]
    holm(rows)
    write("rp-13", {name: found for name, (found, _) in parts.items()} | {"holm": {"comparisons": len(rows)}})


if __name__ == "__main__":
    main(sys.argv[1:])
