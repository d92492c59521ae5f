"""Bring a store up to date with a folder: new files in, changed files replaced, missing files tombstoned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingestion.artifacts import ArtifactStore
from ingestion.document import Chunker
from ingestion.pipeline import batches, regime_fields
from ingestion.sources import Source, read_sources
from ingestion.spec import IngestSpec
from ingestion.stores import Store, Writer
from ingestion.tables import ERROR, REMOVED


@dataclass(frozen=True)
class Synced:
    """What was done: counts of files, and the duplicate files.

    replaced: the file of this name has other content than before. retried: its content is known, but it failed before
    or has a new name.
    """

    unchanged: int
    added: int
    replaced: int
    retried: int
    removed: int
    duplicates: tuple[tuple[str, str], ...]


def sync(
    folder: Path, spec: IngestSpec, chunker: Chunker, artifacts: ArtifactStore, store: Store, progress: bool = True
) -> Synced:
    """Make a store hold the PDFs below a folder. Files are read and written in batches: memory stays bounded.

    A file counts by its digest and name; one that failed before is tried again. Killed at any moment, the next call
    goes on from the last finished batch.

    Raises:
        ConfigError: no PDF in the folder.
        RegimeMismatchError: the store holds documents under other parameters.
        StorageError: another process writes to the store.
    """
    sources = read_sources(folder)
    with store.writing(regime_fields(chunker)) as writer:
        rows = store.documents().select(["doc_id", "doc_name", "status"]).to_pylist()
        held = {row["doc_id"]: row for row in rows if row["status"] != REMOVED}
        new = [source for source in sources.files if not _unchanged(source, held)]
        wanted = {source.doc_id for source in sources.files}
        gone = {row["doc_name"]: doc for doc, row in held.items() if doc not in wanted}
        replaced = _add(writer, new, gone, spec, chunker, artifacts, progress)
        removed = sorted(set(gone.values()) - replaced)
        if removed:
            writer.remove(removed)
    retried = sum(source.doc_id in held for source in new)
    added = len(new) - len(replaced) - retried
    unchanged = len(sources.files) - len(new)
    return Synced(unchanged, added, len(replaced), retried, len(removed), sources.duplicates)


def _unchanged(source: Source, held: dict[str, dict[str, str]]) -> bool:
    row = held.get(source.doc_id)
    return row is not None and row["doc_name"] == source.name and row["status"] != ERROR


def _add(
    writer: Writer,
    new: Sequence[Source],
    gone: dict[str, str],
    spec: IngestSpec,
    chunker: Chunker,
    artifacts: ArtifactStore,
    progress: bool,
) -> set[str]:
    """Write the new files; returns the doc_ids that were replaced by a file of their name."""
    replaced: set[str] = set()
    for tables in batches(new, spec, chunker, artifacts, progress):
        names = tables.documents["doc_name"].to_pylist()
        old = {gone[name] for name in names if name in gone}
        writer.add(tables, replaces=sorted(old))
        replaced |= old
    return replaced
