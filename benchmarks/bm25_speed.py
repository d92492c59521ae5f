"""Speed of BM25 search as ratios within one run: our kernel against bare bm25s (numba) and against rank-bm25.

    RANKPROOF_DATA=<folder> python benchmarks/bm25_speed.py

SciFact, all test queries in one batch, k = 100, the same terms for all three, analysis and index not counted. Ours
and bm25s take turns on the same number of threads; the median of the rounds counts. rank-bm25 scores some of the
queries one by one, and its time is scaled to all. Targets: ours / bm25s at most 1.3, rank-bm25 / ours at least 200.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bm25s
import numba
from rank_bm25 import BM25Okapi

from evaluation.beir import load_beir, load_corpus
from ingestion.artifacts import ArtifactStore
from retrieval.analysis import Analysed, analysed, tokens
from retrieval.retrievers.bm25 import Bm25
from retrieval.schema import Queries
from retrieval.sparse import Postings
from retrieval.stage import Context

BARE, REFERENCE = 1.3, 200.0
K, ROUNDS, SAMPLE = 100, 61, 20


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def bare_search(corpus: Analysed, rows: list[list[int]], asked: list[list[int]]) -> Callable[[], object]:
    """The search of bm25s with its own numba back end over the same term ids."""
    index = bm25s.BM25(method="lucene", k1=Bm25.k1, b=Bm25.b, backend="numba")
    index.index(bm25s.tokenization.Tokenized(ids=rows, vocab=corpus.id_of), show_progress=False)
    index.activate_numba_scorer()
    threads = numba.get_num_threads()
    return lambda: index.retrieve(asked, k=K, n_threads=threads, show_progress=False)


def our_search(ctx: Context, texts: list[str]) -> Callable[[], object]:
    """The search of our kernel: ranked Run included, queries analysed before."""
    Bm25().search(ctx, Queries.of(["q"], ["any"]))  # builds the index
    (rows,) = ctx.store.root.glob("bm25/*/rows.npy")
    postings, queries = Postings.load(rows.parent), analysed(ctx).query_counts(texts)
    return lambda: postings.search(queries, K)


def main() -> int:
    folder = Path(os.environ.get("RANKPROOF_DATA", "")) / "beir" / "scifact"
    if not folder.is_dir():
        print("bm25_speed: skipped; set RANKPROOF_DATA to the folder that holds beir/scifact")
        return 0
    texts = list(load_beir(folder, "test").queries.query)
    with tempfile.TemporaryDirectory() as artifacts:
        ctx = Context(load_corpus(folder), ArtifactStore(Path(artifacts)), depth=K)
        corpus = analysed(ctx)
        rows = [corpus.ids[low:high].tolist() for low, high in zip(corpus.offsets, corpus.offsets[1:], strict=False)]
        asked = [[corpus.id_of[term] for term in tokens(text) if term in corpus.id_of] for text in texts]
        ours, bare = our_search(ctx, texts), bare_search(corpus, rows, asked)
        reference = BM25Okapi(rows, k1=Bm25.k1, b=Bm25.b)
    for call in (ours, bare, ours, bare):  # compilation
        call()
    rounds = [(timed(ours), timed(bare)) for _ in range(ROUNDS)]
    a, b = (statistics.median(column) for column in zip(*rounds, strict=True))
    some = asked[:: max(1, len(asked) // SAMPLE)][:SAMPLE]
    c = timed(lambda: [reference.get_scores(query) for query in some]) * len(asked) / len(some)
    print(f"SciFact: {len(rows)} chunks, {len(asked)} queries, k={K}, {numba.get_num_threads()} threads")
    print(f"ours       {a * 1000:9.2f} ms")
    print(f"bm25s      {b * 1000:9.2f} ms  ours/bm25s = {a / b:.2f} (target <= {BARE})")
    print(
        f"rank_bm25  {c * 1000:9.0f} ms  rank_bm25/ours = {c / a:.0f} (target >= {REFERENCE:.0f}; "
        f"{len(some)} queries scaled to {len(asked)})"
    )
    return 0 if a / b <= BARE and c / a >= REFERENCE else 1


if __name__ == "__main__":
    sys.exit(main())
