"""Speed of percentile intervals: 20 runs x 1,000 queries x 8 metrics, 10,000 resamples, against scipy one by one.

SciPy is timed on every 16th series and scaled by 16, with the batch size that suits it best here; both sides take the
same per-query values and use as many threads as they do by default. Rounds in turn, since other processes may hold a
core. Asked: at least 10 times faster, and the same ends within Monte-Carlo error (with the same seed: the same ends).
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from scipy.stats import bootstrap

from evaluation.stats import Intervals, intervals

SERIES, QUERIES, RESAMPLES, EVERY, BATCH, ROUNDS = 160, 1_000, 10_000, 16, 1_000, 3
CHOSEN = range(0, SERIES, EVERY)


def ours(values: np.ndarray) -> tuple[float, Intervals]:
    start = time.perf_counter()
    found = intervals(values, np.arange(QUERIES), seed=1, resamples=RESAMPLES, method="percentile")
    return time.perf_counter() - start, found


def scipys(values: np.ndarray, seeds: dict[int, int]) -> tuple[float, np.ndarray]:
    """Seconds for all series (scaled), and the ends [n_chosen, 2]."""
    start, ends = time.perf_counter(), []
    for row in CHOSEN:
        rng = np.random.default_rng(seeds[row])
        result = bootstrap((values[row],), np.mean, n_resamples=RESAMPLES, method="percentile", rng=rng, batch=BATCH)
        ends.append(tuple(result.confidence_interval))
    return (time.perf_counter() - start) * EVERY, np.asarray(ends)


def main() -> None:
    values = np.random.default_rng(0).beta(0.4, 0.6, size=(SERIES, QUERIES))
    intervals(values[:2], np.arange(QUERIES), seed=1, resamples=100, method="percentile")
    rounds = [(ours(values), scipys(values, {row: 2 + row for row in CHOSEN})) for _ in range(ROUNDS)]
    ratios = [theirs / own for (own, _), (theirs, _) in rounds]
    (_, found), (_, other) = rounds[0]
    ends = np.stack([found.lo, found.hi], axis=1)[list(CHOSEN)]
    same = scipys(values, dict.fromkeys(CHOSEN, 1))[1]
    error = values.std(axis=1)[list(CHOSEN), None] / np.sqrt(QUERIES)
    print(f"{SERIES} series x {QUERIES} queries, {RESAMPLES} resamples, {ROUNDS} rounds in turn")
    best_ours, best_scipy = (min(side[at][0] for side in rounds) for at in (0, 1))
    print(f"best: ours {best_ours:.2f} s, scipy {best_scipy:.1f} s (scaled from {len(CHOSEN)} series)")
    print(f"times faster: median {statistics.median(ratios):.1f}, {min(ratios):.1f} to {max(ratios):.1f} (asked: 10)")
    root = np.sqrt(np.mean(((ends - other) / error) ** 2))
    print(f"ends with other draws: {root:.3f} standard errors apart (root mean square; Monte-Carlo error: .038)")
    print(f"ends with the same draws: {np.abs(ends - same).max():.1e} apart at most")


if __name__ == "__main__":
    main()
