"""Paired comparisons: which strategy is better than which, by how much, and how sure that is.

Every pair is compared over the same questions, and whole source documents are resampled or flipped. The family that
is corrected together is what `conf/eval/` declares (Holm), else all pairs (step-down max-T, which sees that they
rise and fall together). Verdicts exist on the primary metric only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from evaluation.families import holm, step_down, tukey
from evaluation.power import detectable, effect_size, questions_needed, standard_error
from evaluation.randomise import equivalence, flips_for, sign_flips
from evaluation.rules import Rules
from evaluation.sentences import sentence
from evaluation.stats import MIN_CLUSTERS, intervals
from retrieval.schema import Floats, Queries

COLUMNS = [
    *("metric", "a", "b", "n", "diff", "lo", "hi", "p", "p_adjusted", "wins", "ties", "losses", "detectable"),
    *("verdict", "clusters", "effect", "p_all_pairs", "p_hsd", "p_equivalent", "needed", "family", "sentence"),
]  # fmt: skip
DECLARED, ALL_PAIRS = "declared", "all pairs"
VERDICTS = HIGHER, LOWER, EQUIVALENT, UNDECIDED = "higher", "lower", "equivalent", "undecided"
TIE = 1e-9  # differences of a question's values up to this are ties


def compare(
    per_query: pd.DataFrame,
    queries: Queries,
    rules: Rules,
    seed: int,
    same: Mapping[str, str],
    metrics: Sequence[str],
) -> pd.DataFrame:
    """All comparisons of a run; columns `COLUMNS`, by metric (the primary first), declared pairs first.

    Args:
        per_query: strategy, qid, metric, value.
        queries: of the benchmark; their clusters are what is resampled and flipped.
        rules: see `Rules`.
        seed: of resampling and flips.
        same: the arm whose ranking an arm repeats, by name: such arms are compared only where that is declared.
        metrics: the metrics that are described beside the primary one.
    """
    tables = []
    for metric in dict.fromkeys([rules.primary, *metrics]):
        wide = per_query[per_query["metric"] == metric].pivot_table(
            index="strategy", columns="qid", values="value", sort=False
        )
        if len(wide) < 2:
            continue
        names = [str(name) for name in wide.index]
        values = wide.reindex(columns=list(queries.qid)).to_numpy(np.float64)
        pairs = _pairs(names, rules, same)
        if pairs:
            tables.append(_table(metric, names, values, pairs, queries.cluster, rules, seed))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=COLUMNS)


def _pairs(names: Sequence[str], rules: Rules, same: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Every pair with its family. Floor and ceiling are no rivals, equal rankings are counted once."""
    rivals = [name for name in names if name not in rules.bounds and name not in same]
    declared = rules.family(names, same)
    known = {frozenset(pair) for pair in declared}
    others = [pair for pair in combinations(rivals, 2) if frozenset(pair) not in known]
    return dict.fromkeys(declared, DECLARED) | dict.fromkeys(others, ALL_PAIRS)


def _table(
    metric: str,
    names: Sequence[str],
    values: Floats,
    pairs: Mapping[tuple[str, str], str],
    clusters: Sequence[str],
    rules: Rules,
    seed: int,
) -> pd.DataFrame:
    place = {name: row for row, name in enumerate(names)}
    rows = np.asarray([(place[a], place[b]) for a, b in pairs], dtype=np.int64)
    differences = values[rows[:, 0]] - values[rows[:, 1]]
    found = intervals(
        np.round(differences, 12),
        clusters,
        seed,
        resamples=rules.resamples,
        confidence=rules.confidence,
        method=rules.interval,  # type: ignore[arg-type]
    )
    table = pd.DataFrame(
        {
            "metric": metric,
            "a": [a for a, _ in pairs],
            "b": [b for _, b in pairs],
            "n": found.n,
            "diff": found.mean,
            "lo": found.lo,
            "hi": found.hi,
            "wins": (differences > TIE).sum(axis=1),
            "ties": (np.abs(differences) <= TIE).sum(axis=1),
            "losses": (differences < -TIE).sum(axis=1),
            "clusters": found.n_clusters,
            "effect": effect_size(differences),
            "family": list(pairs.values()),
        }
    ).reindex(columns=COLUMNS)
    table[["verdict", "sentence"]] = ""
    if metric == rules.primary:
        _test(table, values, rows, clusters, rules, seed)
        said = [sentence(row, rules.margin, family_size(table, row["family"])) for row in table.to_dict("records")]
        table["sentence"] = said
    return table


def family_size(table: pd.DataFrame, family: str) -> int:
    """How many comparisons of one metric were corrected together: the declared ones, or all, declared or not."""
    return len(table) if family == ALL_PAIRS else int((table["family"] == DECLARED).sum())


def _test(
    table: pd.DataFrame,
    values: Floats,
    rows: npt.NDArray[np.int64],
    clusters: Sequence[str],
    rules: Rules,
    seed: int,
) -> None:
    """Fill in what only the primary metric has: p-values, power and verdicts."""
    table["verdict"] = UNDECIDED
    if int(table["clusters"].min()) < MIN_CLUSTERS:
        return
    flips = max(rules.flips, flips_for(len(rows), rules.alpha))
    p = sign_flips(values, rows, clusters, seed, flips)
    inside = equivalence(values, rows, clusters, seed, flips, rules.margin)
    rivals = np.unique(rows)
    hsd = np.full((len(values), len(values)), np.nan)
    hsd[np.ix_(rivals, rivals)] = tukey(values[rivals], clusters, seed, rules.rounds)
    differences = values[rows[:, 0]] - values[rows[:, 1]]
    error = standard_error(differences, clusters)
    together = step_down(values, rows, clusters, seed, flips, rules.alpha)
    table["p"], table["p_all_pairs"], table["p_hsd"] = p, together.p, hsd[rows[:, 0], rows[:, 1]]
    declared = (table["family"] == DECLARED).to_numpy()
    table["p_adjusted"] = np.where(declared, _within(p, declared), together.p)
    table["p_equivalent"] = np.where(declared, _within(inside, declared), holm(inside))
    level = np.where(declared, rules.alpha / max(int(declared.sum()), 1), together.level)
    n, n_clusters = table["n"].to_numpy(), table["clusters"].to_numpy()
    table["detectable"] = detectable(error, n_clusters, level, rules.power)
    table["needed"] = questions_needed(
        table["diff"].to_numpy(), error, n, n_clusters, rules.margin, level, rules.power
    )[0]
    table["verdict"] = [_verdict(row, rules.alpha) for row in table.to_dict("records")]
    table.loc[table["verdict"] != UNDECIDED, "needed"] = np.nan


def _within(p: Floats, members: npt.NDArray[np.bool_]) -> Floats:
    """Holm's adjustment over these members, NaN for the others."""
    adjusted = np.full(len(p), np.nan)
    adjusted[members] = holm(p[members])
    return adjusted


def _verdict(row: Mapping[Any, Any], alpha: float) -> str:
    if row["p_adjusted"] < alpha and row["diff"] != 0:
        return HIGHER if row["diff"] > 0 else LOWER
    return EQUIVALENT if row["p_equivalent"] < alpha else UNDECIDED
