"""Bi-encoder retrieval (Reimers and Gurevych 2019): one vector per chunk and query, exact inner product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ingestion.artifacts import ArtifactStore
from retrieval import models
from retrieval.embedding import Backend, Encoder, chunk_vectors
from retrieval.export import missing_backend
from retrieval.schema import Queries, Run, empty_run
from retrieval.stage import Context
from retrieval.vectors import Vectors, exact_search


@dataclass(frozen=True)
class Dense:
    """A sentence-transformers model by name or folder, with the prefixes that it was trained with.

    `backend`: torch, or the model exported to ONNX and run by OpenVINO or onnxruntime, in float32 either way.
    """

    VERSION: ClassVar[int] = 1
    model: str = "all-MiniLM-L6-v2"
    query_prefix: str = ""
    passage_prefix: str = ""
    max_length: int | None = None
    batch_size: int = 8
    threads: int = 2
    backend: Backend = "torch"

    def missing(self) -> str | None:
        """Why the model or its backend cannot run here, with the remedy."""
        reason = None if self.backend == "torch" else missing_backend(self.backend)
        return reason or models.missing(self.model)

    def inputs(self, ctx: Context) -> Mapping[str, str]:
        """The digest of the weights: the same name may hold other ones tomorrow."""
        return {"weights": models.weights_digest(self.model)}

    def search(self, ctx: Context, queries: Queries) -> Run:
        """Rank all chunks for every query that is not blank."""
        asked = [row for row, text in enumerate(queries.query) if text.strip()]
        if not asked or not len(ctx.corpus):
            return empty_run()
        vectors = self.query_vectors([queries.query[row] for row in asked], ctx.store)
        return exact_search(vectors, self.chunk_vectors(ctx), ctx.depth, ctx.allowed).of_queries(asked)

    def chunk_vectors(self, ctx: Context) -> Vectors:
        """Unit vectors of all chunks, float32 [n_chunks, dims], an artifact that ANN indexes share."""
        return chunk_vectors(ctx, self._encoder(self.passage_prefix))

    def query_vectors(self, texts: Sequence[str], store: ArtifactStore | None = None) -> Vectors:
        """Unit vectors of queries, float32 [n_texts, dims]; `store` keeps an exported model."""
        return self._encoder(self.query_prefix).encode(texts, store=store)

    def _encoder(self, prefix: str) -> Encoder:
        return Encoder(self.model, prefix, self.max_length, self.batch_size, self.threads, self.backend)
