"""From rankings to passages: the first chunks of every question with their place in each first stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from generation.schema import Passage
from ingestion.schema import Corpus
from retrieval.schema import Queries, Run
from retrieval.stage import Context, Fused, Pipeline, Retriever, walk


def retrieve(ctx: Context, stage: Retriever, queries: Queries, limit: int) -> list[tuple[Passage, ...]]:
    """The first `limit` passages of every question, by row of `queries`."""
    runs = {path: ctx.search(part, queries) for path, part in walk(stage)}
    firsts = [runs[path] for path in first_stages(stage)]
    return passages(ctx.corpus, list(runs.values())[-1], firsts, len(queries), limit)


def first_stages(stage: Retriever) -> list[str]:
    """Paths of the stages of a strategy that bring chunks in, before anything is fused or re-ranked."""
    return [path for path, part in walk(stage) if not isinstance(part, Fused | Pipeline)]


def passages(
    corpus: Corpus, run: Run, firsts: Sequence[Run], n_queries: int, limit: int
) -> list[tuple[Passage, ...]]:
    """The same from rankings that are known: the last one, and those of the first stages."""
    places = [_reciprocal(first) for first in firsts]
    bounds = run.bounds(n_queries)
    found = []
    for query in range(n_queries):
        rows = slice(int(bounds[query]), int(bounds[query + 1]))
        scores = _normalised(run.score[rows])[:limit]
        chunks = run.chunk[rows][:limit].tolist()
        agreement = [float(np.mean([place.get((query, chunk), 0.0) for place in places])) for chunk in chunks]
        found.append(
            tuple(
                _passage(corpus, chunk, rank, score, agreed)
                for rank, (chunk, score, agreed) in enumerate(zip(chunks, scores, agreement, strict=True), 1)
            )
        )
    return found


def _reciprocal(run: Run) -> Mapping[tuple[int, int], float]:
    columns = (run.query.tolist(), run.chunk.tolist(), run.rank.tolist())
    return {(query, chunk): 1 / rank for query, chunk, rank in zip(*columns, strict=True)}


def _normalised(scores: np.ndarray) -> list[float]:
    """Scores of one ranking, best first, shifted and scaled to 0..1; all 1 where they are equal."""
    if not len(scores):
        return []
    low, high = float(scores.min()), float(scores.max())
    return [1.0] * len(scores) if high == low else ((scores - low) / (high - low)).tolist()


def _passage(corpus: Corpus, chunk: int, rank: int, score: float, agreement: float) -> Passage:
    row = corpus.chunks.slice(chunk, 1).to_pylist()[0]
    start, end = row["char_start"], row["char_end"]
    turns = [(at - start, page) for at, page in corpus.page_starts.get(row["doc_id"], []) if start < at < end]
    return Passage(
        chunk_id=row["chunk_id"],
        doc_name=row["doc_name"],
        page=row["page_start"],
        section=row["section"],
        char_start=row["char_start"],
        text=row["text"],
        rank=rank,
        score=score,
        agreement=agreement,
        turns=tuple(turns),
        title=corpus.titles.get(row["doc_id"], ""),
    )
