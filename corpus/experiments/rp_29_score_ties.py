"""How often scores tie, and how far nDCG@5 moves between the best and the worst order of ties (RP-TR-29).

    RANKPROOF_DATA=<data> python corpus/experiments/rp_29_score_ties.py [<folder of artifacts>]

Searches with this project's stages; indexes are built in a temporary folder unless one is given. Seed 0.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from evaluation.beir import load_beir, load_corpus  # noqa: E402
from evaluation.grades import grade_matrix  # noqa: E402
from evaluation.metrics import ndcg  # noqa: E402
from evaluation.pairs import look_up, pairs  # noqa: E402
from evaluation.qrels import id_qrels  # noqa: E402
from evaluation.schema import Qrels  # noqa: E402
from ingestion.artifacts import ArtifactStore  # noqa: E402
from retrieval.analysis import analysed  # noqa: E402
from retrieval.fusers.rrf import Rrf  # noqa: E402
from retrieval.retrievers.bm25 import Bm25  # noqa: E402
from retrieval.retrievers.graph import Graph  # noqa: E402
from retrieval.retrievers.ppmi import Ppmi  # noqa: E402
from retrieval.retrievers.tfidf import Tfidf  # noqa: E402
from retrieval.schema import Floats, Queries, Run, make_run  # noqa: E402
from retrieval.sparse import Postings  # noqa: E402
from retrieval.stage import Context, Fused  # noqa: E402

COLLECTIONS = ("med", "cacm", "cranfield", "npl", "scifact")
BM25 = Bm25()
STAGES = {
    "bm25": BM25,
    "tfidf": Tfidf(),
    "ppmi": Ppmi(),
    "graph": Graph(),
    "rrf": Fused((("bm25", BM25), ("tfidf", Tfidf())), Rrf()),
}
DEPTH, SHOWN, LOOKED = 2_000, 5, 100
CASTS: dict[str, Callable[[Floats], Floats]] = {
    "12": lambda score: np.round(score, 12),
    "float32": lambda score: score.astype(np.float32).astype(np.float64),
    "4": lambda score: np.round(score, 4),
    "2": lambda score: np.round(score, 2),
    "1": lambda score: np.round(score, 1),
}


def ordered(run: Run, key: Floats) -> Run:
    """The same ranking with ties in the order of a key, smallest first."""
    order = np.lexsort((key, -run.score, run.query))
    return make_run(run.query[order], run.chunk[order], -np.arange(len(order), dtype=np.float64), DEPTH)


def touched(run: Run, n_queries: int) -> dict[str, object]:
    """Ties at the top: questions with two equal scores among the first five or across their edge, and rows tied."""
    within, across, longest, rows, total = 0, 0, 1, 0, 0
    for low, high in zip(run.bounds(n_queries), run.bounds(n_queries)[1:], strict=False):
        score = run.score[low:high]
        same = np.diff(score) == 0
        within += bool(same[: SHOWN - 1].any())
        across += bool(same[SHOWN - 1 : SHOWN].any())
        longest = max([longest, *((score == value).sum() for value in score[:SHOWN])])
        rows += int((np.append(same, False) | np.append(False, same))[:LOOKED].sum())
        total += min(LOOKED, len(score))
    shares = {"within": within / n_queries, "across": across / n_queries, "rows": rows / max(1, total)}
    return {name: round(float(share), 3) for name, share in shares.items()} | {"longest": int(longest)}


def expected(run: Run, gain: Floats, ideal: Floats, n_queries: int) -> Floats:
    """nDCG@5 averaged over all orders of the ties: every place holds the mean gain of its group."""
    found = np.full(n_queries, np.nan)
    for query, (low, high) in enumerate(zip(run.bounds(n_queries), run.bounds(n_queries)[1:], strict=False)):
        _, group = np.unique(-run.score[low:high], return_inverse=True)
        even = (
            (np.bincount(group, gain[low:high]) / np.maximum(np.bincount(group), 1))[group]
            if high > low
            else gain[:0]
        )
        found[query] = (even[:SHOWN] / np.log2(np.arange(2, len(even[:SHOWN]) + 2))).sum() / ideal[query]
    return found


def study(run: Run, qrels: Qrels, n_queries: int) -> dict[str, object]:
    """Frequency of ties, and nDCG@5 in the best, worst, ascending, descending and average order."""
    grade = np.zeros(len(run))
    at, row = look_up(pairs(qrels.query, qrels.chunk), pairs(run.query, run.chunk))
    grade[at] = qrels.grade[row]

    def score(key: Floats) -> Floats:
        return ndcg(grade_matrix(ordered(run, key), qrels, n_queries), SHOWN)

    best, worst, up, down = score(-grade), score(grade), score(run.chunk), score(-run.chunk.astype(np.float64))
    gains = grade_matrix(run, qrels, n_queries).ideal[:, :SHOWN].astype(np.float64)
    ideal = (gains / np.log2(np.arange(2, gains.shape[1] + 2))).sum(axis=1)
    means = {"best": best, "worst": worst, "up": up, "down": down, "even": expected(run, grade, ideal, n_queries)}
    span = best - worst
    return touched(run, n_queries) | {
        "means": {name: round(float(values.mean()), 4) for name, values in means.items()},
        "open": int((span > 0).sum()),
        "differ": int((up != down).sum()),
        "largest": round(float(span.max()), 3),
    }


def by_list(fused: Run, run: Run, qrels: Qrels, n_queries: int) -> float:
    """Mean nDCG@5 of a fusion whose ties are in the order of one of its lists; what that lacks comes last."""
    key = np.full(len(fused), float(DEPTH))
    known = pairs(run.query, run.chunk)
    order = np.argsort(known)
    at, row = look_up(known[order], pairs(fused.query, fused.chunk))
    key[at] = run.rank[order][row]
    return round(float(ndcg(grade_matrix(ordered(fused, key), qrels, n_queries), SHOWN).mean()), 4)


def summed(postings: Postings, queries: Queries, ctx: Context, kind: type) -> list[tuple[Floats, Floats]]:
    """BM25 of every question, unrounded, its terms added from first to last and from last to first."""
    terms, found = analysed(ctx).query_counts(queries.query), []
    for row in range(len(queries)):
        part = slice(terms.indptr[row], terms.indptr[row + 1])
        sums = []
        for ids in (terms.indices[part], terms.indices[part][::-1]):
            total = np.zeros(postings.n_chunks, dtype=kind)
            for term in ids:
                at = slice(postings.indptr[term], postings.indptr[term + 1])
                total[postings.rows[at]] += (terms[row, term] * postings.weights[at]).astype(kind)
            sums.append(total)
        found.append((sums[0], sums[1]))
    return found


def noise(sums: list[tuple[Floats, Floats]]) -> dict[str, float]:
    """What the order of addition does: sums that differ, by how much, first hundreds that move, smallest gap."""

    def first(total: Floats) -> list[int]:
        order = np.lexsort((np.arange(len(total)), -total))
        return order[: min(LOOKED, int((total > 0).sum()))].tolist()

    def gap(total: Floats) -> float:
        steps = -np.diff(total[first(total)].astype(np.float64))
        return float(steps[steps > 0].min(initial=np.inf))

    return {
        "differ": round(float(np.mean([(one != two).any() for one, two in sums])), 3),
        "largest": float(f"{max(float(np.abs(one - two).max()) for one, two in sums):.1e}"),
        "moved": round(float(np.mean([first(one) != first(two) for one, two in sums])), 3),
        "gap": float(f"{np.median([gap(one) for one, _ in sums]):.1e}"),
    }


def split_ties(runs: dict[str, Run], names: tuple[str, ...]) -> dict[str, int]:
    """Neighbours of a rank fusion that are equal at twelve places, and how many of them the last bits set apart."""
    chosen = [runs[name] for name in names]
    row = np.concatenate([run.query.astype(np.int64) << 32 | run.chunk for run in chosen])
    vote = np.concatenate([np.where(run.rank <= LOOKED, 1 / (60 + run.rank), 0.0) for run in chosen])
    pair, place = np.unique(row, return_inverse=True)
    total = np.bincount(place, vote)
    order = np.lexsort((pair, -np.round(total, 12), pair >> 32))
    same = (np.diff(np.round(total[order], 12)) == 0) & (np.diff(pair[order] >> 32) == 0) & (total[order][1:] > 0)
    return {"ties": int(same.sum()), "split": int((same & (np.diff(total[order]) != 0)).sum())}


def collection(folder: Path, artifacts: Path) -> dict[str, object]:
    """All figures of one collection."""
    benchmark, chunks = load_beir(folder, "test"), load_corpus(folder)
    queries, qrels = benchmark.queries, id_qrels(benchmark, [], chunks.chunk_ids)[1]
    ctx, short = (Context(chunks, ArtifactStore(artifacts), depth=depth, remember=False) for depth in (DEPTH, LOOKED))
    runs = {name: stage.search(short if name == "rrf" else ctx, queries) for name, stage in STAGES.items()}
    postings, coarse = BM25.postings(ctx), {}
    for name, cast in CASTS.items():
        run = make_run(runs["bm25"].query, runs["bm25"].chunk, cast(runs["bm25"].score), DEPTH)
        coarse[name] = study(run, qrels, len(queries))
    texts = chunks.column("text")
    return {
        "questions": len(queries),
        "documents": len(chunks),
        "twins": len(texts) - len(set(texts)),
        "stages": {name: study(run, qrels, len(queries)) for name, run in runs.items()},
        "rounded": coarse,
        "by list": {name: by_list(runs["rrf"], runs[name], qrels, len(queries)) for name in ("bm25", "tfidf")},
        "noise": {kind.__name__: noise(summed(postings, queries, ctx, kind)) for kind in (np.float64, np.float32)},
        "split": {
            str(len(names)): split_ties(runs, names) for names in (("bm25", "tfidf"), ("bm25", "tfidf", "ppmi"))
        },
    }


if __name__ == "__main__":
    data = Path(os.environ["RANKPROOF_DATA"]) / "beir"
    with tempfile.TemporaryDirectory() as scratch:
        base = Path(sys.argv[1] if len(sys.argv) > 1 else scratch)
        figures = {name: collection(data / name, base / name) for name in COLLECTIONS}
    target = ROOT / "corpus" / "sources" / "measured" / "rp-29.json"
    target.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
