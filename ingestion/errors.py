"""Errors of ingestion. Each message names the file, page or key and says what to do."""

from __future__ import annotations


class IngestionError(Exception):
    """Base of every error that ingestion raises."""


class ExtractionError(IngestionError):
    """A PDF could not be turned into text."""


class NotAPdfError(ExtractionError):
    """The file is empty, is something else under the name .pdf, or its structure cannot be read."""


class EncryptedPdfError(ExtractionError):
    """The PDF opens only with a password."""


class NoTextError(ExtractionError):
    """No page has a text layer (a scan): OCR is needed."""


class PageLimitError(ExtractionError):
    """The PDF has more pages than the limit allows."""


class ExtractionTimeoutError(ExtractionError):
    """Extraction took longer or needed more memory than its limits, or the worker died."""


class ChunkingError(IngestionError):
    """Text could not be cut into chunks, or chunk offsets do not fit the text."""


class CacheError(IngestionError):
    """An artifact could not be written, locked or verified."""


class StorageError(IngestionError):
    """A table could not be written to or read from its store, or breaks its schema."""


class GraphExtractionError(IngestionError):
    """Entities or relations could not be read."""


class RegimeMismatchError(IngestionError):
    """Documents were ingested under other parameters than the ones asked for."""


class ConfigError(IngestionError):
    """The request is wrong: unknown name, key or type. Nothing was started."""
