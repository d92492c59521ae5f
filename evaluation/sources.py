"""Who judged: the sources of a benchmark, and the benchmark as one of them sees it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from evaluation.errors import EvaluationError
from evaluation.schema import Benchmark
from ingestion.config import nearest

SOURCE = re.compile(r"(hand|llm|imported|synthetic)(:\S+)?")


class SourceError(EvaluationError):
    """No source of this name has judged, or the name is none; the message lists what there is."""


def check_source(name: str) -> str:
    """The name of a source: `hand`, `hand:<name>`, `llm:<model>`, `imported:<set>` or `synthetic:<maker>`.

    Raises:
        SourceError: it is none of these.
    """
    if not SOURCE.fullmatch(name):
        raise SourceError(
            f"source {name!r}: must be hand, hand:<name>, llm:<model>, imported:<set> or synthetic:<maker>, "
            "without blanks"
        )
    return name


def sources(benchmark: Benchmark) -> dict[str, int]:
    """How many judged spans each source has, most first (ties by name); empty for judgments by document."""
    counts = Counter(row.source for row in benchmark.evidence)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def judged_by(benchmark: Benchmark, names: Collection[str]) -> Benchmark:
    """The benchmark with the judgments of these sources alone; all its questions stay.

    Raises:
        SourceError: a source has judged nothing here.
    """
    known = sources(benchmark)
    for name in names:
        if name not in known:
            there = nearest(name, known) if known else "; its judgments name no source"
            raise SourceError(f"source {name!r} has judged nothing in {benchmark.name}{there}")
    kept = tuple(row for row in benchmark.evidence if row.source in names)
    return replace(benchmark, evidence=kept, digest="")
