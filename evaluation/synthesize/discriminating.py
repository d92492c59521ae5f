"""Drafts that tell strategies apart: not those whose evidence everybody has at the top, or nobody finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evaluation.grades import grade_matrix
from evaluation.locate import locate
from evaluation.qrels import span_qrels
from evaluation.schema import Benchmark
from evaluation.synthesize.draft import Draft, Dropped, Sifted
from ingestion.artifacts import ArtifactStore
from ingestion.schema import Corpus
from retrieval.build import build_strategy, strategy_config
from retrieval.models import NeedsModel
from retrieval.schema import Ints, Queries
from retrieval.stage import Context, Retriever, components

SAME = "non-discriminating"
CHEAP = ("bm25", "tfidf", "static")


def runnable(names: Sequence[str]) -> tuple[dict[str, Retriever], dict[str, str]]:
    """The strategies that can run here, by name, and why others cannot.

    Raises:
        StrategyNotFoundError: a name is unknown; the message offers the nearest one.
    """
    stages, absent = {}, {}
    for name in names:
        stage = build_strategy(strategy_config(name))
        missing = [part.missing() for _, part in components(stage) if isinstance(part, NeedsModel)]
        if reason := next(filter(None, missing), None):
            absent[name] = reason
        else:
            stages[name] = stage
    return stages, absent


def ranks(
    drafts: Sequence[Draft], stages: Mapping[str, Retriever], corpus: Corpus, store: ArtifactStore, depth: int
) -> dict[str, Ints]:
    """The rank at which each strategy has all evidence of each draft, int32 [n_drafts], 0 for never.

    Evidence of several parts counts as at the top where no rank above the last part is wasted: it has rank 1 then.
    """
    if not drafts:
        return {name: np.zeros(0, dtype=np.int32) for name in stages}
    queries = Queries.of([draft.qid for draft in drafts], [draft.query for draft in drafts])
    benchmark = Benchmark("drafts", queries, evidence=tuple(row for draft in drafts for row in draft.evidence))
    qrels = span_qrels(locate(benchmark, corpus), corpus, len(queries))
    row_of = {qid: row for row, qid in enumerate(queries.qid)}
    order = np.asarray([row_of[draft.qid] for draft in drafts])
    ctx = Context(corpus, store, depth=depth, remember=False)
    found = {}
    for name, stage in stages.items():
        grades = grade_matrix(ctx.search(stage, queries), qrels, len(queries))
        spare = np.where(grades.complete_at > 0, grades.complete_at - np.maximum(grades.n_parts, 1) + 1, 0)
        last = np.where(grades.n_parts > 1, np.where(spare > 0, spare, (grades.complete_at > 0)), grades.first)
        found[name] = last.astype(np.int32)[order]
    return found


def sift_by_ranks(drafts: Sequence[Draft], found: Mapping[str, Ints], depth: int) -> Sifted:
    """Drop drafts whose evidence every strategy has at rank 1, or none within the depth."""
    if not found:
        return Sifted(tuple(drafts))
    table = np.stack(list(found.values()))
    easy, lost = (table == 1).all(axis=0), (table == 0).all(axis=0)
    kept, dropped = [], []
    for draft, top, never in zip(drafts, easy.tolist(), lost.tolist(), strict=True):
        if top:
            dropped.append(Dropped(draft, SAME, f"rank 1 for {', '.join(found)}"))
        elif never:
            dropped.append(Dropped(draft, SAME, f"not within {depth} for {', '.join(found)}"))
        else:
            kept.append(draft)
    return Sifted(tuple(kept), tuple(dropped))
