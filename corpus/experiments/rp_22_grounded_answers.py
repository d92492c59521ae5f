"""Evidence in word budgets on CL-SciSumm, gold abstracts in the first k and a refusal threshold on text collections.

    RANKPROOF_DATA=<data> python corpus/experiments/rp_22_grounded_answers.py [<artifacts>]

Writes `corpus/sources/measured/rp-22.json`. `<artifacts>` keeps indexes and rankings (default: a temporary folder).
"""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evaluation.beir import load_beir, load_corpus
from evaluation.coverage import Gold, Ranked, evidence_precision, evidence_recall
from evaluation.families import holm
from evaluation.judging import oracle_run
from evaluation.locate import locate
from evaluation.pdf_bench import load_pdf_bench
from evaluation.qrels import span_qrels
from evaluation.randomise import sign_flips
from evaluation.schema import Benchmark
from evaluation.stats import intervals
from ingestion.artifacts import ArtifactStore
from ingestion.compose import build_chunker, build_ingest
from ingestion.config import load, to_plain
from ingestion.pipeline import ingest
from ingestion.schema import Corpus
from retrieval.analysis import analysed, tokens
from retrieval.build import build_strategy, strategy_config
from retrieval.schema import Queries, Run, make_run
from retrieval.stage import Context

DATA = Path(os.environ["RANKPROOF_DATA"])
TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-22.json"
BUDGETS = (250, 500, 1000, 2000)
ARMS = ("bm25", "bm25_prf", "neighbours", "random", "rrf", "rrf_dense", "rrf_mmr", "sentence_transformer", "splade")
TEXTS, LINES, SHOWN, HEADER, SEED = ("cacm", "cranfield", "med", "npl", "scifact"), (0.5, 0.6, 0.7, 0.8), 5, 12, 22


def rank(corpus: Corpus, queries: Queries, store: ArtifactStore, name: str) -> Run:
    """The ranking of a named strategy, 100 deep."""
    return Context(corpus, store).search(build_strategy(strategy_config(name)), queries)


def spread(values: np.ndarray, clusters: Sequence[str]) -> list[list[float]]:
    """Mean with its 95 % interval of every series, whole clusters resampled."""
    found = intervals(values, clusters, SEED)
    return [[round(float(x), 4) for x in row] for row in zip(found.mean, found.lo, found.hi, strict=True)]


def packed(run: Run, words: np.ndarray, budget: int, skip: bool, header: int) -> Run:
    """Whole chunks that fit a budget, each with a header; `skip` goes on behind one that does not fit."""
    kept, query, left = [], -1, 0
    for row, (q, chunk) in enumerate(zip(run.query.tolist(), run.chunk.tolist(), strict=True)):
        query, left = (q, budget) if q != query else (query, left)
        fits = words[chunk] + header <= left
        if fits:
            kept.append(row)
        left = left - words[chunk] - header if fits else left if skip else -1
    return make_run(run.query[kept], run.chunk[kept], -run.rank[kept].astype(float), 100)


def paired(a: np.ndarray, b: np.ndarray, clusters: Sequence[str]) -> list[float]:
    """Difference a - b with its interval, and the p-value of the paired randomisation test."""
    p = sign_flips(np.stack([a, b]), np.asarray([[0, 1]]), clusters, SEED)[0]
    return [*spread((a - b)[None], clusters)[0], round(float(p), 4)]


def budgets(store: ArtifactStore) -> dict:
    """Judged evidence on CL-SciSumm that contexts of several sizes hold, by strategy and by way of packing."""
    plain = to_plain(load([]))
    folder = DATA / "pdf_bench" / "clscisumm"
    corpus = ingest(folder / "pdfs", build_ingest(plain["ingest"]), build_chunker(plain["chunker"]), store)
    benchmark = load_pdf_bench(folder, "test")
    spans = locate(benchmark, corpus)
    gold, queries = Gold(corpus, spans, benchmark), benchmark.queries
    runs = {name: rank(corpus, queries, store, name) for name in ARMS}
    runs["oracle"] = oracle_run(span_qrels(spans, corpus, len(queries)), len(corpus), 100)
    recall = {n: np.stack([evidence_recall(Ranked(r, gold), b) for b in BUDGETS]) for n, r in runs.items()}
    precise = {n: np.stack([evidence_precision(Ranked(r, gold), b) for b in BUDGETS]) for n, r in runs.items()}
    words, base, at = gold.sizes[0], runs["bm25"], BUDGETS.index(1000)
    ways = {"cut": base, "stop": packed(base, words, 1000, False, 0), "skip": packed(base, words, 1000, True, 0)}
    ways["skip_header"] = packed(base, words, 1000, True, HEADER)
    size = {name: 1000 if name == "cut" else 10**6 for name in ways}
    ways = {name: evidence_recall(Ranked(run, gold), size[name]) for name, run in ways.items()}
    rivals = [name for name in runs if name not in ("bm25", "oracle", "random")]
    series = np.stack([recall[name][at] for name in ("bm25", *rivals)])
    pairs = np.asarray([[row, 0] for row in range(1, len(series))])
    p = holm(sign_flips(series, pairs, queries.cluster, SEED))
    against = spread(series[1:] - series[0], queries.cluster)
    return {
        "arms": {name: spread(values, queries.cluster) for name, values in sorted(recall.items())},
        "precision": {
            name: [round(float(v), 4) for v in rows.mean(axis=1)] for name, rows in sorted(precise.items())
        },
        "against_bm25": {n: [*d, round(float(x), 4)] for n, d, x in zip(rivals, against, p, strict=True)},
        "none_at_1000": round(float((recall["bm25"][at] == 0).mean()), 4),
        "all_at_1000": round(float((recall["bm25"][at] > 0.999).mean()), 4),
        "packing": {name: spread(values, queries.cluster)[0] for name, values in ways.items()},
        "packing_differences": {
            f"{a} - {b}": paired(ways[a], ways[b], queries.cluster)
            for a, b in (("skip", "cut"), ("skip", "stop"), ("skip_header", "skip"))
        },
        "questions": len(queries),
        "documents": len(set(queries.cluster)),
        "chunks": len(corpus),
        "chunk_words": round(float(words.mean()), 1),
        "evidence_words": round(float(np.mean([len(row.quote.split()) for row in benchmark.evidence])), 1),
        "evidence_spans": round(len(benchmark.evidence) / len(queries), 2),
    }


def first_k(corpus: Corpus, benchmark: Benchmark, runs: dict[str, Run]) -> dict:
    """Share of claims with a gold abstract in the first k."""
    gold = {(row.qid, row.doc_id) for row in benchmark.documents if row.grade > 0}
    found, top = {}, {}
    for name, run in runs.items():
        at = np.full(len(benchmark.queries), 101)
        for q, chunk, place in zip(run.query, run.chunk, run.rank, strict=True):
            hit = (benchmark.queries.qid[q], corpus.chunk_ids[chunk]) in gold
            at[q] = min(at[q], place) if hit else at[q]
        top[name] = (at <= SHOWN).astype(float)
        found[name] = {
            str(k): spread((at <= k)[None].astype(float), benchmark.queries.qid)[0] for k in (1, 3, 5, 10, 20)
        }
    found["rrf_dense - bm25"] = paired(top["rrf_dense"], top["bm25"], benchmark.queries.qid)
    return found


def covers(corpus: Corpus, benchmark: Benchmark, store: ArtifactStore) -> dict:
    """Weighted share of question terms in the first chunks, with and without what is judged relevant."""
    ctx, queries = Context(corpus, store), benchmark.queries
    terms = analysed(ctx)
    run = rank(corpus, queries, store, "bm25")
    gold = {(row.qid, row.doc_id) for row in benchmark.documents if row.grade > 0}
    judged = np.asarray(
        [(queries.qid[q], corpus.chunk_ids[c]) in gold for q, c in zip(run.query, run.chunk, strict=True)]
    )
    idf = np.log(1 + (len(corpus) - terms.frequency + 0.5) / (terms.frequency + 0.5))
    unknown, values = float(np.log(1 + (len(corpus) + 0.5) / 0.5)), {}
    for name, part in (("whole", run), ("hollow", without(run, judged))):
        bounds, rows = part.bounds(len(queries)), []
        for q, text in enumerate(queries.query):
            top = part.chunk[bounds[q] : min(bounds[q + 1], bounds[q] + SHOWN)]
            there = {t for c in top for t in terms.ids[terms.offsets[c] : terms.offsets[c + 1]].tolist()}
            asked = [terms.id_of.get(term, -1) for term in set(tokens(text))]
            weight = [unknown if t < 0 else float(idf[t]) for t in asked]
            rows.append(sum(w for t, w in zip(asked, weight, strict=True) if t in there) / max(sum(weight), 1e-9))
        values[name] = np.asarray(rows)
    apart = values["whole"][:, None] - values["hollow"][None, :]
    return {
        "refused": {str(x): [round(float((values[n] < x).mean()), 4) for n in ("whole", "hollow")] for x in LINES},
        "median": [round(float(np.median(values[n])), 4) for n in ("whole", "hollow")],
        "auc": round(float((apart > 0).mean() + (apart == 0).mean() / 2), 4),
        "questions": len(queries),
    }


def without(run: Run, drop: np.ndarray) -> Run:
    """The ranking without some of its rows."""
    return make_run(run.query[~drop], run.chunk[~drop], run.score[~drop], 100)


def main() -> None:
    """Measure all of it and write the file."""
    with tempfile.TemporaryDirectory() as spare:
        store = ArtifactStore(Path(sys.argv[1] if len(sys.argv) > 1 else spare))
        found: dict = {"clscisumm": budgets(store), "refusal": {}}
        for name in TEXTS:
            corpus, benchmark = load_corpus(DATA / "beir" / name), load_beir(DATA / "beir" / name, "test")
            found["refusal"][name] = covers(corpus, benchmark, store)
        runs = {
            arm: rank(corpus, benchmark.queries, store, arm) for arm in ("bm25", "sentence_transformer", "rrf_dense")
        }
        found["scifact"] = first_k(corpus, benchmark, runs)
        found["scifact_words"] = round(float(np.mean([len(text.split()) for text in corpus.texts])), 1)
    TARGET.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
