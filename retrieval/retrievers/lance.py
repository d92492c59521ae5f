"""Approximate nearest neighbours in LanceDB: an HNSW graph over scalar-quantised vectors in one IVF partition.

The graph's levels are random and not seeded by the engine, so two builds may differ in a few late places; below
`flat_below` chunks there is no graph, the table is scanned, and rankings repeat to the byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ingestion.artifacts import write_atomic
from retrieval import ann
from retrieval.ann import Conditions, Index, Rows, VectorStage
from retrieval.schema import Queries, Run
from retrieval.stage import Context
from retrieval.vectors import Vectors

DATABASE, TABLE, FACTS = "database", "chunks", "table.json"
TOGETHER = 256  # queries of one batch


@dataclass(frozen=True)
class Lance:
    """The encoder's vectors in a LanceDB table with an `IVF_HNSW_SQ` index; candidates are scored again exactly.

    `m`: edges of a node. `ef_construction`, `ef`: candidates held while building and while searching.
    `refine_factor`: candidates scored exactly per wanted chunk, which undoes the quantisation; at most `ef` of them.
    `flat_below`: a table with fewer chunks gets no index and is scanned.
    """

    VERSION: ClassVar[int] = 1
    encoder: VectorStage
    m: int = 16
    ef_construction: int = 100
    ef: int = 300
    refine_factor: int = 10
    flat_below: int = 5_000

    def __post_init__(self) -> None:
        if min(self.m, self.ef_construction, self.ef, self.refine_factor) < 1 or self.flat_below < 0:
            raise ValueError(
                f"m={self.m}, ef_construction={self.ef_construction}, ef={self.ef} and "
                f"refine_factor={self.refine_factor} must be at least 1, flat_below={self.flat_below} at least 0"
            )

    def missing(self) -> str | None:
        """Why the engine or the encoder cannot run here, with the remedy."""
        return ann.missing("lancedb", "lance", self.encoder)

    def inputs(self, ctx: Context) -> Mapping[str, str]:
        """The version of the engine, which decides how its graph is built and walked."""
        return {"engine": ann.engine("lancedb", "lance")}

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Rank the chunks near every query."""
        candidates = max(ctx.depth, min(self.ef, ctx.depth * self.refine_factor))
        return ann.search(ctx, queries, self.encoder, self._open, candidates)

    def _open(self, ctx: Context, chunks: Vectors) -> Index:
        spec = {
            "encoder": self.encoder,
            "encoder inputs": ann.inputs_of(self.encoder, ctx),
            **self.inputs(ctx),
            "m": self.m,
            "ef_construction": self.ef_construction,
            "indexed": len(chunks) >= self.flat_below,
            "version": self.VERSION,
        }
        return ctx.artifact(
            "lance", spec, lambda folder: self._build(folder, ctx, chunks), lambda f: Table(f, self.ef)
        )

    def _build(self, folder: Path, ctx: Context, chunks: Vectors) -> None:
        """Write the table and, where it is large enough, its index."""
        import lancedb
        from lancedb.index import HnswSq

        vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(chunks)), chunks.shape[1])
        rows = pa.array(np.arange(len(chunks), dtype=np.int64))
        columns = ann.payload(ctx.corpus).append_column("row", rows).append_column("vector", vectors)
        table = lancedb.connect(str(folder / DATABASE)).create_table(TABLE, columns)
        indexed = len(chunks) >= self.flat_below
        if indexed:
            config = HnswSq(distance_type="dot", num_partitions=1, m=self.m, ef_construction=self.ef_construction)
            table.create_index("vector", config=config)
        write_atomic(folder / FACTS, json.dumps({"points": len(chunks), "indexed": len(chunks) if indexed else 0}))


class Table:
    """A table opened for search, which leaves its files as they are."""

    def __init__(self, folder: Path, ef: int) -> None:
        import lancedb

        self._table: Any = lancedb.connect(str(folder / DATABASE)).open_table(TABLE)
        self._ef = ef
        self.indexed = int(json.loads((folder / FACTS).read_text())["indexed"])

    def nearest(self, queries: Vectors, limit: int, where: Conditions | None) -> list[Rows]:
        """Rows of the chunks near every query, in batches that the engine runs on all threads."""
        found: list[Rows] = []
        for start in range(0, len(queries), TOGETHER):
            part = queries[start : start + TOGETHER]
            search = self._table.search(list(part)).distance_type("dot").limit(limit).ef(max(self._ef, limit))
            if where is not None:
                search = search.where(_condition(where), prefilter=True)
            answer = search.select(["row", "_distance"]).to_arrow()
            found += _per_query(answer, len(part))
        return found


def _per_query(answer: pa.Table, n_queries: int) -> list[Rows]:
    """The `row` column cut by query; without a `query_index` all rows are of the only one."""
    rows = answer["row"].to_numpy()
    if "query_index" not in answer.column_names:
        return [rows]
    query = answer["query_index"].to_numpy()
    order = np.argsort(query, kind="stable")
    bounds = np.searchsorted(query[order], np.arange(1, n_queries))
    return np.split(rows[order], bounds)


def _condition(where: Conditions) -> str:
    """As SQL."""
    parts = [f"{name} IN ({', '.join(map(_quoted, values))})" for name, values in where.among.items()]
    if where.years is not None:
        parts.append(f"year BETWEEN {where.years[0]} AND {where.years[1]}")
    return " AND ".join(parts)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
