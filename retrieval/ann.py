"""What approximate nearest-neighbour stages share: candidates from an index, exact scores, and how many it missed.

An index only proposes chunks. Their scores are inner products of the memory-mapped vectors, rounded as exact search
rounds them, so a chunk that an index finds has the score and the place among ties that exact search gives it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingestion.artifacts import ArtifactStore
from ingestion.schema import Corpus
from retrieval.errors import ModelLoadError
from retrieval.filters import Where, chunk_years
from retrieval.models import NeedsModel
from retrieval.schema import Floats, Queries, Run, empty_run, make_run
from retrieval.stage import Context, HasInputs, Retriever
from retrieval.vectors import PLACES, Vectors, exact_search

Rows = npt.NDArray[np.int64]
RECALL_DEPTH = 10
RECALL_SAMPLE = 1_000  # queries that are also searched exactly


@runtime_checkable
class VectorStage(Retriever, Protocol):
    """A retriever with one unit vector per chunk and query, ranked by inner product."""

    def chunk_vectors(self, ctx: Context) -> Vectors:
        """Float32 [n_chunks, dims], an artifact."""

    def query_vectors(self, texts: Sequence[str], store: ArtifactStore | None = None) -> Vectors:
        """Float32 [n_texts, dims]; `store` is where the encoder may keep what it builds."""


@dataclass(frozen=True)
class Conditions:
    """A `Where` in terms that every engine knows: all must hold. `years`: first and last year, both included."""

    among: Mapping[str, Sequence[str]]
    years: tuple[int, int] | None

    @staticmethod
    def of(where: Where | None, corpus: Corpus) -> Conditions | None:
        """The conditions that just the chunks of `where.mask(corpus)` fulfil; None where all chunks pass."""
        if where is None or where == Where():
            return None
        among = {"doc_id": where.doc_ids(corpus)} if where.document else {}
        if where.section:
            among["section"] = where.sections(corpus)
        dated = where.first_year is not None or where.last_year is not None
        return Conditions(among, where.year_span if dated else None)  # a span starts at 1: year 0 is left out


class Index(Protocol):
    """An opened index over the chunks of a corpus."""

    @property
    def indexed(self) -> int:
        """Vectors that its graph holds; the others are scanned."""

    def nearest(self, queries: Vectors, limit: int, where: Conditions | None) -> list[Rows]:
        """For every query the rows of up to `limit` chunks near it that fulfil the conditions, in any order."""


def payload(corpus: Corpus) -> pa.Table:
    """What engines filter by: doc_id and section str, year int64 (0: not known), in the order of the chunk table."""
    columns = {name: corpus.chunks[name].combine_chunks() for name in ("doc_id", "section")}
    return pa.table({**columns, "year": chunk_years(corpus)})


def search(
    ctx: Context,
    queries: Queries,
    encoder: VectorStage,
    opened: Callable[[Context, Vectors], Index],
    candidates: int,
) -> Run:
    """Rank what the index proposes; blank queries and an empty corpus or filter find nothing.

    Gives as facts the recall at 10 against exact search (over at most 1,000 queries at a fixed stride; the exact
    search does not count as the stage's time) and how many vectors are in no graph, but scanned.

    Args:
        ctx: its filter becomes the engine's own.
        queries: all of them.
        encoder: where the vectors are from.
        opened: gives the index over the encoder's chunk vectors, built first where it is not there.
        candidates: chunks that the index proposes for a query, at least `ctx.depth`.
    """
    asked = [row for row, text in enumerate(queries.query) if text.strip()]
    if not asked or not len(ctx.corpus) or (ctx.allowed is not None and not ctx.allowed.any()):
        return empty_run()
    chunks = encoder.chunk_vectors(ctx)
    index = opened(ctx, chunks)
    vectors = encoder.query_vectors([queries.query[row] for row in asked], ctx.store)
    found = index.nearest(vectors, min(candidates, len(chunks)), Conditions.of(ctx.where, ctx.corpus))
    run = rescored(vectors, chunks, found, ctx.depth)
    with ctx.store.timed():
        depth = min(RECALL_DEPTH, ctx.depth)
        ctx.fact(f"ANN recall@{depth}", recall(run, vectors, chunks, ctx.allowed, depth))
    ctx.fact("vectors scanned, not in a graph", len(chunks) - index.indexed, of=len(chunks))
    return run.of_queries(asked)


def rescored(queries: Vectors, chunks: Vectors, found: Sequence[Rows], depth: int) -> Run:
    """Rank candidates by inner product. In float64, so that equal vectors are a tie wherever they stand."""
    lengths = [len(rows) for rows in found]
    query = np.repeat(np.arange(len(found)), lengths)
    chunk, score = np.zeros(len(query), np.int64), np.zeros(len(query))
    ends = np.cumsum(lengths)
    for row, (rows, end) in enumerate(zip(found, ends, strict=True)):
        part = slice(int(end) - len(rows), int(end))
        chunk[part] = np.sort(rows)  # in the order of the file
        score[part] = _products(chunks[chunk[part]], queries[row])
    return make_run(query, chunk, score, depth, places=PLACES)


def recall(
    run: Run, queries: Vectors, chunks: Vectors, allowed: npt.NDArray[np.bool_] | None, depth: int = RECALL_DEPTH
) -> float:
    """Share of exact search's first `depth` chunks that are among the run's, over a fixed sample of the queries."""
    sample = np.arange(0, len(queries), -(-len(queries) // RECALL_SAMPLE))
    exact = exact_search(queries[sample], chunks, depth, allowed)
    wanted = sample[exact.query] << 32 | exact.chunk
    first = run.rank <= depth
    return float(np.isin(wanted, run.query[first].astype(np.int64) << 32 | run.chunk[first]).mean())


def inputs_of(encoder: VectorStage, ctx: Context) -> Mapping[str, str]:
    """What the encoder's vectors depend on besides its parameters, for the spec of an index."""
    return encoder.inputs(ctx) if isinstance(encoder, HasInputs) else {}


def missing(module: str, extra: str, encoder: VectorStage) -> str | None:
    """Why an engine (by its import name) or the encoder cannot run here, with the remedy; None where both can."""
    if importlib.util.find_spec(module) is None:
        return f"{module} is not installed; pip install 'rankproof[{extra}]'"
    return encoder.missing() if isinstance(encoder, NeedsModel) else None


def engine(package: str, extra: str) -> str:
    """Name and version of an engine's package.

    Raises:
        ModelLoadError: it is not installed.
    """
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError as error:
        raise ModelLoadError(f"{package} is not installed; pip install 'rankproof[{extra}]'") from error


def _products(chunks: Vectors, query: Vectors) -> Floats:
    return chunks.astype(np.float64) @ query.astype(np.float64)
