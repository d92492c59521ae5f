"""Is the first hit of BM25 relevant? Probabilities from score features, fitted and checked on SciFact, then moved.

    RANKPROOF_DATA=<data> python corpus/experiments/rp_23_confidence.py [<artifacts>]

Writes `corpus/sources/measured/rp-23.json`. `<artifacts>` keeps indexes and vectors (default: a temporary folder).
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evaluation.beir import load_beir, load_corpus
from evaluation.randomise import sign_flips
from evaluation.stats import intervals, wilson
from ingestion.artifacts import ArtifactStore
from retrieval.analysis import tokens
from retrieval.build import build_strategy, strategy_config
from retrieval.stage import Context

DATA = Path(os.environ["RANKPROOF_DATA"])
TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-23.json"
SEED, BINS, DRAWS, SIZES, ELSEWHERE = 23, 10, 2000, (25, 50, 100, 200, 400, 800), ("cacm", "cranfield", "med")
BM25, MARGIN, COSINE, SHARED, COVER = range(5)  # features


def read(name: str, split: str, store: ArtifactStore) -> tuple[np.ndarray, np.ndarray]:
    """Features of every question, float64 [n, 5], and whether BM25's first hit is relevant."""
    folder = DATA / "beir" / name
    corpus, benchmark = load_corpus(folder), load_beir(folder, split)
    ctx, queries = Context(corpus, store), benchmark.queries
    sparse, encoder = (build_strategy(strategy_config(arm)) for arm in ("bm25", "sentence_transformer"))
    runs = ctx.search(sparse, queries), ctx.search(encoder, queries)
    cosine = encoder.query_vectors(queries.query, store) @ np.asarray(encoder.chunk_vectors(ctx)).T
    gold = {(row.qid, row.doc_id) for row in benchmark.documents if row.grade > 0}
    rows, hits = [], []
    for q, (qid, text) in enumerate(zip(queries.qid, queries.query, strict=True)):
        lexical, dense = (run.only(q) for run in runs)
        first, terms = int(lexical.chunk[0]), set(tokens(text))
        shared = len(set(lexical.chunk[:10].tolist()) & set(dense.chunk[:10].tolist())) / 10
        cover = len(terms & set(tokens(corpus.texts[first]))) / len(terms)
        margin = 1 - lexical.score[1] / lexical.score[0]
        rows.append([lexical.score[0], margin, float(cosine[q, first]), shared, cover])
        hits.append((qid, corpus.chunk_ids[first]) in gold)
    return np.asarray(rows, dtype=float), np.asarray(hits, dtype=float)


def zero_graded(store: ArtifactStore) -> dict:
    """BM25's first hits on Cranfield by what the judgments say of them: how many, and their mean margin."""
    folder = DATA / "beir" / "cranfield"
    corpus, benchmark = load_corpus(folder), load_beir(folder, "test")
    run = Context(corpus, store).search(build_strategy(strategy_config("bm25")), benchmark.queries)
    grades, found = {(row.qid, row.doc_id): row.grade for row in benchmark.documents}, {}
    for q, qid in enumerate(benchmark.queries.qid):
        only = run.only(q)
        grade = grades.get((qid, corpus.chunk_ids[only.chunk[0]]))
        label = "unjudged" if grade is None else "zero" if grade == 0 else "relevant"
        found.setdefault(label, []).append(1 - only.score[1] / only.score[0])
    return {label: [len(margins), rounded(np.mean(margins))] for label, margins in found.items()}


def logistic(columns: list[int], x: np.ndarray, y: np.ndarray):  # noqa: ANN201
    """Platt's sigmoid of one feature, or of several, with hardly any penalty."""
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e4, max_iter=1000)).fit(x[:, columns], y)
    return lambda z: model.predict_proba(z[:, columns])[:, 1]


def isotonic(column: int, x: np.ndarray, y: np.ndarray):  # noqa: ANN201
    """The best non-decreasing step function of one feature."""
    model = IsotonicRegression(out_of_bounds="clip").fit(x[:, column], y)
    return lambda z: model.predict(z[:, column])


def in_bins(p: np.ndarray, mass: bool) -> np.ndarray:
    """Number of the bin of every prediction: of equal width, or of equal count in order of p."""
    if not mass or not np.ptp(p):
        return np.minimum((p * BINS).astype(int), BINS - 1)
    return np.argsort(np.argsort(p, kind="stable"), kind="stable") * BINS // len(p)


def ece(p: np.ndarray, y: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Expected calibration error of outcomes, float64 [n] or [n_draws, n]."""
    gaps = np.atleast_2d(y) - p
    sums = np.stack([gaps[:, number == b].sum(axis=1) for b in range(BINS)], axis=1)
    return np.abs(sums).sum(axis=1) / len(p)


def judge(p: np.ndarray, y: np.ndarray) -> dict:
    """Everything said of one set of predictions; `null`: mean and 95 % point of ECE were p exactly right."""
    rng, found = np.random.default_rng(SEED), {"brier": None}
    sq = intervals((p - y)[None] ** 2, np.arange(len(y)).astype(str), SEED)
    number, rate = in_bins(p, mass=True), y.mean()
    bins = [(float(p[number == b].mean()), float(y[number == b].mean())) for b in np.unique(number)]
    weight = np.unique(number, return_counts=True)[1] / len(y)
    found["brier"] = [sq.mean[0], sq.lo[0], sq.hi[0]]
    found["reliability"] = float(sum(w * (a - b) ** 2 for w, (a, b) in zip(weight, bins, strict=True)))
    found["resolution"] = float(sum(w * (b - rate) ** 2 for w, (_, b) in zip(weight, bins, strict=True)))
    found["uncertainty"] = float(rate * (1 - rate))
    found["auc"] = float(roc_auc_score(y, p)) if np.ptp(p) else 0.5
    found["mean"], found["rate"], found["n"], found["bins"] = float(p.mean()), float(rate), len(y), bins
    drawn = (rng.random((DRAWS, len(p))) < p).astype(float)
    for name, mass in (("width", False), ("mass", True)):
        number = in_bins(p, mass)
        null = ece(p, drawn, number)
        found[f"ece_{name}"] = [float(ece(p, y, number)[0]), float(null.mean()), float(np.quantile(null, 0.95))]
    return rounded(found)


def paired(a: np.ndarray, b: np.ndarray) -> list[float]:
    """Mean difference of squared errors with its interval, and the p-value of the paired randomisation test."""
    names = np.arange(len(a)).astype(str)
    found = intervals((a - b)[None], names, SEED)
    p = sign_flips(np.stack([a, b]), np.asarray([[0, 1]]), names, SEED)[0]
    return rounded([found.mean[0], found.lo[0], found.hi[0], p])


def levels(p: np.ndarray, y: np.ndarray, low: float = 0.5, high: float = 0.8) -> dict:
    """Questions and relevant first hits per level, with Wilson's interval."""
    masks = {"HIGH": p >= high, "MEDIUM": (p >= low) & (p < high), "LOW": p < low}
    return {
        k: rounded([int(m.sum()), int(y[m].sum()), *map(float, wilson(y[m].sum(), m.sum()))])
        for k, m in masks.items()
    }


def rounded(value):  # noqa: ANN001, ANN201
    """The same with four decimals."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(part) for part in value]
    if isinstance(value, (float, np.floating)):
        return None if np.isnan(value) else round(float(value), 4)
    return value


def main() -> None:
    """Fit on the training claims, report on the test claims, move the fit to other collections."""
    with tempfile.TemporaryDirectory() as spare:
        store = ArtifactStore(Path(sys.argv[1] if len(sys.argv) > 1 else spare))
        (x, y), (tx, ty) = read("scifact", "train", store), read("scifact", "test", store)
        others = {name: read(name, "test", store) for name in ELSEWHERE}
        zero, abstracts = zero_graded(store), len(load_corpus(DATA / "beir" / "scifact"))
    every = logistic(list(range(5)), x, y)
    models = {
        "prior": lambda z: np.full(len(z), y.mean()),
        "cosine as it is": lambda z: np.clip(z[:, COSINE], 0, 1),
        "Platt, BM25 score": logistic([BM25], x, y),
        "Platt, cosine": logistic([COSINE], x, y),
        "Platt, margin": logistic([MARGIN], x, y),
        "isotonic, BM25 score": isotonic(BM25, x, y),
        "isotonic, margin": isotonic(MARGIN, x, y),
        "logistic, five features": every,
    }
    found: dict = {"test": {name: judge(model(tx), ty) for name, model in models.items()}}
    found["levels"] = {"fitted": levels(every(tx), ty), "rule": levels(np.where(tx[:, COVER] >= 0.3, 0.9, 0.6), ty)}
    names = ("bm25", "margin", "cosine", "shared", "cover")
    for label, fx, fy in (("auc", tx, ty), ("auc_train", x, y)):
        found[label] = {name: rounded(roc_auc_score(fy, fx[:, at])) for at, name in enumerate(names)}
    squared = {name: (model(tx) - ty) ** 2 for name, model in models.items()}
    found["differences"] = {
        f"{a} - {b}": paired(squared[a], squared[b])
        for a, b in (
            ("Platt, margin", "prior"),
            ("logistic, five features", "Platt, margin"),
            ("isotonic, margin", "Platt, margin"),
            ("Platt, cosine", "cosine as it is"),
        )
    }
    found["train"] = {"n": len(y), "rate": rounded(y.mean()), "abstracts": abstracts}
    rng, sizes = np.random.default_rng(SEED), {}
    for size in SIZES:
        parts = [rng.permutation(len(y))[:size] for _ in range(100)]
        fits = {"Platt": lambda s: logistic([MARGIN], x[s], y[s]), "isotonic": lambda s: isotonic(MARGIN, x[s], y[s])}
        fits["five features"] = lambda s: logistic(list(range(5)), x[s], y[s])
        sizes[str(size)] = {
            n: rounded(np.mean([np.mean((f(s)(tx) - ty) ** 2) for s in parts])) for n, f in fits.items()
        }
    found["sizes"], found["moved"], found["cranfield"] = sizes, {}, zero
    for name, (ox, oy) in {"scifact": (tx, ty), **others}.items():
        own = np.empty(len(oy))
        for fit, out in KFold(5, shuffle=True, random_state=SEED).split(ox):
            own[out] = logistic([MARGIN], ox[fit], oy[fit])(ox[out])
        found["moved"][name] = {"moved": judge(models["Platt, margin"](ox), oy), "own": judge(own, oy)}
        found["moved"][name]["high"] = levels(models["Platt, margin"](ox), oy)["HIGH"]
        found["moved"][name]["five"] = judge(every(ox), oy)
    TARGET.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
