"""Errors of evaluation. Each message names the file, line, query or metric and says what to do."""

from __future__ import annotations


class EvaluationError(Exception):
    """Base of every error that evaluation raises."""


class BenchmarkError(EvaluationError):
    """Questions or judgments cannot be read; the message names file and line."""


class OrphanError(BenchmarkError):
    """Too many judged spans are not in the corpus: the judgments do not describe it."""


class SplitError(BenchmarkError):
    """The collection has no such split; the message lists those that it has."""


class MetricError(EvaluationError):
    """No metric of this name; the message offers the nearest one."""


class RunFileError(EvaluationError):
    """A TREC run or qrels file cannot be read; the message names file and line."""


class RequestError(EvaluationError):
    """The request contradicts itself. Nothing was started."""


class TrackingError(EvaluationError):
    """The MLflow store cannot be used; results on disk are not touched."""


class LedgerError(EvaluationError):
    """The record of who has read a test split cannot be read or written; the message names the line."""
