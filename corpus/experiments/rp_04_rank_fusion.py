"""Reciprocal rank fusion with echoes and with MiniLM: constant, depth, solos, ties (RP-TR-04).

    RANKPROOF_DATA=<data> python corpus/experiments/rp_04_rank_fusion.py <folder of results>

Reads the traces of `<folder>/<collection>-core` as RP-TR-03's experiment does; searches nothing again. Seed 0.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from rp_03_fusion_sweep import DEPTH, Collection, available, top, write

from retrieval.fusers.rrf import Rrf
from retrieval.schema import Run

CONSTANTS = [0, 1, 5, 10, 20, 40, 60, 100, 200, 1000]
LISTS = {"echo": ("bm25", "tfidf"), "hybrid": ("bm25", "minilm"), "three": ("bm25", "tfidf", "minilm")}
HALF = (("bm25", 0.5), ("tfidf", 0.5))
SHOWN = 5


def fuse(
    at: Collection, lists: str, k: float = 60, depth: int = DEPTH, weights: tuple[tuple[str, float], ...] = ()
) -> Run:
    """Reciprocal rank fusion of some of the collection's rankings, each cut at `depth`."""
    runs = {name: top(at.runs[name], depth) for name in LISTS[lists]}
    return Rrf(k=k, weights=weights).fuse(SimpleNamespace(depth=2 * DEPTH), at.judged.benchmark.queries, runs)


def pairs_of(run: Run) -> set[tuple[int, int]]:
    """Query and chunk of every row."""
    return set(zip(run.query.tolist(), run.chunk.tolist(), strict=True))


def shared(at: Collection, lists: str) -> float:
    """Mean share of one list's rows that the other holds too."""
    one, other = (pairs_of(at.runs[name]) for name in LISTS[lists])
    return round(2 * len(one & other) / (len(one) + len(other)), 3)


def agreement(at: Collection, lists: str, depth: int = 20) -> dict[str, float]:
    """Lee's overlaps of relevant and other documents at a depth; how often a common or a lone one is relevant."""
    qrels = at.judged.qrels
    relevant = set(zip(qrels.query[qrels.grade > 0].tolist(), qrels.chunk[qrels.grade > 0].tolist(), strict=True))
    one, other = (pairs_of(top(at.runs[name], depth)) for name in LISTS[lists])
    common, lone = one & other, one ^ other

    def overlap(keep: set[tuple[int, int]]) -> float:
        return round(2 * len(keep & common) / (len(keep & one) + len(keep & other)), 3)

    found = {"relevant": overlap(relevant), "other": overlap((one | other) - relevant)}
    return found | {
        name: round(len(part & relevant) / len(part), 3) for name, part in (("common", common), ("lone", lone))
    }


def solos(at: Collection, lists: str, k: float, depth: int) -> float:
    """Share of the first five places that go to a chunk which only one list holds."""
    one, other = (pairs_of(top(at.runs[name], depth)) for name in LISTS[lists])
    first = pairs_of(top(fuse(at, lists, k, depth), SHOWN))
    return round(len(first - (one & other)) / len(first), 3)


def tied(run: Run, n_queries: int) -> dict[str, float]:
    """Share of questions with equal scores within the first five places, and across places five and six."""
    within = across = 0
    for query in range(n_queries):
        score = run.score[run.query == query]
        within += bool((np.diff(score[:SHOWN]) == 0).any())
        across += bool(len(score) > SHOWN and score[SHOWN - 1] == score[SHOWN])
    return {"within": round(within / n_queries, 3), "across": round(across / n_queries, 3)}


def mean(values: np.ndarray) -> float:
    """Mean over the questions that have a value."""
    return round(float(np.nanmean(values)), 4)


def study(at: Collection) -> dict[str, object]:
    """All figures of one collection."""
    n_queries = len(at.judged.benchmark.queries)
    score = {name: at.score(run) for name, run in at.runs.items()}
    score |= {lists: at.score(fuse(at, lists)) for lists in LISTS}
    score["halved"] = at.score(fuse(at, "three", weights=HALF))
    score["linear"] = at.score(at.fused(0.3))
    swept = {lists: [at.score(fuse(at, lists, k)) for k in CONSTANTS] for lists in ("echo", "hybrid")}
    middle = [values for k, values in zip(CONSTANTS, swept["hybrid"], strict=True) if 10 <= k <= 200]
    depths = {str(depth): at.score(fuse(at, "hybrid", depth=depth)) for depth in (10, 20, 50, 100)}
    return {
        "questions": int((~np.isnan(score["bm25"])).sum()),
        "means": {name: mean(values) for name, values in score.items()},
        "pairs": {
            f"{a} - {b}": at.difference(score[a], score[b])
            for a, b in (
                ("hybrid", "bm25"), ("hybrid", "minilm"), ("hybrid", "echo"), ("hybrid", "linear"), ("echo", "bm25"),
                ("three", "hybrid"), ("three", "halved"),
            )
        },
        "sweep": {lists: [mean(values) for values in rows] for lists, rows in swept.items()},
        "hybrid 60 - 0": at.difference(swept["hybrid"][CONSTANTS.index(60)], swept["hybrid"][0]),
        "moved by k 10 to 200": round(float(np.mean([np.ptp(column) > 0 for column in np.stack(middle).T])), 3),
        "depths": {depth: mean(values) for depth, values in depths.items()},
        "shared": {lists: shared(at, lists) for lists in ("echo", "hybrid")},
        "agreement": {lists: agreement(at, lists) for lists in ("echo", "hybrid")},
        "solos": {str(k): {str(d): solos(at, "hybrid", k, d) for d in (20, 50, 100)} for k in (0, 10, 60)},
        "tied": {lists: tied(fuse(at, lists), n_queries) for lists in LISTS},
    }  # fmt: skip


if __name__ == "__main__":
    write("rp-04", {name: study(at) for name, at in available(Path(sys.argv[1])).items()})
