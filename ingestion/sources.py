"""The PDFs of a corpus: found, hashed, each content once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ingestion.artifacts import file_digest
from ingestion.errors import ConfigError
from ingestion.sidecar import read_sidecar


@dataclass(frozen=True)
class Source:
    """A PDF of the corpus. `name` is its path below the corpus folder; `problem` says why it could not be read.

    `metadata`: what `metadata.jsonl` in the folder says of it, as JSON.
    """

    path: Path
    name: str
    sha256: str
    problem: str = ""
    metadata: str = "{}"

    @property
    def doc_id(self) -> str:
        """First 16 hex digits of the file's sha256 (of its name where the file cannot be read)."""
        return (self.sha256 or hashlib.sha256(self.name.encode(errors="surrogateescape")).hexdigest())[:16]


@dataclass(frozen=True)
class Sources:
    """The files of a corpus by doc_id, and files that repeat the bytes of another: (name, name of the first)."""

    files: tuple[Source, ...]
    duplicates: tuple[tuple[str, str], ...]


def pdf_files(folder: Path) -> list[Path]:
    """The `*.pdf` files below a folder, sorted by path; or the file itself.

    Raises:
        ConfigError: there is no such path, or no PDF.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise ConfigError(f"corpus.path={folder}: no such file or folder")
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".pdf" and path.is_file())
    if not found:
        raise ConfigError(f"corpus.path={folder}: no *.pdf file in it or below it")
    return found


def read_sources(folder: Path) -> Sources:
    """Hash the PDFs of a corpus. The first name (by path) of equal files counts.

    Raises:
        ConfigError: no PDF there, or a line of `metadata.jsonl` is wrong.
    """
    first: dict[str, Source] = {}
    duplicates = []
    for path in pdf_files(folder):
        name = path.name if folder.is_file() else path.relative_to(folder).as_posix()
        source = _source(path, name.encode(errors="surrogateescape").decode(errors="replace"))
        if source.doc_id in first:
            duplicates.append((source.name, first[source.doc_id].name))
        else:
            first[source.doc_id] = source
    names = [*(source.name for source in first.values()), *(name for name, _ in duplicates)]
    known = {} if folder.is_file() else read_sidecar(folder, names)
    files = (replace(first[key], metadata=known.get(first[key].name, "{}")) for key in sorted(first))
    return Sources(tuple(files), tuple(duplicates))


def _source(path: Path, name: str) -> Source:
    try:
        return Source(path, name, file_digest(path))
    except OSError as error:
        return Source(path, name, "", f"the file cannot be read: {error.strerror}")


def content_key(files: Sequence[Source]) -> list[list[str]]:
    """What of the files a corpus depends on: names, digests and metadata."""
    return [[source.doc_id, source.sha256, source.name, source.problem, source.metadata] for source in files]
