"""Sign flips against Student's t and Wilcoxon's test, and what 22 questions make of a known difference (RP-TR-10).

    python corpus/experiments/rp_10_paired_tests.py <folder with results>

The folder holds `<collection>-core/per_query.parquet` and `questions.parquet`. Pairs are those of distinct rankings
that differ on at least one question of the metric. Writes `corpus/sources/measured/rp-10.json`; about a minute.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from shared import text, values

from evaluation.families import holm
from evaluation.randomise import sign_flips

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-10.json"
COLLECTIONS, METRICS = ("med", "csfcube", "cacm", "npl", "cranfield", "scifact"), ("nDCG@5", "RR")
SEED, FLIPS, LEVEL, DRAWS, MANY = 10, 100_000, 0.05, 4_000, 10
SIZES, BIG, SMALL = (22, 50, 100, 200), "cranfield", ("bm25", "rrf_dedup_mmr")


def tested(folder: Path, metric: str) -> dict[str, Any]:
    """How three tests judge the pairs of a collection, every question a unit of its own."""
    arms, series, clusters = values(folder, metric)
    pairs = [(a, b) for a, b in combinations(range(len(arms)), 2) if (series[a] != series[b]).any()]
    differences = np.asarray([series[a] - series[b] for a, b in pairs])
    units = [str(at) for at in range(series.shape[1])]
    flips = sign_flips(series, np.asarray(pairs), units, SEED, FLIPS)
    t = stats.ttest_1samp(differences, 0.0, axis=1).pvalue
    ranks = np.asarray([stats.wilcoxon(row, zero_method="wilcox", method="approx").pvalue for row in differences])
    informative = (np.abs(differences) > 1e-9).sum(axis=1)
    many = informative >= MANY
    found: dict[str, Any] = {
        "questions": len(units), "documents": len(set(clusters)), "pairs": len(pairs),
        "flips": int((flips <= LEVEL).sum()),
        "t": int((t <= LEVEL).sum()), "wilcoxon": int((ranks <= LEVEL).sum()),
        "holm": int((holm(flips) <= LEVEL).sum()),
        "against_t": int(((flips <= LEVEL) != (t <= LEVEL)).sum()),
        "against_wilcoxon": int(((flips <= LEVEL) != (ranks <= LEVEL)).sum()),
        "t_far": float(np.abs(flips - t).max()), "wilcoxon_far": float(np.abs(flips - ranks).max()),
        "t_median": float(np.median(np.abs(flips - t))), "wilcoxon_median": float(np.median(np.abs(flips - ranks))),
        "few": int((~many).sum()), "t_far_many": float(np.abs(flips - t)[many].max(initial=0.0)),
        "informative": float(np.median(informative)), "informative_least": int(informative.min()),
        "deviation": float(np.median(differences.std(axis=1, ddof=1))),
        "deviation_least": float(differences.std(axis=1, ddof=1).min()),
        "deviation_most": float(differences.std(axis=1, ddof=1).max()),
        "resemblance": float(np.median([np.corrcoef(series[a], series[b])[0, 1] for a, b in pairs])),
    }  # fmt: skip
    if folder.name == f"{BIG}-core":
        found["p"] = sorted(np.round(np.stack([flips, t, ranks], axis=1), 3).tolist())
    return found


def small_benchmarks(folder: Path) -> dict[str, Any]:
    """Benchmarks of n questions drawn from a big one: how often a known difference is found, and its size then."""
    arms, series, _ = values(folder, "nDCG@5")
    whole = series[arms.index(SMALL[0])] - series[arms.index(SMALL[1])]
    rng, found = np.random.default_rng(SEED), {}
    for n in SIZES:
        drawn = whole[rng.integers(0, len(whole), (DRAWS, n))]
        against_zero = np.stack([np.arange(DRAWS), np.full(DRAWS, DRAWS)], axis=1)
        p = sign_flips(np.vstack([drawn, np.zeros(n)]), against_zero, [str(at) for at in range(n)], SEED, 2_000)
        seen = drawn[p <= LEVEL].mean(axis=1)
        found[str(n)] = {
            "found": float((p <= LEVEL).mean()),
            "size": float(seen.mean() / whole.mean()),
            "wrong": int((seen < 0).sum()),
        }
    about = {"a": SMALL[0], "b": SMALL[1], "questions": len(whole), "by_size": found}
    return {**about, "diff": float(whole.mean()), "deviation": float(whole.std(ddof=1))}


if __name__ == "__main__":
    folders = {name: Path(sys.argv[1]) / f"{name}-core" for name in COLLECTIONS}
    folders = {name: folder for name, folder in folders.items() if (folder / "report.md").is_file()}
    done: dict[str, Any] = {
        name: {metric: tested(folder, metric) for metric in METRICS} for name, folder in folders.items()
    }
    done["small"] = small_benchmarks(folders[BIG])
    done["design"] = {"seed": SEED, "flips": FLIPS, "draws": DRAWS}
    TARGET.write_text(text(done) + "\n")
