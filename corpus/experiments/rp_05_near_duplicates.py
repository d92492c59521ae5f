"""How many chunks repeat their neighbour when PDF papers are cut with growing overlap, and what removing them does.

``RANKPROOF_DATA=<data> python corpus/experiments/rp_05_near_duplicates.py [<artifacts folder>]`` cuts the papers of
CL-SciSumm into windows of 200 words, compares neighbours as the deduplication stage does, and ranks the graded
questions with RRF, with and without deduplication and MMR. Writes `corpus/sources/measured/rp-05.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rp_05_shared import opened, spread, values, write

from evaluation.coverage import Gold, Ranked, evidence_recall
from evaluation.judging import Judged
from retrieval.analysis import analysed
from retrieval.build import build_strategy, strategy_config
from retrieval.rerankers.dedup import equal_texts, near_pairs
from retrieval.stage import Context

WORDS, THRESHOLD, LOOKED_AT, BUDGET = 200, 0.6, 20, 1000
OVERLAPS = (0, 40, 80, 100, 120, 140, 160)
CROSSED = (40, 120, 140, 160)  # where MMR is crossed with deduplication
METRICS = ("nDCG@5", "R@5", "R@100")
TEXTS = ("cacm", "cranfield", "csfcube", "med", "npl", "scifact")
STRATEGIES = ("rrf", "rrf_dedup", "rrf_mmr", "rrf_dedup_mmr")
PAIRS = (("rrf_dedup", "rrf"), ("rrf_dedup_mmr", "rrf_mmr"), ("rrf_mmr", "rrf"))


def neighbours(ctx: Context) -> dict[str, float]:
    """Adjacent chunks of one document, on the sets that deduplication compares."""
    order = np.lexsort((ctx.corpus.numbers("char_start"), ctx.corpus.column("doc_id").astype(str)))
    document = ctx.corpus.column("doc_id")[order]
    terms = (analysed(ctx).counts > 0).astype(np.int32)[order]
    size = np.asarray(terms.sum(axis=1)).reshape(-1)
    common = np.asarray(terms[:-1].multiply(terms[1:]).sum(axis=1)).reshape(-1)
    same = document[:-1] == document[1:]
    jaccard = (common / np.maximum(size[:-1] + size[1:] - common, 1))[same]
    alike = int((jaccard >= THRESHOLD).sum())
    return {
        "chunks": len(ctx.corpus),
        "pairs": len(jaccard),
        "jaccard": float(jaccard.mean()),
        "share": float((2 * common / np.maximum(size[:-1] + size[1:], 1))[same].mean()),
        "alike": alike / len(jaccard),
        "alike_at_two": near_pairs(ctx, THRESHOLD, 2).nnz // 2 - alike,
    }


def ranked(ctx: Context, judged: Judged, names: tuple[str, ...]) -> dict[str, Any]:
    """Metrics of every strategy, differences with intervals, and repeats among the first ranks of RRF."""
    queries = judged.benchmark.queries
    assert judged.spans is not None
    gold = Gold(ctx.corpus, judged.spans, judged.benchmark)
    runs = {name: ctx.search(build_strategy(strategy_config(name)), queries) for name in names}
    found = {
        name: dict(zip(METRICS, values(run, judged, *METRICS), strict=True))
        | {f"EvRecall@{BUDGET}w": evidence_recall(Ranked(run, gold), BUDGET)}
        for name, run in runs.items()
    }
    first, left = runs["rrf"], runs["rrf_dedup"]
    kept = set(zip(left.query.tolist(), left.chunk.tolist(), strict=True))
    top = first.rank <= LOOKED_AT
    rows = list(zip(first.query[top].tolist(), first.chunk[top].tolist(), strict=True))
    repeats = [query for query, chunk in rows if (query, chunk) not in kept]
    return {
        "arms": {name: {m: float(np.nanmean(own)) for m, own in arm.items()} for name, arm in found.items()},
        "differences": {
            f"{a} - {b}": {metric: spread(found[a][metric] - found[b][metric], judged) for metric in found[a]}
            for a, b in PAIRS
            if a in found
        },
        "repeats": len(repeats) / len(rows),
        "touched": len(set(repeats)) / len(queries),
        "questions": len(queries),
    }


def copies(collection: str, artifacts: Path) -> dict[str, int]:
    """Documents whose text equals that of an earlier one, and judgments of relevance that speak of such copies."""
    ctx, judged = opened(collection, artifacts)
    first = equal_texts(ctx.corpus.texts)
    copy = first != np.arange(len(first))
    chunk = judged.qrels.chunk[(judged.qrels.grade > 0) & (judged.qrels.chunk < len(first))]
    return {"documents": len(first), "copies": int(copy.sum()), "relevant": int(copy[chunk].sum())}


def measure(artifacts: Path) -> Mapping[str, Any]:
    """All overlaps."""
    found = {}
    for overlap in OVERLAPS:
        cut = ("chunker=fixed", f"chunker.words={WORDS}", f"chunker.overlap={overlap}")
        ctx, judged = opened("clscisumm", artifacts, *cut)
        names = STRATEGIES if overlap in CROSSED else STRATEGIES[:2]
        found[str(overlap)] = {**neighbours(ctx), **ranked(ctx, judged, names)}
    equal = {name: copies(name, artifacts) for name in TEXTS}
    return {"equal": equal, "words": WORDS, "threshold": THRESHOLD, "looked_at": LOOKED_AT, "overlap": found}


if __name__ == "__main__":
    write("rp-05", measure)
