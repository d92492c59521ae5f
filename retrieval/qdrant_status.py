"""`python -m retrieval qdrant-status [url=...] [artifacts=...]`: which Qdrant is used and what it holds."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ingestion.artifacts import MANIFEST
from ingestion.config import load
from ingestion.errors import ConfigError
from retrieval import ann
from retrieval.errors import RetrievalError
from retrieval.qdrant_server import PREFIX, answering, connect
from retrieval.retrievers.qdrant import FACTS, KIND

USAGE = "usage: python -m retrieval qdrant-status [url=http://localhost:6333] [artifacts=<folder>]"
FLOAT_BYTES = 4
BLOCK = 512  # bytes of a block in `st_blocks`


def main(arguments: Sequence[str]) -> int:
    """Print the state of a server, or of the embedded engine; returns 0, 1 if none can be had, 2 for a wrong request.

    Args:
        arguments: `url=<address>` for a server; `artifacts=<folder>` for shards elsewhere than in the default store.
    """
    given = dict(argument.partition("=")[::2] for argument in arguments)
    if not given.keys() <= {"url", "artifacts"} or not all(given.values()):
        print(USAGE, file=sys.stderr)
        return 2
    try:
        lines = list(server(given["url"]) if "url" in given else embedded(_store(given)))
    except ConfigError as error:
        print(f"retrieval: {error}", file=sys.stderr)
        return 2
    except RetrievalError as error:
        print(f"retrieval: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


def server(url: str) -> Iterator[str]:
    """Lines about a server: version, and for each of our collections points, indexed vectors, status and size.

    Raises:
        IndexingError: it does not answer; the message says how to start one.
        ModelLoadError: qdrant-client is not installed.
    """
    client_version = ann.engine("qdrant-client", "qdrant")
    with answering(url):
        client = connect(url)
        yield f"Qdrant server {client.info().version} at {url} ({client_version})"
        names = sorted(c.name for c in client.get_collections().collections if c.name.startswith(PREFIX))
        for name in names:
            yield _collection(name, client.get_collection(name))
    if not names:
        yield f"no collection named {PREFIX}*: the first search with strategy.first.url={url} makes one"


def embedded(store: Path) -> Iterator[str]:
    """Lines about the engine in process: version, and for each shard in the store points, graph and bytes.

    Raises:
        ModelLoadError: qdrant-edge-py is not installed.
    """
    yield f"Qdrant in process, {ann.engine('qdrant-edge-py', 'qdrant')}: no server is asked (url=<address> asks one)"
    shards = sorted(path.parent for path in (store / KIND).glob(f"*/{MANIFEST}"))
    for folder in shards:
        facts, manifest = (json.loads((folder / name).read_text()) for name in (FACTS, MANIFEST))
        yield (
            f"  {folder.name}  {facts['points']} points, {facts['indexed']} in the graph, "
            f"{facts['dims']} dimensions, "
            f"{_on_disk(folder) / 1e6:.1f} MB on disk, built in {manifest['seconds']:.1f} s"
        )
    if not shards:
        yield f"no shard in {store / KIND}: the first search with strategy=qdrant builds one"


def _collection(name: str, info: Any) -> str:
    """A server does not tell the size of a collection; that of its vectors follows from their number."""
    points, dims = int(info.points_count or 0), int(info.config.params.vectors.size)
    return (
        f"  {name}  {points} points, {info.indexed_vectors_count or 0} in the graph, {dims} dimensions, "
        f"status {info.status.value}, {points * dims * FLOAT_BYTES / 1e6:.1f} MB of vectors"
    )


def _on_disk(folder: Path) -> int:
    """Bytes that the files take: the engine makes files of 32 MB that are mostly holes."""
    return sum(path.stat().st_blocks * BLOCK for path in folder.rglob("*") if path.is_file())


def _store(given: dict[str, str]) -> Path:
    return Path(load([f"artifacts={given['artifacts']}"] if "artifacts" in given else []).artifacts)
