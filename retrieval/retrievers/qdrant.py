"""Approximate nearest neighbours in Qdrant: the engine in process, or a server by URL.

HNSW after Malkov and Yashunin (2018). The engine draws the levels of its graph from a generator without a seed, on
one thread as on several: two builds differ in their graphs, and so may rankings in late places. Up to
`full_scan_threshold` the engine scans all vectors, as a server does by default; such rankings repeat to the byte.
Searches with a filter walk the graph by ACORN (Patel et al. 2024), over neighbours that the filter hides: of 100,000
passages, filters that left 18 to 82 % had a recall@10 of .91 to .99 without it and of .99 with it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ingestion.artifacts import fingerprint, write_atomic
from ingestion.schema import Corpus
from retrieval import ann
from retrieval.ann import Conditions, Index, Rows, VectorStage
from retrieval.qdrant_server import ALWAYS, Collection, Graph
from retrieval.schema import Queries, Run
from retrieval.stage import Context
from retrieval.vectors import Vectors

KIND = "qdrant"
SHARD, CONFIG, SEGMENTS, FACTS = "shard", "edge_config.json", "segments", "shard.json"
AT_ONCE = 1_000  # points of one upsert
TOGETHER = 256  # queries of one batch


@dataclass(frozen=True)
class Qdrant:
    """The encoder's vectors in an HNSW graph of Qdrant; candidates are scored again exactly.

    `m`: edges of a node. `ef_construct`, `ef`: candidates held while building and while searching.
    `full_scan_threshold`: kilobytes of vectors up to which there is no graph and all are scanned (Qdrant's default).
    """

    VERSION: ClassVar[int] = 1
    encoder: VectorStage
    url: str | None = None
    m: int = 16
    ef_construct: int = 100
    ef: int = 256
    full_scan_threshold: int = 10_000

    def __post_init__(self) -> None:
        if self.m < 2 or self.ef_construct < 4 or self.ef < 1 or self.full_scan_threshold < 10:  # the server's limits
            raise ValueError(
                f"m={self.m} must be at least 2, ef_construct={self.ef_construct} at least 4, ef={self.ef} at least "
                f"1 and full_scan_threshold={self.full_scan_threshold} at least 10"
            )
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise ValueError(f"url={self.url!r}: must be null or an address such as http://localhost:6333")

    def missing(self) -> str | None:
        """Why the engine or the encoder cannot run here, with the remedy; a server is not asked."""
        return ann.missing("qdrant_client" if self.url else "qdrant_edge", "qdrant", self.encoder)

    def inputs(self, ctx: Context) -> Mapping[str, str]:
        """The version of the engine, which decides how its graph is built and walked."""
        return {"engine": ann.engine("qdrant-client" if self.url else "qdrant-edge-py", "qdrant")}

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Rank the chunks near every query.

        Raises:
            IndexingError: the server at `url` does not answer; the message says how to start one.
        """
        return ann.search(ctx, queries, self.encoder, self._open, max(self.ef, ctx.depth))

    def _open(self, ctx: Context, chunks: Vectors) -> Index:
        spec = {
            "encoder": self.encoder,
            "encoder inputs": ann.inputs_of(self.encoder, ctx),
            **self.inputs(ctx),
            "graph": self._graph,
            "version": self.VERSION,
        }
        if self.url is None:
            build = partial(build_shard, corpus=ctx.corpus, chunks=chunks, graph=self._graph)
            return ctx.artifact(KIND, spec, build, partial(Shard, ef=self.ef))
        name = fingerprint({"corpus": ctx.corpus.fingerprint, **spec})[:32]
        filled = partial(Collection.filled, self.url, name, self._graph, self.ef, ctx.corpus, chunks)
        return ctx.artifact(
            "qdrant-server",
            {**spec, "url": self.url},
            lambda folder: write_atomic(folder / FACTS, json.dumps(filled().facts)),
            lambda _: filled(),  # the server may have lost it since
        )

    @property
    def _graph(self) -> Graph:
        return Graph(self.m, self.ef_construct, self.full_scan_threshold)


def build_shard(folder: Path, corpus: Corpus, chunks: Vectors, graph: Graph) -> None:
    """Write a shard with one point per chunk (its id is the row) and its graph, and `shard.json` with its counts."""
    import qdrant_edge as engine

    (folder / SHARD).mkdir()
    shard = engine.EdgeShard.create(str(folder / SHARD), _config(chunks.shape[1], graph))
    kinds = engine.PayloadSchemaType
    for name, kind in (("doc_id", kinds.Keyword), ("section", kinds.Keyword), ("year", kinds.Integer)):
        shard.update(engine.UpdateOperation.create_field_index(name, kind))
    rows = ann.payload(corpus).to_pylist()
    for start in range(0, len(rows), AT_ONCE):
        part = zip(rows[start : start + AT_ONCE], chunks[start : start + AT_ONCE].tolist(), strict=True)
        points = [engine.Point(row, vector, values) for row, (values, vector) in enumerate(part, start)]
        shard.update(engine.UpdateOperation.upsert_points(points))
    while shard.optimize():  # one call may leave segments without a graph
        pass
    shard.flush()
    counts = shard.info()
    facts = {"points": counts.points_count, "indexed": counts.indexed_vectors_count, "dims": int(chunks.shape[1])}
    shard.close()
    engine.EdgeShard.load(str(folder / SHARD)).close()  # the first opening clears journals, later ones find none
    write_atomic(folder / FACTS, json.dumps(facts))


class Shard:
    """A shard opened for search.

    Opening writes the engine's configuration file, also while others read it; so it is opened in a temporary folder
    that holds a copy of that file and a link to the segments, which opening and searching leave as they are.
    """

    def __init__(self, folder: Path, ef: int) -> None:
        import qdrant_edge as engine

        self._home = tempfile.TemporaryDirectory(prefix="rankproof-qdrant-")
        home, shard = Path(self._home.name), (folder / SHARD).resolve()
        shutil.copyfile(shard / CONFIG, home / CONFIG)
        (home / SEGMENTS).symlink_to(shard / SEGMENTS, target_is_directory=True)
        self._engine: Any = engine
        self._shard: Any = engine.EdgeShard.load(str(home))
        self._ef = ef
        self.indexed = int(self._shard.info().indexed_vectors_count)

    def nearest(self, queries: Vectors, limit: int, where: Conditions | None) -> list[Rows]:
        """Rows of the chunks near every query, in batches that share one pass over the segments."""
        engine, condition = self._engine, self._filter(where)
        acorn = None if where is None else engine.AcornSearchParams(enable=True, max_selectivity=ALWAYS)
        params = engine.SearchParams(hnsw_ef=self._ef, acorn=acorn)
        found: list[Rows] = []
        for start in range(0, len(queries), TOGETHER):
            requests = [
                engine.QueryRequest(query=engine.Query.Nearest(vector), limit=limit, filter=condition, params=params)
                for vector in queries[start : start + TOGETHER].tolist()
            ]
            answers = self._shard.query_batch(engine.QueryBatchRequest(requests))
            found += [np.asarray([point.id for point in points], dtype=np.int64) for points in answers]
        return found

    def _filter(self, where: Conditions | None) -> Any:
        if where is None:
            return None
        engine = self._engine
        must = [
            engine.FieldCondition(name, match=engine.MatchAny(list(values))) for name, values in where.among.items()
        ]
        if where.years is not None:
            first, last = where.years
            must.append(engine.FieldCondition("year", range=engine.RangeFloat(gte=first, lte=last)))
        return engine.Filter(must=must)


def _config(dims: int, graph: Graph) -> Any:
    """One segment, indexed from the threshold on; without a write-ahead log, since it is written once and flushed."""
    import qdrant_edge as engine

    threshold = graph.full_scan_threshold
    return engine.EdgeConfig(
        vectors=engine.EdgeVectorParams(size=dims, distance=engine.Distance.Dot),
        hnsw_config=engine.HnswIndexConfig(graph.m, graph.ef_construct, threshold),
        optimizers=engine.EdgeOptimizersConfig(indexing_threshold=threshold, default_segment_number=1),
        wal_enabled=False,
    )
