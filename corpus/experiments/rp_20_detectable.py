"""What benchmarks of known size can detect, with questions and with documents as units (figures of RP-TR-20).

    python corpus/experiments/rp_20_detectable.py <folder with results>

The folder holds `<collection>-core/per_query.parquet` and `questions.parquet`; the metric is nDCG@5 and the pairs are
those of distinct values. Writes `corpus/sources/measured/rp-20.json`; about a minute.
"""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from shared import numbered, text, values

from evaluation.families import holm, step_down
from evaluation.power import detectable, standard_error
from evaluation.randomise import equivalence, sign_flips
from retrieval.schema import Floats

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-20.json"
COLLECTIONS = ("med", "csfcube", "cacm", "npl", "cranfield", "scifact", "clscisumm")
METRIC, BASELINE, SEED, FLIPS, ALPHA, MARGIN = "nDCG@5", "bm25", 20, 20_000, 0.05, 0.02
PER_DOCUMENT, DRAWS = (1, 2, 4, 8, 12), 200


def spread(row: Floats) -> dict[str, float]:
    """Median, least and most."""
    return {"median": float(np.median(row)), "least": float(row.min()), "most": float(row.max())}


def figures(folder: Path) -> dict[str, Any]:
    """Deviations, design effects, detectable differences and decisions of a collection's pairs."""
    arms, series, documents = values(folder, METRIC)
    clusters = numbered(documents)
    pairs = np.asarray(list(combinations(range(len(arms)), 2)))
    apart = series[pairs[:, 0]] - series[pairs[:, 1]]
    n, documents = series.shape[1], int(clusters.max()) + 1
    alone, labels = np.arange(n), [f"{at:05d}" for at in clusters]
    naive, grouped = standard_error(apart, alone), standard_error(apart, clusters)
    p = sign_flips(series, pairs, labels, SEED, FLIPS)
    single = sign_flips(series, pairs, [f"{at:05d}" for at in alone], SEED, FLIPS)
    together = step_down(series, pairs, labels, SEED, FLIPS, ALPHA)
    same = holm(equivalence(series, pairs, labels, SEED, FLIPS, MARGIN))
    base = (pairs == arms.index(BASELINE)).any(axis=1)
    sizes = np.bincount(clusters)
    kish = float((sizes**2).sum() / sizes.sum())
    deff = (grouped / naive) ** 2
    return {
        "about": {"questions": n, "documents": documents, "arms": len(arms), "pairs": len(pairs), "kish": kish,
                  "largest": int(sizes.max()), "smallest": int(sizes.min())},
        "deviation": {**spread(apart.std(axis=1, ddof=1)), "of_scores": float(np.median(series.std(axis=1, ddof=1)))},
        "by_questions": spread(detectable(naive, n, ALPHA)),
        "by_documents": spread(detectable(grouped, documents, ALPHA)),
        "declared": spread(detectable(grouped[base], documents, ALPHA / base.sum())),
        "all_holm": spread(detectable(grouped, documents, ALPHA / len(pairs))),
        "all_max_t": spread(detectable(grouped, documents, together.level)),
        "deff": {**spread(deff), "baseline": float(np.median(deff[base])),
                 "icc": float((np.median(deff) - 1) / max(kish - 1, 1e-9)) if kish > 1 else 0.0},
        "decided": {"holm": int((holm(p) < ALPHA).sum()), "max_t": int((together.p < ALPHA).sum()),
                    "equivalent": int((same < ALPHA).sum()), "plain": int((p < ALPHA).sum()),
                    "naive": int((single < ALPHA).sum()),
                    "effective": float(ALPHA / together.level)},
    }  # fmt: skip


def reported(folder: Path) -> dict[str, Any]:
    """What the run itself says, as `measured/collections.json` has it: verdicts, top group, median detectable."""
    rows = pd.read_parquet(folder / "comparisons.parquet")
    rows = rows[rows["metric"] == METRIC]
    verdict = json.loads((folder / "verdict.json").read_text())
    counts = rows["verdict"].value_counts()
    return {
        "pairs": len(rows), "top": len(verdict["group"]), "of": len(verdict["group"]) + len(verdict["beaten"]),
        "decided": int(counts.get("higher", 0) + counts.get("lower", 0)),
        "equivalent": int(counts.get("equivalent", 0)), "undecided": int(counts.get("undecided", 0)),
        "detectable": float(np.sort(rows["detectable"])[len(rows) // 2]),
    }  # fmt: skip


def thinned(folder: Path) -> dict[str, Any]:
    """Standard errors of the pairs' differences when at most q questions of every document are kept."""
    arms, series, documents = values(folder, METRIC)
    clusters = numbered(documents)
    pairs = np.asarray(list(combinations(range(len(arms)), 2)))
    apart, rng = series[pairs[:, 0]] - series[pairs[:, 1]], np.random.default_rng(SEED)
    full, found = standard_error(apart, clusters), {}
    for most in PER_DOCUMENT:
        squares, counts = [], []
        for _ in range(DRAWS):
            order = rng.permutation(len(clusters))
            place = pd.Series(clusters[order]).groupby(clusters[order]).cumcount().to_numpy()
            kept = order[place < most]
            squares.append(standard_error(apart[:, kept], clusters[kept]) ** 2)
            counts.append(len(kept))
        error = np.sqrt(np.mean(squares, axis=0))
        found[str(most)] = {"questions": int(counts[0]), "ratio": float(np.median(error / full))}
    return found


if __name__ == "__main__":
    folders = {name: Path(sys.argv[1]) / f"{name}-core" for name in COLLECTIONS}
    ready = {name: folder for name, folder in folders.items() if (folder / "report.md").is_file()}
    done: dict[str, Any] = {name: {**figures(folder), "run": reported(folder)} for name, folder in ready.items()}
    if "clscisumm" in ready:
        done["clscisumm"]["thinned"] = thinned(ready["clscisumm"])
    TARGET.write_text(
        text({**done, "design": {"seed": SEED, "flips": FLIPS, "draws": DRAWS, "margin": MARGIN}}) + "\n"
    )
