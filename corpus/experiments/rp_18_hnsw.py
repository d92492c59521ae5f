"""Recall of an HNSW graph against exact search, and the nDCG that the missed neighbours cost (RP-TR-18).

    RANKPROOF_DATA=<folder> python corpus/experiments/rp_18_hnsw.py <artifacts folder>

Takes MiniLM vectors of each collection from `<artifacts folder>/<collection>` (embedding what is not there),
builds graphs of Qdrant's engine with this project's code, three of each kind since the engine's levels have no seed,
and searches them at several widths. A filter keeps a random share of the documents (seed 18). Writes
`corpus/sources/measured/rp-18.json`: shares of the exact first ten that are found, and the difference in nDCG@10.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluation.beir import load_corpus
from evaluation.benchmark import BenchmarkSpec, load_benchmark
from evaluation.grades import grade_matrix
from evaluation.judging import Judged, without_excluded
from evaluation.metrics import ndcg
from evaluation.qrels import id_qrels
from evaluation.stats import intervals
from ingestion.artifacts import ArtifactStore
from ingestion.schema import Corpus
from retrieval import ann
from retrieval.filters import Where
from retrieval.qdrant_server import Graph
from retrieval.retrievers.dense import Dense
from retrieval.retrievers.lance import Lance
from retrieval.retrievers.qdrant import Shard, build_shard
from retrieval.schema import Floats, Run
from retrieval.stage import Context
from retrieval.vectors import Vectors, exact_search

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-18.json"
COLLECTIONS, BUILDS = ("scifact", "npl"), 3
GRAPHS, WIDTHS = ((2, 100), (4, 8), (4, 100), (16, 100)), (10, 16, 32, 64, 128, 256)
FILTERED = ((4, 100), (16, 100))
SHARES, SEED, TOP, NO_SCAN = (0.5, 0.1, 0.02), 18, 10, 10


@dataclass
class Collection:
    """A collection with its vectors, and what exact search finds."""

    judged: Judged
    plain: Corpus
    corpus: Corpus
    asked: Vectors
    held: Vectors
    exact: Run

    @staticmethod
    def load(name: str, artifacts: Path) -> Collection:
        """Documents get a random label in the column `section`, by which they are filtered."""
        spec = BenchmarkSpec("beir", str(Path(os.environ["RANKPROOF_DATA"]) / "beir" / name))
        benchmark, corpus = load_benchmark(spec, "test"), load_corpus(Path(spec.path or ""))
        ids, qrels = id_qrels(benchmark, [], corpus.chunk_ids)
        encoder, ctx = Dense(), Context(corpus, ArtifactStore(artifacts / name), 100)
        held, asked = encoder.chunk_vectors(ctx), encoder.query_vectors(benchmark.queries.query)
        draw = np.random.default_rng(SEED).random(len(corpus))
        label = [" ".join(f"under {share}" for share in SHARES if x < share) for x in draw]
        at = corpus.chunks.schema.get_field_index("section")
        chunks = corpus.chunks.set_column(at, "section", pa.array(label))
        judged = Judged(benchmark, corpus, ids, qrels, None, {})
        labelled = Corpus.of(chunks, corpus.documents, corpus.pages)
        return Collection(judged, corpus, labelled, asked, held, exact_search(asked, held, TOP))

    def values(self, run: Run) -> Floats:
        """nDCG@10 of every question."""
        queries = len(self.judged.benchmark.queries)
        return ndcg(grade_matrix(without_excluded(run, self.judged, TOP), self.judged.qrels, queries), TOP)

    def found(self, shard: Shard, limit: int, where: Where | None = None) -> Run:
        """What the graph proposes, scored exactly."""
        rows = shard.nearest(self.asked, limit, ann.Conditions.of(where, self.corpus))
        return ann.rescored(self.asked, self.held, rows, TOP)


def graphs(data: Collection, m: int, ef_construct: int) -> Iterator[Path]:
    """Graphs of one kind, built anew each time, for any number of vectors."""
    for _ in range(BUILDS):
        with tempfile.TemporaryDirectory() as name:
            build_shard(Path(name), data.corpus, data.held, Graph(m, ef_construct, NO_SCAN))
            yield Path(name)


def kept(data: Collection, run: Run) -> dict[str, float]:
    """Shares of the exact first ten that the run has: all, those at rank 1, the relevant and the other ones."""
    exact, n = data.exact, len(data.judged.benchmark.queries)
    there = np.isin(exact.query.astype(np.int64) << 32 | exact.chunk, run.query.astype(np.int64) << 32 | run.chunk)
    relevant = grade_matrix(exact, data.judged.qrels, n).grades[exact.query, exact.rank - 1] > 0
    parts = {"recall": there, "first": there[exact.rank == 1], "hits": there[relevant], "others": there[~relevant]}
    return {name: float(part.mean()) for name, part in parts.items()}


def summary(data: Collection, runs: Sequence[Run]) -> dict[str, Any]:
    """What the builds keep of the exact neighbours, and what that costs in nDCG@10 (mean over the builds)."""
    exact, values = data.values(data.exact), [data.values(run) for run in runs]
    found = intervals(np.mean(values, axis=0) - exact, data.judged.benchmark.queries.cluster, seed=SEED)
    shares = [kept(data, run) for run in runs]
    out: dict[str, Any] = {name: round(float(np.mean([s[name] for s in shares])), 4) for name in shares[0]}
    out |= {"least": round(min(s["recall"] for s in shares), 4), "most": round(max(s["recall"] for s in shares), 4)}
    out["difference"] = [round(float(x[0]), 4) for x in (found.mean, found.lo, found.hi)]
    out["changed"] = round(float(np.mean([np.mean(v != exact) for v in values])), 4)
    return out


def without_acorn(shard: Shard, data: Collection, where: Where) -> Run:
    """The same filtered search without ACORN, by the engine's plain walk."""
    engine, condition = shard._engine, shard._filter(ann.Conditions.of(where, data.corpus))
    params, rows = engine.SearchParams(hnsw_ef=shard._ef), []
    for vector in data.asked.tolist():
        request = engine.QueryRequest(query=engine.Query.Nearest(vector), limit=TOP, filter=condition, params=params)
        (points,) = shard._shard.query_batch(engine.QueryBatchRequest([request]))
        rows.append(np.asarray([point.id for point in points], dtype=np.int64))
    return ann.rescored(data.asked, data.held, rows, TOP)


def sweep(data: Collection, store: ArtifactStore) -> dict[str, Any]:
    """Every kind of graph at every width, filters on two of them, and LanceDB's graph at its defaults."""
    out: dict[str, Any] = {}
    narrow: dict[str, list[float]] = {}
    for m, ef_construct in GRAPHS:
        runs: dict[str, list[Run]] = {}
        for folder in graphs(data, m, ef_construct):
            for ef in WIDTHS:
                runs.setdefault(f"m={m} efc={ef_construct} ef={ef}", []).append(data.found(Shard(folder, ef), TOP))
            for share in SHARES if (m, ef_construct) in FILTERED else ():
                where, shard = Where(section=f"under {share}"), Shard(folder, 16)
                walks = {"acorn": data.found(shard, TOP, where), "plain": without_acorn(shard, data, where)}
                for walk, run in walks.items():
                    recall = ann.recall(run, data.asked, data.held, where.mask(data.corpus), TOP)
                    narrow.setdefault(f"m={m} share={share} {walk}", []).append(recall)
        out |= {key: summary(data, found) for key, found in runs.items()}
    out["filtered"] = {key: round(float(np.mean(found)), 4) for key, found in narrow.items()}
    run = Lance(Dense(), flat_below=0).search(Context(data.plain, store, TOP), data.judged.benchmark.queries)
    return {**out, "lance": summary(data, [run])}


def main(arguments: Sequence[str]) -> int:
    """Measure the collections and write their figures."""
    out: dict[str, Any] = {}
    for name in COLLECTIONS:
        data = Collection.load(name, Path(arguments[0]))
        exact = float(np.nanmean(data.values(data.exact)))
        size = {"vectors": len(data.held), "questions": len(data.asked), "exact": round(exact, 4)}
        out[name] = {**size, **sweep(data, ArtifactStore(Path(arguments[0]) / name))}
        print(json.dumps({name: out[name]}, indent=1))
    TARGET.write_text(json.dumps(out, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
