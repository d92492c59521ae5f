"""What a shallow pool does to those who are in it and to those who are not (figures of RP-TR-19).

    RANKPROOF_DATA=... python corpus/experiments/rp_19_pools.py <folder with results>

The folder holds `<collection>-core/runs/*.trec`. The collection's full judgments are taken for the truth. A pool of
depth d keeps those that stand in the first d ranks of a member, judges the other passages that stand there 0, and
forgets what lies outside. Writes `corpus/sources/measured/rp-19.json`; about 10 seconds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from evaluation.agreement.rank_correlation import tau_b
from evaluation.benchmark import BenchmarkSpec, load_benchmark
from evaluation.fairness import distinct
from evaluation.grades import grade_matrix
from evaluation.judging import Judged
from evaluation.metrics import evaluate, parse_metric
from evaluation.pool.pooling import pairs_of, pool, with_pool
from evaluation.qrels import id_qrels
from evaluation.schema import Qrels
from evaluation.trec import read_run
from retrieval.schema import Floats, Run

TARGET = Path(__file__).resolve().parents[1] / "sources" / "measured" / "rp-19.json"
COLLECTIONS, DEPTHS, SIZES, SEED, DRAWS = (
    ("cranfield", "cacm", "npl"),
    (1, 5, 10, 20),
    (25, 50, 100, 200, 400),
    19,
    4_000,
)
BUDGET = 2_500  # judged passages
METRICS = [parse_metric(name) for name in ("nDCG@5", "R@5", "Bpref", "Judged@5")]
NEURAL, RIVAL, DENSE = "sentence_transformer", "bm25", ("sentence_transformer", "qdrant")


def load(results: Path) -> tuple[Judged, dict[str, Run]]:
    """The judged collection and the rankings of a run; of equal ones the first, and Qdrant's last of all."""
    folder = Path(os.environ["RANKPROOF_DATA"]) / "beir" / results.name.removesuffix("-core")
    benchmark = load_benchmark(BenchmarkSpec("beir", str(folder)), "test")
    files = sorted((results / "runs").glob("*.trec"), key=lambda path: (path.stem == "qdrant", path.stem))
    outside = {path.stem: read_run(path) for path in files}
    ids, qrels = id_qrels(benchmark, outside.values())
    row_of = {str(doc): row for row, doc in enumerate(ids)}
    runs = {arm: ranking.to_run(benchmark.queries.qid, row_of)[0] for arm, ranking in outside.items()}
    return Judged(benchmark, None, ids, qrels, None, outside), distinct(runs)[0]


def pooled(judged: Judged, runs: Mapping[str, Run], members: Iterable[str], depth: int) -> Qrels:
    """The judgments that a pool of these members would have produced."""
    pairs, full = pool({name: runs[name] for name in members}, depth), judged.qrels
    keep = np.isin(pairs_of(full.query, full.chunk), pairs)
    columns = {name: getattr(full, name)[keep] for name in ("query", "chunk", "grade", "group", "parts")}
    return with_pool(pairs, replace(judged, qrels=replace(full, **columns)), 0.5)


def scores(judged: Judged, runs: Mapping[str, Run], qrels: Qrels) -> dict[str, Floats]:
    """Values per arm, float64 [n_metrics, n_queries]; a query without anything relevant in the pool is NaN."""
    n = len(judged.benchmark.queries)
    return {name: evaluate(grade_matrix(run, qrels, n), METRICS) for name, run in runs.items()}


def means(values: Mapping[str, Floats], metric: int) -> Floats:
    """Mean of every arm over the queries that have a value."""
    return np.asarray([np.nanmean(value[metric]) for value in values.values()])


def seen_as(values: Mapping[str, Floats], arm: str) -> dict[str, float]:
    """Score and rank of an arm (on nDCG@5 and bpref), and its share of judged passages."""
    own, found = list(values).index(arm), {}
    for metric, name in ((0, "rank"), (2, "bpref_rank")):
        mean = np.round(means(values, metric), 12)
        found[name] = 1 + int((mean > mean[own]).sum())
    return {**found, "score": means(values, 0)[own], "bpref": means(values, 2)[own], "judged": means(values, 3)[own]}


def gap(full: Floats, seen: Floats, passages: float) -> dict[str, float]:
    """A difference as a pool shows it: mean, share of 95 % t intervals from n questions that hold that of the full
    judgments, and the root mean square error from as many questions as the budget buys.
    """  # noqa: D205
    rng, usable = np.random.default_rng(SEED), ~np.isnan(seen)
    true, given = np.nanmean(full), seen[usable]
    found = {"diff": given.mean(), "passages": passages, "bought": BUDGET / passages}
    found["error"] = np.hypot(given.mean() - true, given.std(ddof=1) / np.sqrt(BUDGET / passages))
    for n in SIZES:
        drawn = given[rng.integers(0, len(given), (DRAWS, n))]
        half = stdtrit(n - 1, 0.975) * drawn.std(axis=1, ddof=1) / np.sqrt(n)
        found[f"held_{n}"] = (np.abs(drawn.mean(axis=1) - true) <= half).mean()
    return found


def at_depth(judged: Judged, runs: Mapping[str, Run], depth: int) -> dict[str, Any]:
    """All arms under a pool of all of them, and arms under pools that they did not contribute to."""
    full, n = scores(judged, runs, judged.qrels), len(judged.benchmark.queries)
    everybody, lexical = list(runs), [name for name in runs if name not in DENSE]
    without = {f"alone {arm}": [name for name in everybody if name != arm] for arm in everybody}
    without |= {f"kin {NEURAL}": lexical, f"kin {RIVAL}": [name for name in everybody if name in ("tfidf", *DENSE)]}
    seen = {label: scores(judged, runs, pooled(judged, runs, names, depth)) for label, names in without.items()}
    qrels = pooled(judged, runs, everybody, depth)
    now = scores(judged, runs, qrels)
    found: dict[str, Any] = {label: seen_as(values, label.split()[1]) for label, values in seen.items()}
    for arm in everybody:  # bpref is reported for arms without kin only
        found[f"alone {arm}"] = {key: found[f"alone {arm}"][key] for key in ("judged", "rank", "score")}
    difference = full[NEURAL][0] - full[RIVAL][0]
    found["pool"] = {
        "passages": len(pool(runs, depth)) / n, "relevant": (qrels.grade > 0).sum() / (judged.qrels.grade > 0).sum(),
        "scored": int((~np.isnan(now[RIVAL][0])).sum()), "tau": tau_b(means(full, 0), means(now, 0)),
        "shift": (means(now, 0) - means(full, 0)).mean(), "recall_shift": (means(now, 1) - means(full, 1)).mean(),
        "tau_out": tau_b(means(full, 0), means(seen[f"kin {NEURAL}"], 0)),
    }  # fmt: skip
    found["gap in"] = gap(difference, now[NEURAL][0] - now[RIVAL][0], len(pool(runs, depth)) / n)
    outside, size = seen[f"kin {NEURAL}"], len(pool({name: runs[name] for name in lexical}, depth)) / n
    found["gap out"] = gap(difference, outside[NEURAL][0] - outside[RIVAL][0], size)
    return found


def figures(results: Path) -> dict[str, Any]:
    """Everything that the report says about one collection."""
    judged, runs = load(results)
    full = scores(judged, runs, judged.qrels)
    about = {"questions": len(judged.benchmark.queries), "relevant": int((judged.qrels.grade > 0).sum())}
    about |= {"arms": len(runs), "gap": np.nanmean(full[NEURAL][0] - full[RIVAL][0])}
    found: dict[str, Any] = {"about": about, "full": {f"alone {arm}": seen_as(full, arm) for arm in runs}}
    return found | {str(depth): at_depth(judged, runs, depth) for depth in DEPTHS}


def text(value: Any, depth: int = 0) -> str:
    """JSON with a line for every innermost object, keys sorted, numbers to four places."""
    if not isinstance(value, dict):
        return json.dumps(value if isinstance(value, int) else round(float(value), 4))
    inner = ",\n" + " " * (depth + 1) if any(isinstance(part, dict) for part in value.values()) else ", "
    body = inner.join(f"{json.dumps(key)}: {text(value[key], depth + 1)}" for key in sorted(value))
    return "{" + (inner.lstrip(",") if "\n" in inner else "") + body + "}"


if __name__ == "__main__":
    folders = {name: Path(sys.argv[1]) / f"{name}-core" for name in COLLECTIONS}
    done = {name: figures(folder) for name, folder in folders.items() if (folder / "report.md").is_file()}
    TARGET.write_text(text({**done, "design": {"seed": SEED, "draws": DRAWS, "budget": BUDGET}}) + "\n")
