"""What sharing saves: a suite against the sum of its distinct stages, and a warm rerun against the cold one.

    HF_HUB_OFFLINE=1 python benchmarks/stage_sharing.py [suite]

The bundled corpus, ingested before; imports and models are loaded before either side is timed. Cold: every arm of
the suite over an empty artifact folder. Alone: each distinct stage once over another empty folder, one by one. Warm:
the suite again, in a new store over the first folder. Targets: cold / sum of the stages at most 1.25, warm / cold at
most .05.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from evaluation.arms import absence
from evaluation.judging import Judged, prepare, read_inputs
from evaluation.request import Request, read_request
from evaluation.runner import run_arms
from ingestion.artifacts import ArtifactStore, fingerprint
from ingestion.config import load
from ingestion.schema import Corpus
from retrieval.schema import Queries
from retrieval.stage import Context, Retriever, walk

SHARING, WARM = 1.25, 0.05


def seconds_of_arms(request: Request, judged: Judged, folder: Path) -> float:
    """Wall seconds of all arms of the request over this artifact folder, with a store that remembers nothing."""
    start = time.perf_counter()
    run_arms(request, judged, ArtifactStore(folder))
    return time.perf_counter() - start


def warm_up(judged: Judged, queries: Queries, stages: Mapping[str, Retriever]) -> None:
    """Run every stage over ten chunks: imports, compiled kernels and loaded models belong to neither side."""
    assert judged.corpus is not None
    few = Corpus.of(judged.corpus.chunks.slice(0, 10), judged.corpus.documents, judged.corpus.pages)
    with tempfile.TemporaryDirectory() as folder:
        ctx = Context(few, ArtifactStore(Path(folder)))
        for part in stages.values():
            ctx.search(part, queries)


def main(arguments: list[str]) -> int:
    request = read_request(load([f"suite={arguments[0] if arguments else 'core'}", "tracking=none"]), [], {})
    ingested = ArtifactStore(request.artifacts)
    judged = prepare(request, read_inputs(request), ingested)
    assert judged.corpus is not None
    queries = judged.benchmark.queries
    stages = {}
    for arm in request.arms:
        if absence(arm.stage) is None:
            stages |= {fingerprint(part): part for _, part in walk(arm.stage)}
    warm_up(judged, queries, stages)
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        cold = seconds_of_arms(request, judged, Path(first))
        warm = seconds_of_arms(request, judged, Path(first))
        ctx = Context(judged.corpus, ArtifactStore(Path(second)), request.depth, request.seed)
        alone = {}
        for key, part in stages.items():
            start = time.perf_counter()
            ctx.remembered(part, queries)
            alone[key] = time.perf_counter() - start
    total = sum(alone.values())
    slowest = max(alone, key=lambda key: alone[key])
    print(f"{len(stages)} distinct stages, {total:.2f} s one by one; the slowest {alone[slowest]:.2f} s")
    print(f"suite cold {cold:.2f} s = {cold / total:.2f} of that (asked: at most {SHARING})")
    print(f"suite warm {warm:.2f} s = {warm / cold:.3f} of cold (asked: at most {WARM})")
    return int(cold > SHARING * total or warm > WARM * cold)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
