"""Corpus and judgments brought together: which chunk answers which question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evaluation.beir import load_corpus
from evaluation.benchmark import load_benchmark
from evaluation.locate import check_orphans, locate
from evaluation.qrels import Names, document_qrels, id_qrels, span_qrels, uncovered
from evaluation.schema import Benchmark, Qrels, Spans
from evaluation.trec import OutsideRun, read_run
from ingestion.artifacts import ArtifactStore
from ingestion.pipeline import ingest
from ingestion.schema import Corpus
from retrieval.schema import Run, make_run

if TYPE_CHECKING:  # a request may ask for answers, whose metrics read judgments
    from evaluation.request import Request


@dataclass(frozen=True)
class Judged:
    """A benchmark over a corpus.

    `ids` (object [n_rows]) names the rows that rankings speak of: chunks, then ids that the corpus lacks but that are
    judged or ranked by outside runs. `corpus` and `spans` are None where only such runs are judged, by document.
    `extracts`: judged quotes of answers, found in the corpus.
    """

    benchmark: Benchmark
    corpus: Corpus | None
    ids: Names
    qrels: Qrels
    spans: Spans | None
    outside: Mapping[str, OutsideRun]
    extracts: Spans | None = None


@dataclass(frozen=True)
class Inputs:
    """What people made: questions with their judgments, and runs from elsewhere."""

    benchmark: Benchmark
    outside: Mapping[str, OutsideRun]


def read_inputs(request: Request) -> Inputs:
    """Read the files that the request names.

    Raises:
        BenchmarkError, RunFileError: with file and line, and the remedy; nothing was started.
    """
    benchmark = load_benchmark(request.benchmark, request.split)
    return Inputs(benchmark, {name: read_run(path) for name, path in request.outside.items()})


def prepare(request: Request, inputs: Inputs, store: ArtifactStore) -> Judged:
    """Ingest the corpus where needed, and judge its chunks.

    Raises:
        OrphanError, IngestionError: with file or quote, and the remedy.
    """
    benchmark, outside = inputs.benchmark, inputs.outside
    if benchmark.documents and not request.arms:
        return Judged(benchmark, None, *id_qrels(benchmark, outside.values()), None, outside)
    corpus = load_chunks(request, store)
    if benchmark.evidence:
        spans = locate(benchmark, corpus)
        check_orphans(spans, len(benchmark.evidence), float(request.evaluation["max_orphans"]))
        coverage = float(request.evaluation["min_coverage"])
        qrels = span_qrels(spans, corpus, len(benchmark.queries), coverage)
        ids = _with_outside(corpus.chunk_ids, outside)
        return Judged(benchmark, corpus, ids, qrels, spans, outside, _extracts(request, benchmark, corpus))
    if request.benchmark.kind == "beir":
        return Judged(benchmark, corpus, *id_qrels(benchmark, outside.values(), corpus.chunk_ids), None, outside)
    qrels = document_qrels(benchmark, corpus, float(request.evaluation["max_orphans"]))
    return Judged(benchmark, corpus, _with_outside(corpus.chunk_ids, outside), qrels, None, outside)


def _extracts(request: Request, benchmark: Benchmark, corpus: Corpus) -> Spans | None:
    """The judged quotes of answers; None without any.

    Raises:
        OrphanError: too many of them are not in the corpus.
    """
    if not benchmark.extracts:
        return None
    spans = locate(replace(benchmark, evidence=benchmark.extracts), corpus)
    check_orphans(spans, len(benchmark.extracts), float(request.evaluation["max_orphans"]))
    return spans


def _with_outside(ids: Names, outside: Mapping[str, OutsideRun]) -> Names:
    """The ids followed by those that only outside runs know: they hold their rank and answer nothing."""
    new = set().union(*(run.ids for run in outside.values())) - set(ids)
    return np.asarray([*ids, *sorted(new)], dtype=object)


def load_chunks(request: Request, store: ArtifactStore) -> Corpus:
    """The chunk tables of the request's corpus: a collection's own documents, or ingested PDFs."""
    if request.benchmark.kind == "beir":
        return load_corpus(Path(request.benchmark.path or ""))
    return ingest(request.corpus, request.ingest, request.chunker, store)


def count_uncovered(judged: Judged) -> int:
    """Relevant spans that were found in the text but that no chunk of the index touches."""
    if judged.corpus is None or judged.spans is None:
        return 0
    return len(uncovered(judged.spans, judged.corpus))


def oracle_run(qrels: Qrels, n_chunks: int, depth: int) -> Run:
    """The best possible ranking: best grade first, one chunk of every group before any copy of it."""
    relevant = np.flatnonzero((qrels.grade > 0) & (qrels.chunk < n_chunks))
    query, chunk = qrels.query[relevant], qrels.chunk[relevant]
    grade, group = qrels.grade[relevant].astype(np.int64), qrels.group[relevant]
    order = np.lexsort((chunk, -grade, group, query))
    pairs = np.stack([query[order], group[order]])
    leads = np.ones(len(order), dtype=bool)
    leads[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
    return make_run(query[order], chunk[order], grade[order] + 1000.0 * leads, depth)


def without_excluded(run: Run, judged: Judged, depth: int) -> Run:
    """The ranking without a query's own document (query by example), ranks closed up."""
    exclude, corpus = judged.benchmark.exclude, judged.corpus
    if not exclude:
        return run
    documents = judged.ids if corpus is None else corpus.column("doc_id")
    known = len(documents)
    own = [exclude.get(qid, frozenset()) for qid in judged.benchmark.queries.qid]
    rows = zip(run.query.tolist(), run.chunk.tolist(), strict=True)
    keep = np.asarray([chunk >= known or documents[chunk] not in own[query] for query, chunk in rows], dtype=bool)
    return make_run(run.query[keep], run.chunk[keep], -run.rank[keep].astype(np.float64), depth)
