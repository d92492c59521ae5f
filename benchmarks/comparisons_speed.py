"""Speed of all paired comparisons: 190 pairs of 20 strategies x 1,000 queries, 100,000 sign flips.

Measured against the matrix products `signs @ differences` alone: float64, all 190 columns, in blocks, signs already
made, with one BLAS thread or with all of them, whichever is faster at the moment. Ours includes making the signs, the
products, the counting and the p-values. Rounds in turn, since other processes may hold a core. Asked: at most 2 times
those products. The randomised Tukey HSD of the same strategies, 10,000 permutations, is timed beside it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
from threadpoolctl import threadpool_limits

from evaluation.families import tukey
from evaluation.randomise import sign_flips, signs

STRATEGIES, QUERIES, FLIPS, PERMUTATIONS, ROUNDS = 20, 1_000, 100_000, 10_000, 5
PAIRS = np.asarray(list(combinations(range(STRATEGIES), 2)))


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def products(differences: np.ndarray, made: np.ndarray) -> None:
    """Every flip of every pair, with one block of signs used again and again."""
    for _ in range(0, FLIPS, len(made)):
        made @ differences


def single(differences: np.ndarray, made: np.ndarray) -> None:
    with threadpool_limits(1, user_api="blas"):
        products(differences, made)


def main() -> None:
    values = np.random.default_rng(0).beta(0.4, 0.6, size=(STRATEGIES, QUERIES))
    clusters = np.arange(QUERIES)
    differences = np.ascontiguousarray((values[PAIRS[:, 0]] - values[PAIRS[:, 1]]).T)
    made = next(signs(1, QUERIES, FLIPS)) * 2.0 - 1.0
    sign_flips(values, PAIRS, clusters, 1, 100)
    tukey(values, clusters, 1, 100)
    found = [
        (
            seconds(lambda: sign_flips(values, PAIRS, clusters, 1, FLIPS)),
            min(seconds(lambda: products(differences, made)), seconds(lambda: single(differences, made))),
            seconds(lambda: tukey(values, clusters, 1, PERMUTATIONS)),
        )
        for _ in range(ROUNDS)
    ]
    ratios = [ours / bare for ours, bare, _ in found]
    ours, bare, ranges = (min(column) for column in zip(*found, strict=True))
    print(
        f"{len(PAIRS)} pairs of {STRATEGIES} strategies x {QUERIES} queries, {FLIPS} flips, {ROUNDS} rounds in turn"
    )
    print(f"best: sign flips {ours:.2f} s, the matrix products alone {bare:.2f} s (blocks of {len(made)} flips)")
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"times the products: median {statistics.median(ratios):.2f}, {spread} (asked: at most 2)")
    print(f"randomised Tukey HSD, {PERMUTATIONS} permutations: best {ranges:.2f} s")


if __name__ == "__main__":
    main()
