"""Findings of a made-up run whose tables agree with each other, for tests of what is made from them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evaluation.factorial import Factorial
from evaluation.findings import Findings
from evaluation.verdict import Verdict

KINDS = ("single_hop", "multi_hop", "numeric", "paraphrase", "jargon")
STAGES = ("below k", "fusion", "candidates", "dedup", "mmr", "reranker", "chunking")
METRICS = ("nDCG@5", "RR", "R@5", "Judged@5")
NAMES = (
    *(
        "rrf_graph_dedup_mmr",
        "rrf_graph_dedup",
        "rrf_dedup_mmr",
        "rrf_dedup",
        "rrf_graph_mmr",
        "rrf_graph",
        "rrf_mmr",
    ),
    *("rrf", "minilm", "linear", "bm25", "adaptive", "tfidf", "graph", "random"),
)
WORDS = [
    *(
        "retrieval",
        "fusion",
        "graph",
        "entity",
        "dense",
        "sparse",
        "ranking",
        "corpus",
        "question",
        "passage",
        "model",
    ),
    *(
        "attention",
        "evidence",
        "benchmark",
        "latency",
        "recall",
        "precision",
        "chunk",
        "overlap",
        "candidate",
        "depth",
    ),
    *("reranker", "diversity", "duplicate", "lexical", "semantic", "vector"),
]
K = 5


@dataclass(frozen=True)
class Made:
    """The arrays that a made-up run is drawn from: by strategy and question."""

    names: tuple[str, ...]
    qids: tuple[str, ...]
    clusters: tuple[str, ...]
    values: dict[str, np.ndarray]
    top: np.ndarray
    grades: np.ndarray
    seed: int


def make_findings(
    n_strategies: int = 15, n_questions: int = 150, n_documents: int = 20, seed: int = 0, **changes: Any
) -> Findings:
    """A run with every table; `changes` replace fields of the findings."""
    made = _draw(
        NAMES[:n_strategies] + tuple(f"arm_{at}" for at in range(15, n_strategies)), n_questions, n_documents, seed
    )
    summary = _summary(made)
    comparisons = _comparisons(made, summary)
    fields: dict[str, Any] = {
        "manifest": _manifest(made, n_documents),
        "arms": _arms(made),
        "summary": summary,
        "per_query": _per_query(made),
        "verdict": _verdict(summary, comparisons),
        "comparisons": comparisons,
        "effects": _effects(made),
        "factorial": Factorial("rrf_graph_dedup_mmr", ("graph", "dedup", "mmr"), made.names[:8]),
        "kinds": _kinds(made),
        "losses": _losses(made),
        "shares": _shares(made),
        "questions": _questions(made),
        "shown": _shown(made),
        "passages": _passages(made, n_documents),
        "readings": 27,
        "chance": 0.021,
    }
    return Findings(**{**fields, **changes})


def _draw(names: tuple[str, ...], n_questions: int, n_documents: int, seed: int) -> Made:
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.75, 0.3, len(names)).round(1)
    easy = rng.normal(0, 0.15, n_documents)[np.arange(n_questions) % n_documents]
    luck = rng.normal(0, 0.25, n_questions)
    chance = np.clip(skill[:, None] + easy + luck + rng.normal(0, 0.1, (len(names), n_questions)), 0.02, 0.98)
    top = np.empty((len(names), n_questions, K), dtype=int)
    grades = np.empty_like(top)
    for query in range(n_questions):
        pool = rng.permutation(20 * n_documents)[:12]
        worth = np.where(np.arange(12) < 2, rng.integers(1, 4, 12), np.where(np.arange(12) < 8, 0, -1))
        noise = rng.gumbel(size=(len(names), 12)) + np.where(worth > 0, 5 * chance[:, query, None] - 1, 0)
        best = np.argsort(-noise, axis=1)[:, :K]
        top[:, query], grades[:, query] = pool[best], worth[best]
    discount = 1 / np.log2(np.arange(2, K + 2))
    gain = np.clip(grades, 0, None)
    relevant = gain > 0
    first = np.where(relevant.any(axis=2), 1 / (relevant.argmax(axis=2) + 1.0), 0.0)
    values = {
        "nDCG@5": (gain * discount).sum(axis=2) / (3 * discount[:2].sum()),
        "RR": first,
        "R@5": relevant.sum(axis=2) / 2,
        "Judged@5": (grades >= 0).mean(axis=2),
    }
    qids = tuple(f"q{at:03d}" for at in range(n_questions))
    clusters = tuple(f"paper-{at % n_documents:02d}" for at in range(n_questions))
    return Made(names, qids, clusters, values, top, grades, seed)


def _interval(values: np.ndarray, clusters: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Normal intervals of means by cluster, rows of `values` [n_rows, n_questions]."""
    codes = pd.factorize(np.asarray(clusters))[0]
    centred = values - values.mean(axis=1, keepdims=True)
    sums = np.stack([centred[:, codes == code].sum(axis=1) for code in range(codes.max() + 1)], axis=1)
    error = np.sqrt((sums**2).sum(axis=1)) / values.shape[1]
    return values.mean(axis=1) - 1.96 * error, values.mean(axis=1) + 1.96 * error


def _summary(made: Made) -> pd.DataFrame:
    tables = []
    for metric, values in made.values.items():
        lo, hi = _interval(values, made.clusters)
        rows = {"strategy": made.names, "metric": metric, "n": len(made.qids), "mean": values.mean(axis=1)}
        tables.append(pd.DataFrame({**rows, "lo": lo, "hi": hi, "clusters": len(set(made.clusters))}))
    return pd.concat(tables, ignore_index=True).assign(interval="bca", note="")


def _per_query(made: Made) -> pd.DataFrame:
    tables = [
        pd.DataFrame({"strategy": name, "qid": made.qids, "metric": metric, "value": values[row]})
        for row, name in enumerate(made.names)
        for metric, values in made.values.items()
    ]
    return pd.concat(tables, ignore_index=True)


def _comparisons(made: Made, summary: pd.DataFrame) -> pd.DataFrame:
    from scipy.stats import norm

    values = made.values["nDCG@5"]
    rows, columns = np.triu_indices(len(made.names), 1)
    apart = values[rows] - values[columns]
    lo, hi = _interval(apart, made.clusters)
    p = np.clip(2 * norm.sf(np.abs(apart.mean(axis=1)) / ((hi - lo) / 3.92 + 1e-9)), 1e-5, 1)
    adjusted = np.clip(p * len(p), 0, 1)
    diff = apart.mean(axis=1)
    verdict = np.where(adjusted < 0.05, np.where(diff > 0, "higher", "lower"), "undecided")
    verdict = np.where((adjusted >= 0.05) & (np.abs(diff) + (hi - lo) / 2 < 0.03), "equivalent", verdict)
    names = np.asarray(made.names)
    table = pd.DataFrame({"metric": "nDCG@5", "a": names[rows], "b": names[columns], "n": len(made.qids)})
    table = table.assign(diff=diff, lo=lo, hi=hi, p=p, p_adjusted=adjusted, wins=(apart > 1e-9).sum(axis=1))
    table = table.assign(ties=(np.abs(apart) <= 1e-9).sum(axis=1), losses=(apart < -1e-9).sum(axis=1))
    table = table.assign(detectable=(hi - lo) * 0.75, verdict=verdict, clusters=len(set(made.clusters)))
    table = table.assign(effect=diff / apart.std(axis=1), p_hsd=np.clip(adjusted * 1.2, 0, 1), p_equivalent=0.5)
    said = [
        f"{a} against {b} is {v}: {d:+.3f}" for a, b, v, d in zip(table["a"], table["b"], verdict, diff, strict=True)
    ]
    return table.assign(needed=np.where(verdict == "undecided", 900.0, np.nan), family="all pairs", sentence=said)


def _verdict(summary: pd.DataFrame, comparisons: pd.DataFrame) -> Verdict:
    means = summary[summary["metric"] == "nDCG@5"].sort_values("mean", ascending=False)["strategy"].tolist()
    leader = means[0]
    beaten = {
        *comparisons[(comparisons["a"] == leader) & (comparisons["verdict"] == "higher")]["b"],
        *comparisons[(comparisons["b"] == leader) & (comparisons["verdict"] == "lower")]["a"],
    }
    group = tuple(name for name in means if name not in beaten)
    said = f"No winner: {len(group)} of {len(means)} strategies share the top group on nDCG@5 (150 questions)."
    reasons = (f"{leader} has the best mean.", "To settle every comparison takes about 2,400 questions.")
    return Verdict("top group", said, leader, group, tuple(name for name in means if name in beaten), reasons)


def _effects(made: Made) -> pd.DataFrame:
    rng = np.random.default_rng(made.seed + 1)
    names = ("graph", "dedup", "mmr", "graph x dedup", "graph x mmr", "dedup x mmr", "graph x dedup x mmr")
    rows = [
        {"effect": name, "metric": metric, "n": len(made.qids), "diff": diff, "lo": diff - 0.02, "hi": diff + 0.02}
        for metric in METRICS[:3]
        for name, diff in zip(names, rng.normal(0, 0.02, len(names)), strict=True)
    ]
    return pd.DataFrame(rows).assign(clusters=len(set(made.clusters)), interval="bca", note="")


def _kind(made: Made) -> np.ndarray:
    return np.asarray(KINDS)[np.arange(len(made.qids)) * 7 % 11 % len(KINDS)]


def _kinds(made: Made) -> pd.DataFrame:
    tables = []
    for kind in sorted(set(_kind(made))):
        chosen = _kind(made) == kind
        values = made.values["nDCG@5"][:, chosen]
        lo, hi = _interval(values, tuple(np.asarray(made.clusters)[chosen]))
        rows = {"strategy": made.names, "metric": "nDCG@5", "kind": kind, "n": int(chosen.sum())}
        tables.append(pd.DataFrame({**rows, "mean": values.mean(axis=1), "lo": lo, "hi": hi}))
    return pd.concat(tables, ignore_index=True).assign(clusters=len(set(made.clusters)), note="")


def _losses(made: Made) -> pd.DataFrame:
    rng = np.random.default_rng(made.seed + 2)
    rows = []
    for arm, name in enumerate(made.names):
        found = (made.grades[arm] > 0).sum(axis=1)
        for query, qid in enumerate(made.qids):
            ranks = np.flatnonzero(made.grades[arm, query] > 0) + 1
            for piece in range(2):
                rank = int(ranks[piece]) if piece < found[query] else 0
                stage = (
                    "found"
                    if rank
                    else STAGES[int(rng.choice(len(STAGES), p=[0.35, 0.15, 0.2, 0.1, 0.1, 0.05, 0.05]))]
                )
                final = rank or (int(rng.integers(6, 60)) if stage == "below k" else 0)
                best = final or int(rng.integers(1, 90))
                path = (
                    ""
                    if rank
                    else {"fusion": "first.fuser", "dedup": "then.dedup", "mmr": "then.mmr"}.get(stage, "first")
                )
                rows.append((name, qid, piece, 1 + piece, stage, path, best, final))
    columns = ["strategy", "qid", "evidence", "grade", "stage", "path", "best_rank", "final_rank"]
    return pd.DataFrame(rows, columns=columns)


def _shares(made: Made) -> pd.DataFrame:
    unjudged = (made.grades < 0).sum(axis=(1, 2))
    total = len(made.qids) * K
    rows = [
        {"strategy": name, "share": share, "value": count / total, "count": int(count), "total": total}
        for at, name in enumerate(made.names)
        for share, count in (("duplicates", 3 * at), ("unjudged", unjudged[at]), ("truncated", 0))
    ]
    return pd.DataFrame(rows)


def _questions(made: Made) -> pd.DataFrame:
    rng = np.random.default_rng(made.seed + 3)
    text = [f"How does {' '.join(rng.choice(WORDS, 6))} change with {rng.choice(WORDS)}?" for _ in made.qids]
    return pd.DataFrame({"qid": made.qids, "query": text, "kind": _kind(made), "cluster": made.clusters})


def _ids(n_documents: int) -> list[str]:
    return [hashlib.sha256(f"chunk {at}".encode()).hexdigest()[:16] for at in range(20 * n_documents)]


def _shown(made: Made) -> pd.DataFrame:
    n_documents = len(set(made.clusters))
    n_arms, n_questions, depth = made.top.shape
    return pd.DataFrame(
        {
            "strategy": np.repeat(made.names, n_questions * depth),
            "qid": np.tile(np.repeat(made.qids, depth), n_arms),
            "rank": np.tile(np.arange(1, depth + 1), n_arms * n_questions),
            "chunk_id": np.asarray(_ids(n_documents))[made.top.ravel()],
            "grade": made.grades.ravel(),
        }
    )


def _passages(made: Made, n_documents: int) -> pd.DataFrame:
    rng = np.random.default_rng(made.seed + 4)
    used = sorted(set(made.top.ravel()))
    ids = _ids(n_documents)
    rows = [
        {
            "chunk_id": ids[at],
            "document": f"2605.{at % n_documents:05d}v1.pdf",
            "pages": str(at % 14 + 1),
            "section": ("Introduction", "Method", "Results")[at % 3],
            "text": " ".join(rng.choice(WORDS, 90)).capitalize() + ".",
        }
        for at in used
    ]
    return pd.DataFrame(rows)


def _manifest(made: Made, n_documents: int) -> dict[str, Any]:
    return {
        "name": "core",
        "run_id": "0123456789abcdef",
        "split": "test",
        "seed": made.seed,
        "depth": 100,
        "credit": "once",
        "primary": "nDCG@5",
        "time": "2026-11-30T12:00:00Z",
        "seconds": 41.5,
        "benchmark": {
            "name": "made-up",
            "digest": "d" * 64,
            "queries": len(made.qids),
            "judged": len(made.qids),
            "unjudged": 0,
            "clusters": n_documents,
            "orphans": 0,
            "uncovered": 2,
        },
        "corpus": {"fingerprint": "c" * 64, "chunks": 20 * n_documents, "documents": n_documents},
        "code": "0" * 40,
        "packages": {"bm25s": "0.3.16", "numpy": "2.4.0"},
        "config": {"eval": {"margin": 0.02, "primary": "nDCG@5"}, "depth": 100, "seed": made.seed},
    }


def _arms(made: Made) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(made.seed + 5)
    arms: dict[str, dict[str, Any]] = {
        name: {
            "state": "ran",
            "reason": "",
            "config": {"name": name},
            "backend": ["Pipeline", "BM25", "RRF"],
            "latency_p50_ms": float(np.exp(rng.normal(2, 1.2))),
            "latency_p95_ms": 40.0,
            "index_bytes": int(np.exp(rng.normal(15, 1))),
            "index_seconds": 1.2,
            "search_seconds": 0.4,
            "answered": 1.0,
            "notes": [],
            "fingerprint": hashlib.sha256(name.encode()).hexdigest(),
        }
        for name in made.names
    }
    arms[made.names[-1]]["notes"] = ["3 of 150 questions name no entity"]
    arms["specter2"] = {"state": "absent", "reason": "did not run: the weights are not here", "config": {}}
    return arms
