"""Losses planted by hand: lists, judgments and arms made for tests, and one strategy over real text."""

from __future__ import annotations

import numpy as np

from evaluation.arms import RAN, Arm, run_arm
from evaluation.explain.diagnosis import losses
from evaluation.judging import Judged
from evaluation.locate import locate
from evaluation.qrels import span_qrels
from evaluation.request import ArmSpec
from evaluation.schema import Benchmark, Evidence, Qrels
from ingestion.artifacts import ArtifactStore
from retrieval.build import build_strategy
from retrieval.remembered import Remembered
from retrieval.schema import Queries, empty_run, make_run
from retrieval.stage import Context, walk
from tests.unit.evaluation.papers import corpus_of

BM25 = {"_target_": "retrieval.retrievers.bm25.Bm25"}
TFIDF = {"_target_": "retrieval.retrievers.tfidf.Tfidf"}
RRF = {"_target_": "retrieval.fusers.rrf.Rrf"}
DEDUP = {"_target_": "retrieval.rerankers.dedup.Dedup"}
MMR = {"_target_": "retrieval.rerankers.mmr.Mmr"}
NOVELTY = {"_target_": "retrieval.rerankers.novelty.Novelty"}
NEIGHBOURS = {"_target_": "retrieval.rerankers.neighbours.Neighbours"}
LONG = {  # named so that a name says nothing about its kind
    "branches": {"a": BM25, "b": TFIDF, "c": BM25},
    "fuser": RRF,
    "then": {"first": DEDUP, "fuser": MMR, "mmr_0.5": NOVELTY},
    "use": {},
}
PATHS = ["branches.a", "branches.b", "branches.c", "fuser", "then.first", "then.fuser", "then.mmr_0.5"]
N_CHUNKS, TARGET, K = 40, 17, 5


def remembered(run, **facts):
    return Remembered(run, 0.0, np.zeros(1), {}, facts={name.replace("_", " "): fact for name, fact in facts.items()})


def arm_of(config, *runs, name="x", paths=None):
    paths = paths or paths_of(config)
    stages = {path: remembered(run) for path, run in zip(paths, runs, strict=True)}
    return Arm(name, RAN, run=runs[-1], config=config, stages=stages)


def paths_of(config):
    """The paths of a strategy's lists, in the order in which they are made."""
    return [path for path, _ in walk(build_strategy(config))]


def judged_rows(rows, n_queries, n_chunks=N_CHUNKS, **benchmark):
    """Judgments of (query, chunk, grade, class) over plain ids, with a corpus of one chunk a document."""
    query, chunk, grade, group = (np.asarray(column) for column in zip(*sorted(rows), strict=True))
    qrels = Qrels(
        query.astype(np.int32),
        chunk.astype(np.int32),
        grade.astype(np.int8),
        group.astype(np.int32),
        (grade > 0).astype(np.int64),
        np.ones(n_queries, dtype=np.int32),
    )
    corpus = corpus_of({f"{at:03}.pdf": [f"text number {at}"] for at in range(n_chunks)})
    queries = Queries.of([f"q{at:04}" for at in range(n_queries)], [""] * n_queries)
    return Judged(Benchmark("hand", queries, **benchmark), corpus, corpus.chunk_ids, qrels, None, {})


def rankings(lists):
    """A run of lists of chunk rows, one per query."""
    rows = [(query, chunk, -at) for query, chunks in enumerate(lists) for at, chunk in enumerate(chunks)]
    return make_run(*zip(*rows, strict=True), depth=100) if rows else empty_run()


def stages_of(found):
    return list(zip(found["stage"], found["path"], strict=True))


def real(tmp_path, papers, cuts, evidence, config, given=None, query="alpha beta", depth=100, k=1, coverage=0.5):
    """The losses of one strategy and one question, with everything between quote and ranking real."""
    corpus = corpus_of(papers, cuts)
    queries = Queries.of(["q1"], [query])
    rows = tuple(Evidence("q1", doc, 0, -1, -1, quote, grade, "hand") for doc, quote, grade in evidence)
    benchmark = Benchmark("hand", queries, rows)
    spans = locate(benchmark, corpus)
    qrels = span_qrels(spans, corpus, 1, coverage)
    judged = Judged(benchmark, corpus, corpus.chunk_ids, qrels, spans, {})
    runs = {
        name: make_run([0] * len(ids), [corpus.row_of[i] for i in ids], range(len(ids), 0, -1), depth)
        for name, ids in (given or {}).items()
    }
    ctx = Context(corpus, ArtifactStore(tmp_path), depth, given=runs)
    arm = run_arm(ctx, ArmSpec("x", build_strategy(config), config), judged)
    assert arm.state == RAN, arm.reason
    return losses([arm], judged, k, coverage)


def given(name):
    return {"_target_": "retrieval.retrievers.given.Given", "key": name}


TEXT = "alpha beta gamma delta. epsilon zeta eta theta. iota kappa lambda mu. nu xi omicron pi."
#       0-23                    24-47                   48-69                 70-86
