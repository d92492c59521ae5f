"""What splitting a question and adding neighbours change: public collections, joined SciFact claims, CL-SciSumm.

    RANKPROOF_DATA=<data> python corpus/experiments/rp_28_parts_and_neighbours.py [<artifacts>]

Writes `corpus/sources/measured/rp-28.json`. `<artifacts>` keeps indexes and rankings (default: a temporary folder).
"""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evaluation.beir import load_beir, load_corpus
from evaluation.coverage import Gold, Ranked, evidence_recall
from evaluation.grades import grade_matrix
from evaluation.locate import locate
from evaluation.metrics import ndcg, recall
from evaluation.pdf_bench import load_pdf_bench
from evaluation.qrels import document_qrels, span_qrels
from evaluation.randomise import sign_flips
from evaluation.schema import Benchmark, Qrels
from evaluation.stats import intervals
from ingestion.artifacts import ArtifactStore
from ingestion.chunkers.sentence import SentenceChunker
from ingestion.compose import build_ingest
from ingestion.config import load, to_plain
from ingestion.pipeline import ingest
from ingestion.schema import Corpus
from retrieval.fusers.pairs import add_up
from retrieval.rerankers.neighbours import Neighbours, chunks_around
from retrieval.retrievers.bm25 import Bm25
from retrieval.retrievers.decompose import Decompose, split
from retrieval.schema import Queries, Run
from retrieval.stage import Context, Pipeline

DATA = Path(os.environ["RANKPROOF_DATA"])
TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-28.json"
TEXTS, WORDS, CUTS, SEED = ("cacm", "cranfield", "med", "npl", "scifact"), (50, 100, 200), (2, 5, 10, 20, 50), 28

CONSTANTS = (0, 1, 2, 5, 10, 20, 200)
EXAMPLES = (
    "What is a sign test and when should one use a randomisation test?",
    "How does MMR work and why does it need a cache?",
    "What is the difference between BM25 and TF-IDF in short chunks?",
    "Compare the memory of HNSW and exact search",
    "How deep should the lists of BM25 and MiniLM be for rank fusion and linear fusion respectively?",
    'What does "rank and fuse" mean?',
    "Does stemming help, or is it harmless?",
)


def spread(values: np.ndarray, clusters: Sequence[str]) -> list[float]:
    """Mean and 95 % interval of one series, whole clusters resampled."""
    found = intervals(np.round(values, 12)[None], clusters, SEED)
    return [round(float(x[0]), 4) for x in (found.mean, found.lo, found.hi)]


def paired(a: np.ndarray, b: np.ndarray, clusters: Sequence[str]) -> list[float]:
    """Difference a - b with its interval, and the p-value of the paired randomisation test."""
    p = sign_flips(np.stack([a, b]), np.asarray([[0, 1]]), clusters, SEED)[0]
    return [*spread(a - b, clusters), round(float(p), 4)]


def splitting(corpus: Corpus, benchmark: Benchmark, qrels: Qrels, store: ArtifactStore) -> dict:
    """How many questions the rules split, and what that does to them."""
    ctx, queries = Context(corpus, store), benchmark.queries
    parts = np.asarray([len(split(text)) for text in queries.query])
    rows = np.flatnonzero(parts > 1)
    found = {"questions": len(queries), "split": len(rows), "parts": np.bincount(parts, minlength=5)[1:].tolist()}
    values = {}
    for name, stage in (("bm25", Bm25()), ("decompose", Decompose()), ("zero", Decompose(k=0))):
        run = ctx.search(stage, queries)
        grades = grade_matrix(run, qrels, len(queries))
        values[name] = {"nDCG@5": ndcg(grades, 5), "R@100": recall(grades, 100)}
    clusters = [queries.cluster[row] for row in rows]
    for metric in ("nDCG@5", "R@100"):
        a, b = (values[name][metric][rows] for name in ("decompose", "bm25"))
        if len(rows) > 1:
            found[metric] = {"bm25": spread(b, clusters), "difference": paired(a, b, clusters)}
            zero = values["zero"][metric][rows]
            found[metric] |= {"zero": paired(zero, b, clusters), "zero against 60": paired(zero, a, clusters)}
            found[metric] |= {"wins": int((a > b + 1e-9).sum()), "losses": int((a < b - 1e-9).sum())}
    return found


def joined(corpus: Corpus, benchmark: Benchmark, store: ArtifactStore, near: bool) -> dict:
    """Claims joined in twos: how often one ranking shows an abstract of both."""
    queries, gold = benchmark.queries, {}
    for row in benchmark.documents:
        if row.grade > 0:
            gold.setdefault(row.qid, set()).add(corpus.row_of[row.doc_id])
    pairs = couples(benchmark, gold, near)
    whole = [f"{queries.query[a].rstrip('. ')}. {queries.query[b].rstrip('. ')}." for a, b in pairs]
    table = Queries.of([f"{row:03}" for row in range(len(pairs))], whole)
    ctx = Context(corpus, store)
    runs = {"whole": ctx.search(Bm25(), table), "decompose": ctx.search(Decompose(), table)}
    runs |= {f"decompose, k = {k}": ctx.search(Decompose(k=k), table) for k in CONSTANTS}
    alone = [
        ctx.search(Bm25(), Queries.of(table.qid, [queries.query[pair[side]] for pair in pairs])) for side in (0, 1)
    ]
    runs["parts only"] = add_up([(run, 1 / (60 + run.rank.astype(float))) for run in alone], 100)
    found: dict = {"pairs": len(pairs), "split": sum(len(split(text)) > 1 for text in whole)}
    series = {}
    for name, run in runs.items():
        tops = [run.only(row).chunk.tolist() for row in range(len(pairs))]
        last = [
            max(min((top.index(c) for c in gold[queries.qid[q]] if c in top), default=100) for q in pair)
            for pair, top in zip(pairs, tops, strict=True)
        ]
        series[name] = {k: (np.asarray(last) < k).astype(float) for k in CUTS}
        found[name] = {str(k): spread(series[name][k], table.cluster) for k in CUTS}
    single = [
        [bool(gold[queries.qid[pair[s]]] & set(alone[s].only(row).chunk[:5])) for s in (0, 1)]
        for row, pair in enumerate(pairs)
    ]
    found["each alone in 5"] = round(float(np.mean(single)), 4)
    for k in (5, 10):
        for a, b in (("decompose", "whole"), ("decompose, k = 0", "whole"), ("decompose, k = 0", "decompose")):
            found[f"{a} - {b} at {k}"] = paired(series[a][k], series[b][k], table.cluster)
    return found


def couples(benchmark: Benchmark, gold: dict[str, set[int]], near: bool) -> list[tuple[int, int]]:
    """150 disjoint couples of claims about different abstracts: at random, or the most alike in words first."""
    texts, order = benchmark.queries.query, np.random.default_rng(SEED).permutation(len(benchmark.queries))
    bags = [set(text.lower().split()) for text in texts]
    qids, free, found = benchmark.queries.qid, order.tolist(), []
    while len(free) > 1:
        a = free.pop(0)
        fit = [b for b in free if not gold[qids[a]] & gold[qids[b]]]
        if fit:
            b = max(fit, key=lambda b: len(bags[a] & bags[b]) / len(bags[a] | bags[b])) if near else fit[0]
            free.remove(b)
            found.append((a, b))
    return found


def beside(store: ArtifactStore) -> dict:
    """Neighbours on CL-SciSumm: where evidence stands around a hit, and what adding neighbours does by chunk size."""
    folder, found = DATA / "pdf_bench" / "clscisumm", {}
    benchmark = load_pdf_bench(folder, "test")
    queries = benchmark.queries
    for words in WORDS:
        corpus = ingest(folder / "pdfs", build_ingest(to_plain(load([]))["ingest"]), SentenceChunker(words, 1), store)
        spans = locate(benchmark, corpus)
        gold, qrels, ctx = (
            Gold(corpus, spans, benchmark),
            span_qrels(spans, corpus, len(queries)),
            Context(corpus, store),
        )
        runs = {"bm25": ctx.search(Bm25(), queries)}
        for hits in (1, 3, 10):
            runs[f"hits {hits}"] = ctx.search(Pipeline(Bm25(), (("neighbours", Neighbours(1, hits)),)), queries)
        ev = {n: {b: evidence_recall(Ranked(run, gold), b) for b in (500, 1000, 2000)} for n, run in runs.items()}
        rows: dict = {n: {str(b): spread(v, queries.cluster) for b, v in by.items()} for n, by in ev.items()}
        rows["difference"] = {
            n: paired(by[1000], ev["bm25"][1000], queries.cluster) for n, by in ev.items() if n != "bm25"
        }
        rows["chunks"], rows["words"] = len(corpus), round(float(gold.sizes[0].mean()), 1)
        if words == 200:
            rows["places"] = places(runs["bm25"], chunks_around(corpus, 1), qrels)
            rows["splitting"] = splitting(corpus, benchmark, qrels, store)
        found[str(words)] = rows
    return found


def places(run: Run, around: np.ndarray, qrels: Qrels) -> dict:
    """Shares of chunks that are relevant: at a rank, and beside the hit at a rank if it ranks nowhere above."""
    good = set(zip(qrels.query[qrels.grade > 0].tolist(), qrels.chunk[qrels.grade > 0].tolist(), strict=True))
    place = {(q, c): r for q, c, r in zip(run.query.tolist(), run.chunk.tolist(), run.rank.tolist(), strict=True)}
    at: dict[int, list[bool]] = {}
    near: dict[tuple[int, bool], list[bool]] = {}
    for (q, chunk), rank in place.items():
        at.setdefault(rank, []).append((q, chunk) in good)
        for other in around[chunk].tolist() if rank <= 10 else ():
            if other >= 0 and place.get((q, other), 999) > rank:
                near.setdefault((rank, (q, chunk) in good), []).append((q, other) in good)
    pool = lambda hit: [x for (_, h), xs in near.items() if h == hit for x in xs]  # noqa: E731
    return {
        "rank": {str(r): round(float(np.mean(at[r])), 4) for r in range(1, 21)},
        "beside": {str(r): round(float(np.mean(near[r, True] + near[r, False])), 4) for r in range(1, 11)},
        "beside relevant": [round(float(np.mean(pool(True))), 4), len(pool(True))],
        "beside irrelevant": [round(float(np.mean(pool(False))), 4), len(pool(False))],
    }


def main() -> None:
    """Measure all of it and write the file."""
    with tempfile.TemporaryDirectory() as spare:
        store = ArtifactStore(Path(sys.argv[1] if len(sys.argv) > 1 else spare))
        found: dict = {
            "clscisumm": beside(store),
            "splitting": {},
            "examples": [[text, split(text)] for text in EXAMPLES],
        }
        for name in TEXTS:
            corpus, benchmark = load_corpus(DATA / "beir" / name), load_beir(DATA / "beir" / name, "test")
            found["splitting"][name] = splitting(corpus, benchmark, document_qrels(benchmark, corpus), store)
        found["joined"] = {n: joined(corpus, benchmark, store, n == "near") for n in ("random", "near")}
    TARGET.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
