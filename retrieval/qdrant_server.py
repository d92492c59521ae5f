"""A collection on a Qdrant server: filled once, searched in batches, with every failure as a typed error."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingestion.schema import Corpus
from retrieval import ann
from retrieval.ann import Conditions, Rows
from retrieval.errors import IndexingError
from retrieval.vectors import Vectors

PREFIX = "rankproof_"
AT_ONCE = 256  # points of one upsert, queries of one batch
PATIENCE = 3_600.0  # seconds that an index may take
PAUSE = 0.2  # seconds between two looks at it
TIMEOUT = 60  # seconds for one answer
ALWAYS = 1.0  # ACORN for filters that leave up to this share of the points


@dataclass(frozen=True)
class Graph:
    """Parameters of an HNSW graph; `full_scan_threshold` in kilobytes of vectors."""

    m: int
    ef_construct: int
    full_scan_threshold: int


def connect(url: str) -> Any:
    """A client; nothing is asked yet."""
    from qdrant_client import QdrantClient

    return QdrantClient(url=url, timeout=TIMEOUT, check_compatibility=False)


@contextmanager
def answering(url: str) -> Iterator[None]:
    """What a server refuses or does not answer becomes a typed error.

    Raises:
        IndexingError: naming the address and the remedy.
    """
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as error:
        raise IndexingError(f"the Qdrant server at {url} refused: {error}") from error
    except ApiException as error:
        raise IndexingError(
            f"no Qdrant server answers at {url} ({error}); start one with `docker compose up -d qdrant`, "
            "or set url=null for the engine in process"
        ) from error


class Collection:
    """A connection to one collection that holds all chunks and is indexed; made by `filled`."""

    def __init__(self, url: str, name: str, ef: int) -> None:
        self._url, self._name, self._ef = url, PREFIX + name, ef
        self._client = connect(url)
        self.facts: dict[str, int] = {}

    @staticmethod
    def filled(url: str, name: str, graph: Graph, ef: int, corpus: Corpus, chunks: Vectors) -> Collection:
        """The collection of this name, with all chunks in it and its graph finished.

        Points have the row as id, so that filling it twice, or again after a crash, ends in the same collection.

        Raises:
            IndexingError: the server does not answer, refuses, or is not done within an hour.
        """
        found = Collection(url, name, ef)
        with answering(url):
            found._create(graph, int(chunks.shape[1]))
            if found._client.count(found._name, exact=True).count != len(chunks):
                found._upload(corpus, chunks)
            found.facts = {"points": len(chunks), "indexed": found._wait(), "dims": int(chunks.shape[1])}
        return found

    @property
    def indexed(self) -> int:
        """Vectors that the graph holds."""
        return self.facts["indexed"]

    def nearest(self, queries: Vectors, limit: int, where: Conditions | None) -> list[Rows]:
        """Rows of the chunks near every query; see `ann.Index`."""
        from qdrant_client import models

        condition = _filter(where)
        acorn = None if where is None else models.AcornSearchParams(enable=True, max_selectivity=ALWAYS)
        params = models.SearchParams(hnsw_ef=self._ef, acorn=acorn)
        found: list[Rows] = []
        with answering(self._url):
            for start in range(0, len(queries), AT_ONCE):
                requests = [
                    models.QueryRequest(
                        query=vector, limit=limit, filter=condition, params=params, with_payload=False
                    )
                    for vector in queries[start : start + AT_ONCE].tolist()
                ]
                answers = self._client.query_batch_points(self._name, requests)
                found += [np.asarray([point.id for point in answer.points], dtype=np.int64) for answer in answers]
        return found

    def _create(self, graph: Graph, dims: int) -> None:
        from qdrant_client import models

        if self._client.collection_exists(self._name):
            return
        kinds = models.PayloadSchemaType
        self._client.create_collection(
            self._name,
            vectors_config=models.VectorParams(size=dims, distance=models.Distance.DOT),
            hnsw_config=models.HnswConfigDiff(
                m=graph.m, ef_construct=graph.ef_construct, full_scan_threshold=graph.full_scan_threshold
            ),
            optimizers_config=models.OptimizersConfigDiff(
                indexing_threshold=graph.full_scan_threshold, default_segment_number=1
            ),
        )
        for name, kind in (("doc_id", kinds.KEYWORD), ("section", kinds.KEYWORD), ("year", kinds.INTEGER)):
            self._client.create_payload_index(self._name, name, kind, wait=True)

    def _upload(self, corpus: Corpus, chunks: Vectors) -> None:
        from qdrant_client import models

        rows = ann.payload(corpus).to_pylist()
        for start in range(0, len(rows), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            vectors = chunks[part].tolist()
            ids: list[Any] = list(range(start, start + len(vectors)))
            self._client.upsert(self._name, models.Batch(ids=ids, vectors=vectors, payloads=rows[part]), wait=True)

    def _wait(self) -> int:
        """Indexed vectors once the server says that nothing is left to optimise (status green)."""
        from qdrant_client import models

        end = time.monotonic() + PATIENCE
        while True:
            info = self._client.get_collection(self._name)
            if info.status == models.CollectionStatus.GREEN:
                return int(info.indexed_vectors_count or 0)
            if info.status == models.CollectionStatus.RED or time.monotonic() > end:
                raise IndexingError(
                    f"collection {self._name} at {self._url} has status {info.status.value} "
                    f"({info.optimizer_status}); look at the server's log, then delete the collection"
                )
            if info.status == models.CollectionStatus.GREY:  # after a restart it waits for a change
                self._client.update_collection(self._name, optimizers_config=models.OptimizersConfigDiff())
            time.sleep(PAUSE)


def _filter(where: Conditions | None) -> Any:
    if where is None:
        return None
    from qdrant_client import models

    must: list[Any] = [
        models.FieldCondition(key=name, match=models.MatchAny(any=list(values)))
        for name, values in where.among.items()
    ]
    if where.years is not None:
        first, last = where.years
        must.append(models.FieldCondition(key="year", range=models.Range(gte=first, lte=last)))
    return models.Filter(must=must)
