"""Ingestion from a folder of PDFs to a corpus: what was read before is not read again.

Two levels of artifacts: each file's extraction, by its digest and the versions that read it, so that another chunker
reads no PDF again and a killed run goes on where it stopped; and the tables of a set of files under one chunker.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unicodedata import unidata_version

import pyarrow as pa
import pyarrow.compute as pc
from tqdm import tqdm

from ingestion.artifacts import ArtifactStore, fingerprint
from ingestion.assemble import VERSION
from ingestion.compose import build_chunker, build_ingest
from ingestion.document import Chunker, ExtractedDocument
from ingestion.errors import ExtractionError, IngestionError
from ingestion.extract import Job, extract_all
from ingestion.schema import Corpus
from ingestion.sources import Source, Sources, content_key, pdf_files, read_sources
from ingestion.spec import IngestSpec
from ingestion.tables import ERROR, OK, Tables, document_tables, failed_tables

__all__ = [
    "Chunker",
    "IngestSpec",
    "Ingested",
    "build_chunker",
    "build_ingest",
    "ingest",
    "is_ingested",
    "pdf_files",
    "run",
]
BATCH = 64  # documents whose rows become one table
EXTRACTION = "extraction"  # kind of artifact
EXTRACTED = "document.json"


@dataclass(frozen=True)
class Ingested:
    """A corpus with everything that is in its tables (reference lists too), and the files that it came from."""

    corpus: Corpus
    sources: Sources


@lru_cache(maxsize=1)
def extractor_name() -> str:
    """The library that reads PDFs, with its version, as in `documents.extractor`."""
    return f"pypdfium2 {version('pypdfium2')}"


def extraction_spec() -> dict[str, object]:
    """What an extraction depends on besides the file."""
    return {"extractor": extractor_name(), "version": VERSION, "unicode": unidata_version}


def regime_spec(chunker: Chunker) -> dict[str, object]:
    """What chunk texts and ids depend on besides the files: extraction, and the chunker with its parameters."""
    return {"extraction": extraction_spec(), "chunker": chunker}


def regime_fields(chunker: Chunker) -> dict[str, str]:
    """`regime_spec` as names and values, for stores to keep and compare."""
    kind = type(chunker)
    found = {f"extraction.{name}": str(value) for name, value in extraction_spec().items()}
    found |= {"chunker": kind.__name__, "chunker.VERSION": str(getattr(kind, "VERSION", 1))}
    return found | {f"chunker.{field.name}": str(getattr(chunker, field.name)) for field in fields(chunker)}  # type: ignore[arg-type]


def regime(chunker: Chunker) -> str:
    """16 hex digits that stand for `regime_spec`: part of every chunk_id."""
    return fingerprint(regime_spec(chunker))[:16]


def ingest(
    folder: Path, spec: IngestSpec, chunker: Chunker, artifacts: ArtifactStore, progress: bool = True
) -> Corpus:
    """The corpus of the PDFs below a folder, as retrieval reads it: reference lists only where they are asked for.

    A file that cannot be read never ends the run: it is a row of `documents` with its error.

    Raises:
        ConfigError: no PDF there.
        IngestionError: none of them has text, or one failed and `ingest.strict` is set.
        CacheError: an artifact cannot be written.
    """
    found = run(folder, spec, chunker, artifacts, progress)
    _check_outcome(found.corpus.documents, folder, spec.strict)
    if spec.references:
        return found.corpus
    kept = found.corpus.chunks.filter(pc.not_equal(found.corpus.chunks["kind"], "references"))
    return Corpus.of(kept, found.corpus.documents, found.corpus.pages)


def ingest_configured(plain: Mapping[str, Any], artifacts: ArtifactStore) -> Corpus:
    """The corpus that a composed configuration names (`corpus`, `ingest`, `chunker`), ingested where it is not yet.

    Raises:
        IngestionError, ConfigError: as `ingest` and the builders have it.
    """
    spec, chunker = build_ingest(plain["ingest"]), build_chunker(plain["chunker"])
    return ingest(Path(plain["corpus"]["path"]), spec, chunker, artifacts)


def run(
    folder: Path, spec: IngestSpec, chunker: Chunker, artifacts: ArtifactStore, progress: bool = True
) -> Ingested:
    """Ingest what is new of a folder and give all of it; raises nothing for single files.

    Raises:
        ConfigError: no PDF there.
        CacheError: an artifact cannot be written.
    """
    sources = read_sources(folder)

    def build(target: Path) -> None:
        tables = Tables.together(list(batches(sources.files, spec, chunker, artifacts, progress)))
        Corpus.of(tables.chunks, tables.documents, tables.pages).save(target)

    return Ingested(artifacts.get("corpus", _corpus_spec(sources, spec, chunker), build, Corpus.load), sources)


def is_ingested(folder: Path, spec: IngestSpec, chunker: Chunker, artifacts: ArtifactStore) -> bool:
    """Whether the corpus is there, so that `ingest` reads no PDF.

    Raises:
        ConfigError: no PDF there.
    """
    return artifacts.has("corpus", _corpus_spec(read_sources(folder), spec, chunker))


def _corpus_spec(sources: Sources, spec: IngestSpec, chunker: Chunker) -> dict[str, object]:
    """Limits are part of it, so that raising one tries the files again that failed."""
    limits = {"timeout": spec.timeout, "memory_mb": spec.memory_mb, "max_pages": spec.max_pages}
    return {"files": content_key(sources.files), "limits": limits, "regime": regime_spec(chunker)}


def batches(
    files: Sequence[Source], spec: IngestSpec, chunker: Chunker, artifacts: ArtifactStore, progress: bool
) -> Iterator[Tables]:
    """The rows of the files in their order, `BATCH` documents at a time; each extraction is kept at once."""
    rows: list[Tables] = []
    bar = tqdm(total=len(files), desc="reading PDFs", unit="file", disable=None if progress else True, leave=False)
    with bar, closing(documents(files, spec, chunker, artifacts)) as found:
        for tables in found:
            bar.update()
            rows.append(tables)
            if len(rows) == BATCH:
                yield Tables.together(rows)
                rows = []
    if rows:
        yield Tables.together(rows)


def documents(
    files: Sequence[Source], spec: IngestSpec, chunker: Chunker, artifacts: ArtifactStore
) -> Generator[Tables]:
    """The rows of each file, in order."""
    chunking, extractor = regime(chunker), extractor_name()
    keys = [_extraction_key(source) for source in files]
    kept = [artifacts.whole(EXTRACTION, key) for key in keys]
    jobs = [
        Job(source.path, folder / EXTRACTED if folder else None)
        for source, folder in zip(files, kept, strict=True)
        if not source.problem
    ]
    with closing(extract_all(jobs, chunker, spec)) as replies:
        for row, source in enumerate(files):
            if source.problem:
                yield failed_tables(source, ExtractionError(source.problem), extractor)
                continue
            reply = next(replies)
            if reply.error is not None:
                yield failed_tables(source, reply.error, extractor)
                continue
            if kept[row] is None:
                artifacts.ensure(EXTRACTION, keys[row], _writer(reply.document))
            document = ExtractedDocument.from_json(reply.document)
            yield document_tables(source, document, reply.chunks, extractor, chunking)


def _writer(content: bytes) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        (folder / EXTRACTED).write_bytes(content)

    return build


def kept_document(source: Source, artifacts: ArtifactStore) -> ExtractedDocument | None:
    """What was extracted from a file, or None where that failed or has not been done."""
    folder = artifacts.whole(EXTRACTION, _extraction_key(source))
    return ExtractedDocument.from_json((folder / EXTRACTED).read_bytes()) if folder else None


def _extraction_key(source: Source) -> dict[str, object]:
    return {"sha256": source.sha256, **extraction_spec()}


def _check_outcome(documents: pa.Table, folder: Path, strict: bool) -> None:
    if strict:
        check_strict(documents)
    rows = documents.select(["doc_name", "status", "error"]).to_pylist()
    if not any(row["status"] == OK for row in rows):
        first = rows[0]
        raise IngestionError(
            f"corpus.path={folder}: none of its {len(rows)} PDFs has text;"
            f" the first: {first['doc_name']}: {first['error']}"
        )


def check_strict(documents: pa.Table) -> None:
    """Fail where a file could not be read.

    Raises:
        IngestionError: with the number of such files and the first of them.
    """
    failed = documents.filter(pc.equal(documents["status"], ERROR)).sort_by("doc_name").to_pylist()
    if failed:
        raise IngestionError(
            f"{len(failed)} of {documents.num_rows} files could not be read, and ingest.strict is set;"
            f" the first: {failed[0]['doc_name']}: {failed[0]['error']}"
        )
