"""What re-ranking could repair at best, and what it must know in order to repair anything (RP-TR-15).

    RANKPROOF_DATA=<folder> python corpus/experiments/rp_15_cross_encoders.py <results folder> <artifacts folder>

Reads the rankings in `<results folder>/<collection>-core/runs` and the judgments, runs no model but a tokenizer, and
writes `corpus/sources/measured/rp-15.json`. For BM25, MiniLM and their reciprocal rank fusion: nDCG@5 after an ideal
re-ranking of the first d, the expectation after a random one, how many questions have nothing relevant there, and the
discrimination (AUC) from which on a simulated re-ranker of given quality does better than leaving the list alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from shared import judged_collection

from evaluation.grades import Grades, grade_matrix
from evaluation.judging import Judged
from evaluation.metrics import ndcg
from evaluation.stats import intervals
from evaluation.trec import read_run
from retrieval.embedding import Encoder
from retrieval.fusers.pairs import add_up
from retrieval.schema import Floats, Run

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-15.json"
TEXT = ("med", "cacm", "cranfield", "csfcube", "scifact", "npl")
DEPTHS, SHOWN, K = (5, 10, 20, 50, 100), 5, 60.0
DRAWS, STEPS, SEED = 20, 9, 15
LIMIT = 512


def rankings(folder: Path, judged: Judged) -> dict[str, Run]:
    """BM25, MiniLM, and both fused by reciprocal rank."""
    rows = {name: row for row, name in enumerate(judged.ids)}
    names = {"bm25": "bm25", "dense": "sentence_transformer"}
    qids = judged.benchmark.queries.qid
    read = {arm: read_run(folder / "runs" / f"{file}.trec") for arm, file in names.items()}
    if any(set(run.ids) - rows.keys() for run in read.values()):
        raise SystemExit(f"{folder}: ranks chunks that the corpus does not have; run the collection again")
    found = {arm: run.to_run(qids, rows)[0] for arm, run in read.items()}
    parts = [(run, 1.0 / (K + run.rank.astype(np.float64))) for run in found.values()]
    return {**found, "rrf": add_up(parts, max(DEPTHS))}


def reordered(grades: Grades, depth: int, key: Floats) -> Grades:
    """The first `depth` ranks sorted by `key`, highest first, the others as they were; padding stays last."""
    head = grades.grades[:, :depth]
    order = np.argsort(np.where(head == -3, np.inf, -key[:, : head.shape[1]]), axis=1, kind="stable")
    rest = grades.grades[:, depth:]
    return replace(grades, grades=np.concatenate([np.take_along_axis(head, order, 1), rest], axis=1))


def shuffled(grades: Grades, depth: int) -> float:
    """Expected nDCG@5 after a random order of the first `depth`: every place has the head's mean gain."""
    gain = np.maximum(grades.grades, 0).astype(np.float64)
    length = np.minimum(grades.length, depth)
    expected = gain.copy()
    for row, size in enumerate(length):
        expected[row, :size] = gain[row, :size].mean() if size else 0.0
    discount = 1 / np.log2(np.arange(2, SHOWN + 2))
    ideal = (grades.ideal[:, :SHOWN] * discount[: grades.ideal[:, :SHOWN].shape[1]]).sum(axis=1)
    has = grades.n_relevant > 0
    width = min(SHOWN, expected.shape[1])
    return float(((expected[:, :width] * discount[:width]).sum(axis=1)[has] / ideal[has]).mean())


def break_even(grades: Grades, depth: int, seed: int) -> float | None:
    """The AUC at which a noisy re-ranker of the first `depth` equals the list that it was given; None if never.

    The noise is the same for every AUC, so that the mean rises with it, and the interval is halved.
    """
    base = float(np.nanmean(ndcg(grades, SHOWN)))
    head = replace(grades, grades=grades.grades[:, :depth])
    noise = np.random.default_rng(seed).standard_normal((DRAWS, *head.grades.shape))
    relevant = (head.grades > 0).astype(np.float64)

    def after(auc: float) -> float:
        """Mean nDCG@5 of a re-ranker with this AUC."""
        signal = float(ndtri(auc)) * np.sqrt(2) * relevant
        return float(np.mean([np.nanmean(ndcg(reordered(head, depth, signal + draw), SHOWN)) for draw in noise]))

    low, high = 0.5, 0.999
    if after(high) < base:
        return None
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if after(middle) >= base else (middle, high)
    return round(high, 3)


def arm(grades: Grades, clusters: Sequence[str], simulate: bool) -> dict[str, Any]:
    """The figures of one ranking."""
    base = ndcg(grades, SHOWN)
    has = grades.n_relevant > 0
    ideal = {d: ndcg(reordered(grades, d, grades.grades.astype(np.float64)), SHOWN) for d in DEPTHS}
    found = intervals(np.stack([base, ideal[50], ideal[50] - base]), clusters, seed=SEED)
    top = {d: grades.hits[:, :d][:, -1][has] for d in DEPTHS}
    spans = zip(("base", "ideal 50", "headroom 50"), found.mean, found.lo, found.hi, strict=True)
    return {
        **{name: [round(float(x), 4) for x in row] for name, *row in spans},
        "ideal": {str(d): round(float(np.nanmean(ideal[d])), 4) for d in DEPTHS},
        "random": {str(d): round(shuffled(grades, d), 4) for d in DEPTHS},
        "nothing": {str(d): int((top[d] == 0).sum()) for d in DEPTHS},
        "recall": {str(d): round(float((top[d] / grades.n_relevant[has]).mean()), 4) for d in DEPTHS},
        "break even": {str(d): break_even(grades, d, SEED) for d in DEPTHS[1:] if simulate},
    }


def pair_lengths(judged: Judged, run: Run) -> dict[str, float]:
    """Word pieces of the pairs (question, text) in the first 50, special pieces included."""
    encoder = Encoder("all-MiniLM-L6-v2", "", None, 8, 2)
    if judged.corpus is None:
        raise SystemExit("no texts")
    head = (run.rank <= 50) & (run.chunk < len(judged.corpus))
    asked = encoder.lengths(judged.benchmark.queries.query)
    read = encoder.lengths(judged.corpus.texts)
    total: npt.NDArray[np.int64] = asked[run.query[head]] + read[run.chunk[head]] - 1
    return {"mean": round(float(total.mean()), 1), "p95": float(np.quantile(total, 0.95)),
            "cut": round(float((total > LIMIT).mean()), 4), "pairs": len(total)}  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Write the figures of every collection whose results are there."""
    results, artifacts = Path(arguments[0]), Path(arguments[1])
    out: dict[str, Any] = {}
    for name in (*TEXT, "clscisumm"):
        folder = results / f"{name}-core"
        if not (folder / "summary.parquet").is_file():
            print(f"{name}: no results yet", file=sys.stderr)
            continue
        judged = judged_collection(name, artifacts / name)
        queries = judged.benchmark.queries
        runs = rankings(folder, judged)
        arms = {key: grade_matrix(run, judged.qrels, len(queries)) for key, run in runs.items()}
        out[name] = {key: arm(grades, queries.cluster, key != "dense") for key, grades in arms.items()}
        out[name] |= {"pairs": pair_lengths(judged, runs["bm25"]), "questions": len(queries), "limit": LIMIT}
    TARGET.write_text(json.dumps(out, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
