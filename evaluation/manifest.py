"""The manifest of a run: everything that a result depends on, with digests."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from evaluation.answers.request import AnswerRequest
from evaluation.benchmark import rows_digest
from evaluation.judging import Judged, count_uncovered
from evaluation.request import Request
from evaluation.results import code_version, versions
from ingestion.artifacts import fingerprint


def describe(request: Request, judged: Mapping[str, Judged], seconds: float) -> dict[str, Any]:
    """What `manifest.json` holds. `judged`: by label of the chunker, one without a label where none is compared."""
    first = next(iter(judged.values()))
    chunkings = {label: one.corpus.fingerprint for label, one in judged.items() if label and one.corpus}
    content = {
        "name": request.name,
        "split": request.split,
        "seed": request.seed,
        "depth": request.depth,
        "credit": request.evaluation["credit"],
        "primary": request.evaluation["primary"],
        "benchmark": _benchmark(first),
        "corpus": {
            "fingerprint": None if first.corpus is None else first.corpus.fingerprint,
            "chunks": len(first.ids),
            "documents": None if first.corpus is None else first.corpus.documents.num_rows,
        },
        "chunkings": chunkings,
        "sweep": request.sweep[0] if request.sweep else None,
        "strategies": {spec.name: fingerprint(spec.stage) for spec in request.arms},
        "answers": None if request.answers is None else _answers(request.answers, first),
        "code": code_version(),
        "packages": versions(),
        "config": request.config,
    }
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    identifier = fingerprint({"content": content, "time": stamp, "out": str(request.out)})[:16]
    return {**content, "run_id": identifier, "time": stamp, "seconds": seconds}


def _answers(wanted: AnswerRequest, judged: Judged) -> dict[str, Any]:
    """Who answers from what, and the judged quotes that grade citations; the benchmark's digest lacks them."""
    extracts = judged.benchmark.extracts
    digest = rows_digest(extracts) if extracts else None
    return {**wanted.described(), "extracts": {"quotes": len(extracts), "digest": digest}}


def _benchmark(judged: Judged) -> dict[str, Any]:
    benchmark = judged.benchmark
    answered = np.unique(judged.qrels.query[judged.qrels.grade > 0])
    clusters = {benchmark.queries.cluster[row] for row in answered.tolist()}
    return {
        "name": benchmark.name,
        "digest": benchmark.digest,
        "queries": len(benchmark.queries),
        "judged": len(answered),
        "unjudged": len(benchmark.queries) - len(answered),
        "clusters": len(clusters),  # of questions with a relevant judgment: an unanswerable one comes from nowhere
        "orphans": 0 if judged.spans is None else len(judged.spans.orphans),
        "uncovered": count_uncovered(judged),
    }
