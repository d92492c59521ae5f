"""The gate's weights against constants, themselves shuffled, and the best weight of each question (RP-TR-08).

    RANKPROOF_DATA=<data> python corpus/experiments/rp_08_weight_controls.py <folder of results>

Reads the traces of `<folder>/<collection>-core` as RP-TR-03's experiment does; the weights are those that the
strategy `adaptive` left in its trace. Seed 0 for halves and shuffles.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from rp_03_fusion_sweep import ALPHAS, SEED, Collection, available, write
from rp_04_rank_fusion import fuse
from scipy.stats import spearmanr

from retrieval.schema import Floats

SHUFFLES, HALVES = 200, 200
CLAIMS = ("scifact",)  # queries that are claims: nothing for a rule about questions to read


def weights(folder: Path, at: Collection) -> Floats:
    """The weight that the gate chose for each question."""
    trace = pd.read_parquet(folder / "traces" / "adaptive.parquet")
    chosen = trace[trace["event"] == "alpha"].set_index("qid")["value"]
    return chosen.loc[list(at.judged.benchmark.queries.qid)].to_numpy(dtype=np.float64)


def shuffled(at: Collection, alphas: Floats, second: str) -> Floats:
    """Mean nDCG@5 with the gate's weights dealt out to the questions at random, one value per deal."""
    grid = {alpha: at.score(at.fused(alpha, second)) for alpha in np.unique(alphas)}
    rng = np.random.default_rng(SEED)
    rows = []
    for _ in range(SHUFFLES):
        dealt = rng.permutation(alphas)
        rows.append(np.nanmean([grid[alpha][row] for row, alpha in enumerate(dealt)]))
    return np.asarray(rows)


def against_tuned(gate: Floats, grid: Floats) -> float:
    """Mean gain of the gate on one half of the questions over the constant that is best on the other half."""
    rng = np.random.default_rng(SEED)
    gains = []
    for _ in range(HALVES):
        order = rng.permutation(len(gate))
        half, rest = order[: len(order) // 2], order[len(order) // 2 :]
        best = int(grid[:, half].mean(axis=1).argmax())
        gains.append(gate[rest].mean() - grid[best, rest].mean())
    return round(float(np.mean(gains)), 4)


def study(at: Collection, alphas: Floats, second: str) -> dict[str, object]:
    """All figures of one collection and pair of branches."""
    grid = np.stack([at.score(at.fused(alpha, second)) for alpha in ALPHAS])
    judged = ~np.isnan(grid[0])
    gate = at.score(at.fused(alphas, second))
    middle = at.score(at.fused(float(alphas.mean()), second))
    best = int(grid[:, judged].mean(axis=1).argmax())
    ceiling, dealt = grid.max(axis=0), shuffled(at, alphas, second)
    lean = spearmanr(alphas[judged], (grid[-1] - grid[0])[judged]).statistic if len(set(alphas)) > 1 else np.nan
    ranks = at.score(fuse(at, "hybrid" if second == "minilm" else "echo"))
    spread = np.ptp(grid[:, judged], axis=0)

    def mean(values: Floats) -> float:
        return round(float(values[judged].mean()), 4)

    return {
        "gate": mean(gate),
        "constants": [mean(row) for row in grid],
        "rank fusion": mean(ranks),
        "gate_minus_rank_fusion": at.difference(gate, ranks),
        "best": ALPHAS[best],
        "translation": mean(middle),
        "shuffled": [round(float(end), 4) for end in (dealt.mean(), *np.quantile(dealt, [0.025, 0.975]))],
        "ceiling": mean(ceiling),
        "ceiling_minus_best": at.difference(ceiling, grid[best])["diff"],
        "gate_minus_0.3": at.difference(gate, grid[3]),
        "gate_minus_best": at.difference(gate, grid[best]),
        "gate_minus_translation": at.difference(gate, middle),
        "gate_minus_tuned": against_tuned(gate[judged], grid[:, judged]),
        "lean": None if np.isnan(lean) else round(float(lean), 3),
        "indifferent": round(float((spread == 0).mean()), 3),
    }


def main(folder: Path) -> None:
    """Write the figures of all collections."""
    figures: dict[str, object] = {}
    for name, at in available(folder, CLAIMS).items():
        alphas = weights(folder / f"{name}-core", at)
        values, counts = np.unique(alphas, return_counts=True)
        figures[name] = {
            "questions": int((~np.isnan(at.score(at.runs["bm25"]))).sum()),
            "mean": round(float(alphas.mean()), 3),
            "weights": {str(value): int(count) for value, count in zip(values, counts, strict=True)},
            "tfidf": study(at, alphas, "tfidf"),
            "minilm": study(at, alphas, "minilm"),
        }
    write("rp-08", figures)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
