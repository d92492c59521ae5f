"""RP-TR-26: what strategies cost, in units of the calibration loop of `evaluation.regression.pace`, never in seconds.

RANKPROOF_DATA=<folder> python corpus/experiments/rp_26_costs.py [artifact folder]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from evaluation.pdf_bench import load_pdf_bench
from evaluation.regression.pace import calibrate
from ingestion.artifacts import ArtifactStore
from ingestion.config import load, to_plain
from ingestion.pipeline import build_chunker, build_ingest, ingest
from ingestion.schema import Corpus
from retrieval.build import build_strategy, strategy_config
from retrieval.embedding import Encoder
from retrieval.schema import Queries
from retrieval.stage import LATENCY_SAMPLE, Context, Retriever
from retrieval.vectors import exact_search

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-26.json"
BENCH = Path(os.environ["RANKPROOF_DATA"]) / "pdf_bench" / "clscisumm"
STRATEGIES = ("bm25", "tfidf", "rrf", "rrf_dedup_mmr", "static", "sentence_transformer", "rrf_dense")
SIZES, LENGTHS, ROUNDS, PASSES, SEED = (50, 100, 150, 200, 400), (50, 100, 200, 400), 3, 3, 26
SCANS, DIMS, TEXTS = (1_000, 10_000, 100_000), 384, 24
ENCODER = Encoder("all-MiniLM-L6-v2", "", None, 8, 2)
Row = dict[str, Any]


def sig(value: float, digits: int = 3) -> float:
    """A number with so many significant digits: more is noise."""
    return float(f"{value:.{digits}g}")


def spent(work: Callable[[], object]) -> float:
    """Milliseconds of processor time, all threads together: what others use of the processors is not in it."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def in_units(work: Callable[[], object], passes: int = PASSES) -> float:
    """The fastest of several passes, in units of the loop measured right before and after."""
    before = calibrate()
    fastest = min(spent(work) for _ in range(passes))
    return fastest / min(before, calibrate())


def corpus_of(words: int, store: ArtifactStore) -> Corpus:
    """CL-SciSumm in sentence chunks of so many words."""
    plain = to_plain(load(["chunker=sentence", f"chunker.max_words={words}"]))
    return ingest(BENCH / "pdfs", build_ingest(plain["ingest"]), build_chunker(plain["chunker"]), store, False)


def latencies(stage: Retriever, ctx: Context, queries: Queries) -> Row:
    """Quantiles over single queries, and a query's share of the batch, per round, in units."""
    sample = np.linspace(0, len(queries) - 1, LATENCY_SAMPLE).astype(int).tolist()
    singles = [queries.take([row]) for row in sample]
    stage.search(ctx.inside(), queries)  # builds and loads what is built and loaded once
    found = []
    for _ in range(ROUNDS):
        unit = calibrate()
        alone = np.full(len(singles), np.inf)
        for _ in range(PASSES):
            times = [spent(partial(stage.search, ctx.inside(), one)) for one in singles]
            alone = np.minimum(alone, times)
        batch = min(spent(partial(stage.search, ctx.inside(), queries)) for _ in range(2)) / len(queries)
        unit = min(unit, calibrate())
        found.append([*np.quantile(alone, (0.5, 0.95)), alone.max(), alone.mean() / batch * unit, batch])
        found[-1] = [value / unit for value in found[-1]]
    table = np.asarray(found)
    names = ("p50", "p95", "max", "dividend", "batch")
    return {name: [sig(x) for x in (np.median(c), c.min(), c.max())] for name, c in zip(names, table.T, strict=True)}


def sizes(store: ArtifactStore, ctx_of: Callable[[Corpus], Context], queries: Queries) -> Row:
    """Chunks per document, bytes of the indexes, and what BM25 pays for a query, by chunk length."""
    found = {}
    for words in SIZES:
        corpus = corpus_of(words, store)
        ctx = ctx_of(corpus)
        row: Row = {"chunks": len(corpus), "papers": corpus.documents.num_rows}
        row["words"] = sum(len(text.split()) for text in corpus.texts)
        row["text_bytes"] = sum(len(text.encode()) for text in corpus.texts)
        for name in ("bm25", "tfidf"):
            said = ctx.remembered(build_strategy(strategy_config(name)), queries)
            row[f"{name}_bytes"] = sum(size for size, _ in said.indexes.values())
        row["vector_bytes"], row["cut"] = len(corpus) * DIMS * 4, ENCODER.truncated(corpus.texts)
        bm25 = build_strategy(strategy_config("bm25"))
        row["bm25"] = sig(latencies(bm25, ctx, queries)["p50"][0])
        found[str(words)] = row
    return found


def encoding(corpus: Corpus) -> Row:
    """Units that MiniLM takes for pages cut after so many words, and how many it cannot read whole."""
    long = [text.split() for text in corpus.pages["text"].to_pylist() if len(text.split()) >= max(LENGTHS)]
    rng = np.random.default_rng(SEED)
    chosen = [long[i] for i in rng.choice(len(long), TEXTS, replace=False)]
    found = {}
    for words in LENGTHS:
        texts = [" ".join(text[:words]) for text in chosen]
        ENCODER.encode(texts[:2])
        units = in_units(partial(ENCODER.encode, texts), 2) / TEXTS
        tokens = sig(float(ENCODER.lengths(texts).mean()))
        found[str(words)] = {"units": sig(units), "tokens": tokens, "cut": ENCODER.truncated(texts)}
    return found


def scans() -> Row:
    """Units of one exact search, and of 32 together per query, over random unit vectors."""
    rng = np.random.default_rng(SEED)
    found = {}
    for n in SCANS:
        vectors = rng.standard_normal((n, DIMS)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        queries = vectors[rng.choice(n, 32)]
        one = in_units(lambda q=queries, v=vectors: exact_search(q[:1], v, 100), 7)
        many = in_units(lambda q=queries, v=vectors: exact_search(q, v, 100)) / 32
        found[str(n)] = {"one": sig(one), "of_32": sig(many), "bytes": n * DIMS * 4}
    return found


def main(store: ArtifactStore) -> None:
    """Write all figures."""
    torch.set_num_threads(1)
    torch.set_num_threads = lambda _: None  # with one thread nothing waits for a helper that waits for a processor
    benchmark = load_pdf_bench(BENCH, "graded")
    queries = benchmark.queries

    def context(corpus: Corpus) -> Context:
        return Context(corpus, store, 100, 0, {}, remember=False)

    corpus = corpus_of(200, store)
    ctx = context(corpus)
    result: Row = {"questions": len(queries), "sample": LATENCY_SAMPLE, "chunks": len(corpus), "rounds": ROUNDS}
    units = [calibrate() for _ in range(5)]
    result["unit_spread"] = sig(max(units) / min(units))
    result["strategies"] = {n: latencies(build_strategy(strategy_config(n)), ctx, queries) for n in STRATEGIES}
    result["encode"] = encoding(corpus)
    result["scan"] = scans()
    result["sizes"] = sizes(store, context, queries)
    TARGET.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(ArtifactStore(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())))
