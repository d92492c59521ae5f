"""Errors of retrieval. Each message names the strategy, stage, query or chunk and says what to do."""

from __future__ import annotations


class RetrievalError(Exception):
    """Base of every error that retrieval raises."""


class StrategyNotFoundError(RetrievalError):
    """No strategy, stage or suite has this name; the message offers the nearest one."""


class StageConfigError(RetrievalError):
    """A stage's YAML has an unknown key, a wrong type, or a target outside our packages."""


class IndexingError(RetrievalError):
    """An index could not be built over this corpus."""


class ScoringError(RetrievalError):
    """A stage produced NaN, an infinity or a duplicate; the message names query and chunk.

    `query` and `chunk` are table rows while the names are not known yet, else None.
    """

    def __init__(self, message: str, query: int | None = None, chunk: int | None = None) -> None:
        super().__init__(message)
        self.query = query
        self.chunk = chunk


class FusionError(RetrievalError):
    """A fuser does not find the branches that it needs."""


class ModelLoadError(RetrievalError):
    """Model weights cannot be had; the message names the ways to get them."""


class FilterError(RetrievalError):
    """A filter names a document that is not there, or a year that is none."""
