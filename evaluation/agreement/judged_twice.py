"""What two sources of one benchmark have both judged, matched by chunk or by span."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evaluation.judging import Judged
from evaluation.locate import locate
from evaluation.pool.pooling import chunks_of, pairs_of, queries_of
from evaluation.qrels import span_qrels
from evaluation.schema import Evidence, Grades8, Longs, Spans
from evaluation.sources import SourceError, judged_by
from retrieval.schema import Ints

HALF = 0.5  # of the longer span: from here on two spans are the same judgment


@dataclass(frozen=True)
class View:
    """A judged corpus as one source sees it; `spans` and `judged.qrels` hold its judgments alone."""

    judged: Judged
    spans: Spans


@dataclass(frozen=True)
class Shared:
    """What both judged. Columns of equal length [n]: query row, text, and the grades of a and b."""

    query: Ints
    text: tuple[str, ...]
    a: Grades8
    b: Grades8


def view(name: str, judged: Judged, min_coverage: float) -> View:
    """The same corpus and questions with the judgments of one source alone.

    Raises:
        SourceError: the source has judged nothing, or judgments are by document and name no source.
    """
    if judged.corpus is None or judged.spans is None:
        raise SourceError(f"{judged.benchmark.name} is judged by document; its judgments name no source")
    benchmark = judged_by(judged.benchmark, [name])
    spans = locate(benchmark, judged.corpus)
    qrels = span_qrels(spans, judged.corpus, len(benchmark.queries), min_coverage)
    return View(replace(judged, benchmark=benchmark, spans=spans, qrels=qrels), spans)


def by_chunk(a: View, b: View) -> Shared:
    """Chunks that both judged, with the grade that each one's spans give to them: what the metrics read."""
    first, second = a.judged.qrels, b.judged.qrels
    key_a, key_b = pairs_of(first.query, first.chunk), pairs_of(second.query, second.chunk)
    both, at_a, at_b = np.intersect1d(key_a, key_b, assume_unique=True, return_indices=True)
    texts = a.judged.corpus.texts if a.judged.corpus is not None else []
    shown = tuple(texts[row] for row in chunks_of(both).tolist())
    return Shared(queries_of(both), shown, first.grade[at_a], second.grade[at_b])


def by_span(a: View, b: View) -> Shared:
    """Pairs of spans that share at least half of the longer one; each span is paired once, the best pairs first."""
    first, second = paired(a.spans, b.spans)
    rows = _found(a)
    shown = tuple(rows[row].quote or f"{rows[row].doc}, page {rows[row].page}" for row in first.tolist())
    return Shared(a.spans.query[first], shown, a.spans.grade[first], b.spans.grade[second])


def paired(a: Spans, b: Spans) -> tuple[Longs, Longs]:
    """Rows of a and rows of b that are the same judgment, int64 [n] each, ascending by a."""
    key_a, key_b = pairs_of(a.query, a.doc), pairs_of(b.query, b.doc)
    order = np.argsort(key_b, kind="stable")
    low, high = (np.searchsorted(key_b[order], key_a, side=side) for side in ("left", "right"))
    first = np.repeat(np.arange(len(key_a)), high - low)
    place = np.arange(len(first)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
    second = order[np.repeat(low, high - low) + place]
    common = np.minimum(a.end[first], b.end[second]) - np.maximum(a.start[first], b.start[second])
    share = common / np.maximum(a.end[first] - a.start[first], b.end[second] - b.start[second])
    near = np.flatnonzero(share >= HALF)
    near = near[np.lexsort((second[near], first[near], -share[near]))]
    used: tuple[set[int], set[int]] = (set(), set())
    chosen = []
    for row, left, right in zip(near.tolist(), first[near].tolist(), second[near].tolist(), strict=True):
        if left not in used[0] and right not in used[1]:
            used[0].add(left)
            used[1].add(right)
            chosen.append(row)
    picked = np.sort(np.asarray(chosen, dtype=np.int64))
    return first[picked], second[picked]


def _found(seen: View) -> list[Evidence]:
    """The evidence that its spans stand for, row by row."""
    orphans = set(seen.spans.orphans)
    return [row for row in seen.judged.benchmark.evidence if row not in orphans]
