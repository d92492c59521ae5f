"""A second judge's blind grades beside the benchmark's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from evaluation.agreement.judged_twice import by_chunk, view
from evaluation.agreement.kappa import Agreement, agreement
from evaluation.errors import RequestError
from evaluation.judging import Inputs, prepare
from evaluation.pool.file import read_judgments
from evaluation.request import Request
from evaluation.schema import Benchmark, Evidence
from evaluation.sources import sources
from ingestion.artifacts import ArtifactStore

SECOND = "hand:second"


def judged_again(request: Request, benchmark: Benchmark, path: Path) -> tuple[str, Agreement]:
    """How far a second judge's file agrees with the first source of the benchmark, by chunk; with that source's name.

    The file is one of `python -m evaluation.judge`; its rows never count as judgments of the benchmark.

    Raises:
        RequestError: nothing in the file is judged, or the benchmark's judgments name no source.
        SourceError: both have judged nothing in common.
    """
    known = set(benchmark.queries.qid)
    rows = [row for row in read_judgments(path).rows if row.qid in known and row.grade is not None]
    first = next(iter(sources(benchmark)), "")
    if not rows or not first:
        raise RequestError(f"{path}: no judgment of a question of {benchmark.name} that names its source")
    again = tuple(
        Evidence(r.qid, r.doc_name, r.page, r.char_start, r.char_end, r.quote, int(r.grade or 0), SECOND)
        for r in rows
    )
    both = replace(benchmark, evidence=(*benchmark.evidence, *again))
    judged = prepare(request, Inputs(both, {}), ArtifactStore(request.artifacts))
    settings = request.evaluation
    a, b = (view(name, judged, float(settings["min_coverage"])) for name in (first, SECOND))
    shared = by_chunk(a, b)
    clusters = np.asarray(benchmark.queries.cluster, dtype=str)[shared.query]
    how = int(settings["resamples"]), float(settings["confidence"])
    return first, agreement(shared.a, shared.b, clusters, request.seed, *how)
