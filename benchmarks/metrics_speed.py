"""Speed of the metrics against pytrec_eval through ir-measures: 20 runs x 1,000 queries x depth 100, side by side.

Ours is timed from run and judgment arrays to per-query values, grade matrices included; theirs from nested dicts,
the form that pytrec_eval takes without conversion, with the evaluator built once. Asked: at least 5 times faster.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import ir_measures
import numpy as np

from evaluation.grades import grade_matrix
from evaluation.metrics import evaluate, parse_metric
from evaluation.schema import Qrels
from retrieval.schema import Run, make_run

RUNS, QUERIES, DEPTH, CHUNKS, JUDGED, ROUNDS = 20, 1_000, 100, 5_000, 20, 3
NAMES = [
    *("RR", "RR@10", "R@1", "R@3", "R@5", "R@10", "R@100", "Success@1", "Success@5", "Success@10", "P@1", "P@5"),
    *("P@10", "nDCG@3", "nDCG@5", "nDCG@10", "AP", "Bpref", "Judged@5", "Judged@10"),
]


def random_run(rng: np.random.Generator) -> Run:
    chunk = np.concatenate([rng.permutation(CHUNKS)[:DEPTH] for _ in range(QUERIES)])
    score = np.tile(np.arange(DEPTH, 0, -1.0), QUERIES)
    return make_run(np.repeat(np.arange(QUERIES), DEPTH), chunk, score, DEPTH)


def random_qrels(rng: np.random.Generator, runs: list[Run]) -> Qrels:
    """Twenty judged chunks a query, half of them among the first run's hundred."""
    pairs = set()
    for query in range(QUERIES):
        found = runs[0].chunk[query * DEPTH : (query + 1) * DEPTH]
        wanted = [*rng.choice(found, JUDGED // 2, replace=False), *rng.choice(CHUNKS, JUDGED // 2, replace=False)]
        pairs |= {(query, int(chunk)) for chunk in wanted}
    query, chunk = np.asarray(sorted(pairs), dtype=np.int32).T
    grade = rng.integers(0, 4, len(query)).astype(np.int8)
    group = np.where(grade > 0, np.arange(len(query)), -1).astype(np.int32)
    return Qrels(query, chunk, grade, group, (grade > 0).astype(np.int64), np.ones(QUERIES, np.int32))


def nested(columns: tuple[list[int], ...], cast: Callable[[float], float]) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for query, chunk, value in zip(*columns, strict=True):
        table.setdefault(f"q{query}", {})[f"c{chunk}"] = cast(value)
    return table


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    rng = np.random.default_rng(0)
    runs = [random_run(rng) for _ in range(RUNS)]
    qrels = random_qrels(rng, runs)
    metrics = [parse_metric(name) for name in NAMES]
    judged = nested((qrels.query.tolist(), qrels.chunk.tolist(), qrels.grade.tolist()), int)
    ranked = [nested((run.query.tolist(), run.chunk.tolist(), run.score.tolist()), float) for run in runs]
    evaluator = ir_measures.evaluator([ir_measures.parse_measure(name) for name in NAMES], judged)

    def ours() -> None:
        for run in runs:
            evaluate(grade_matrix(run, qrels, QUERIES, "each"), metrics)

    def theirs() -> None:
        for run in ranked:
            list(evaluator.iter_calc(run))

    ours()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    ratios = [other / own for own, other in pairs]
    print(f"{RUNS} runs x {QUERIES} queries x depth {DEPTH}, {len(NAMES)} metrics, {ROUNDS} rounds in turn")
    print(f"ours {min(own for own, _ in pairs):.2f} s, ir-measures {min(other for _, other in pairs):.2f} s (best)")
    print(f"times faster: median {statistics.median(ratios):.1f}, {min(ratios):.1f} to {max(ratios):.1f} (asked: 5)")


if __name__ == "__main__":
    main()
