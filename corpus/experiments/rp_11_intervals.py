"""Intervals that draw documents against intervals that draw questions, and percentile against BCa (RP-TR-11).

    python corpus/experiments/rp_11_intervals.py <folder with results>

The folder holds `<collection>-core/per_query.parquet` and `questions.parquet`. Widths and design effects come from
collections whose questions share documents; the coverage of intervals from drawing small benchmarks out of a
collection and asking whether they hold the collection's mean. Writes `corpus/sources/measured/rp-11.json`.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit
from shared import numbered, text, values

from evaluation.power import standard_error
from evaluation.stats import intervals
from retrieval.schema import Floats, Ints

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-11.json"
METRICS, CLUSTERED, ARM = ("nDCG@5", "RR"), ("clscisumm", "csfcube"), "bm25"
SEED, RESAMPLES, BENCHMARKS, Z = 11, 10_000, 2_000, 1.959964


def correlation(row: Floats, clusters: Ints) -> float:
    """Intraclass correlation: the analysis-of-variance estimate for clusters of unequal size."""
    sizes = np.bincount(clusters)
    centres = np.bincount(clusters, row) / sizes
    n, groups = len(row), len(sizes)
    between = (sizes * (centres - row.mean()) ** 2).sum() / (groups - 1)
    within = ((row - centres[clusters]) ** 2).sum() / (n - groups)
    usual = (n - (sizes**2).sum() / n) / (groups - 1)
    return float((between - within) / (between + (usual - 1) * within))


def widths(series: Floats, clusters: Ints) -> dict[str, Floats]:
    """Widths of four 95 % intervals of each series, how far BCa moves the centre, ICC and design effect."""
    alone = np.arange(series.shape[1])
    question = intervals(series, alone, SEED, RESAMPLES, method="percentile")
    document = intervals(series, clusters, SEED, RESAMPLES, method="percentile")
    bca = intervals(series, clusters, SEED, RESAMPLES)
    groups = len(np.unique(clusters))
    return {
        "question": question.hi - question.lo,
        "document": document.hi - document.lo,
        "bca": bca.hi - bca.lo,
        "student": 2 * stdtrit(groups - 1, 0.975) * standard_error(series, clusters),
        "moved": (bca.lo + bca.hi - document.lo - document.hi) / 2,
        "icc": np.asarray([correlation(row, clusters) for row in series]),
        "deff": (standard_error(series, clusters) / standard_error(series, alone)) ** 2,
        "question_zero": (question.lo > 0) | (question.hi < 0),
        "document_zero": (document.lo > 0) | (document.hi < 0),
        "bca_zero": (bca.lo > 0) | (bca.hi < 0),
    }


def clustered(folder: Path, metric: str) -> dict[str, Any]:
    """A collection whose questions share documents: its arms, and its pairs taken together."""
    arms, series, documents = values(folder, metric)
    clusters = numbered(documents)
    pairs = [(a, b) for a, b in combinations(range(len(arms)), 2)]
    own, sizes = widths(series, clusters), np.bincount(clusters)
    both = widths(np.asarray([series[a] - series[b] for a, b in pairs]), clusters)
    found: dict[str, Any] = {"questions": series.shape[1], "documents": len(sizes), "pairs": len(pairs)}
    found |= {
        "largest": int(sizes.max()),
        "smallest": int(sizes.min()),
        "kish": float((sizes**2).sum() / sizes.sum()),
    }
    found["arms"] = {
        arm: {"mean": float(series[at].mean()), **{key: float(own[key][at]) for key in list(own)[:7]}}
        for at, arm in enumerate(arms)
    }
    found["of_pairs"] = {key: float(np.median(both[key])) for key in list(both)[:7]}
    found["of_pairs"] |= {
        f"{key}_{name}": float(part(both[key]))
        for key in ("deff", "icc")
        for name, part in (("least", np.min), ("most", np.max))
    }
    found["of_pairs"] |= {key: int(both[key].sum()) for key in list(both)[7:]}
    return found


def coverage(series: Floats, clusters: Ints, groups: int) -> dict[str, float]:
    """Share of 95 % intervals, from benchmarks of so many documents, that hold the mean of the whole collection."""
    rng, truth = np.random.default_rng([SEED, groups]), series.mean()
    members = [np.flatnonzero(clusters == at) for at in range(clusters.max() + 1)]
    held = dict.fromkeys(("question", "document", "bca", "student"), 0)
    for at in range(BENCHMARKS):
        drawn = [members[doc] for doc in rng.integers(0, len(members), groups)]
        row = series[np.concatenate(drawn)][None]
        labels = np.repeat(np.arange(groups), [len(part) for part in drawn])
        half = stdtrit(groups - 1, 0.975) * standard_error(row, labels)[0]
        ends = {"student": (row.mean() - half, row.mean() + half)}
        for name, units, method in (
            ("question", np.arange(row.size), "percentile"),
            ("document", labels, "percentile"),
            ("bca", labels, "bca"),
        ):
            found = intervals(row, units, at, 1_000, method=method)
            ends[name] = (found.lo[0], found.hi[0])
        for name, (lo, hi) in ends.items():
            held[name] += bool(lo <= truth <= hi)
    return {name: count / BENCHMARKS for name, count in held.items()}


if __name__ == "__main__":
    root = Path(sys.argv[1])
    ready = {
        name: root / f"{name}-core"
        for name in (*CLUSTERED, "cranfield")
        if (root / f"{name}-core" / "report.md").is_file()
    }
    done: dict[str, Any] = {
        name: {metric: clustered(ready[name], metric) for metric in METRICS} for name in CLUSTERED if name in ready
    }
    for name, sizes in (("clscisumm", (5, 10, 13, 20)), ("cranfield", (10, 20, 40))):
        if name in ready:
            arms, series, documents = values(ready[name], "nDCG@5")
            clusters = numbered(documents)
            row = series[arms.index(ARM)]
            done.setdefault(name, {})["coverage"] = {str(n): coverage(row, clusters, n) for n in sizes}
    done["design"] = {"seed": SEED, "resamples": RESAMPLES, "benchmarks": BENCHMARKS}
    TARGET.write_text(text(done) + "\n")
