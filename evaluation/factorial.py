"""A complete factorial of switches: which part of a pipeline earns its place, and which parts work together.

Effects as in Box, Hunter and Hunter (Statistics for Experimenters, 2nd ed., ch. 5), computed for every query and then
averaged, so that they are paired over queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from evaluation.errors import RequestError
from evaluation.stats import intervals
from ingestion.artifacts import fingerprint
from retrieval.build import build_strategy, strategy_config
from retrieval.schema import Floats, Queries
from retrieval.stage import Retriever

COLUMNS = ["effect", "metric", "n", "diff", "lo", "hi", "clusters", "interval", "note"]


@dataclass(frozen=True)
class Factorial:
    """All cells of `switches` of a strategy: the arm of each combination of on and off, in the order of `product`."""

    strategy: str
    switches: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def effects(self) -> list[tuple[str, Floats]]:
        """Name and contrast of every effect, float64 [n_cells], summing to 0.

        A main effect is the mean over the cells with the part minus the mean over those without. An interaction is
        half the difference of one part's effect with and without the other, and so on.
        """
        signs = np.asarray(list(product((-1.0, 1.0), repeat=len(self.switches))))
        half = len(self.cells) / 2
        groups = [group for size in range(1, len(self.switches) + 1) for group in _groups(len(self.switches), size)]
        return [
            (" x ".join(self.switches[at] for at in group), signs[:, list(group)].prod(axis=1) / half)
            for group in groups
        ]


def _groups(n_switches: int, size: int) -> list[tuple[int, ...]]:
    return list(combinations(range(n_switches), size))


def find_factorial(settings: Mapping[str, Any], arms: Mapping[str, Retriever]) -> Factorial:
    """The arms that are the cells of a factorial, found by fingerprint.

    Args:
        settings: `strategy` and its `switches`, as in `conf/suite/ablation.yaml`.
        arms: the stages of every arm by name.

    Raises:
        RequestError: a cell is no arm of the suite.
    """
    by_print = {fingerprint(stage): name for name, stage in arms.items()}
    strategy, switches = str(settings["strategy"]), tuple(str(name) for name in settings["switches"])
    cells = []
    for levels in product((False, True), repeat=len(switches)):
        overrides = [f"strategy.use.{name}={str(on).lower()}" for name, on in zip(switches, levels, strict=True)]
        cell = by_print.get(fingerprint(build_strategy(strategy_config(strategy, overrides))))
        if cell is None:
            raise RequestError(
                f"the factorial of {strategy} needs the cell {' '.join(overrides)}; add that strategy to the suite"
            )
        cells.append(cell)
    return Factorial(strategy, switches, tuple(cells))


def effects(
    per_query: pd.DataFrame, factorial: Factorial, queries: Queries, settings: Mapping[str, Any], seed: int
) -> pd.DataFrame:
    """Every effect on every metric with its interval, resampled by cluster; columns `COLUMNS`.

    A query counts where all cells have a value. Empty where a cell did not run.
    """
    cells = per_query[per_query["strategy"].isin(factorial.cells)]
    if set(cells["strategy"]) != set(factorial.cells):
        return pd.DataFrame(columns=COLUMNS)
    names, rows = [], []
    for metric, part in cells.groupby("metric", sort=False):
        wide = part.pivot_table(index="strategy", columns="qid", values="value", sort=False)
        values = wide.reindex(index=list(factorial.cells), columns=list(queries.qid)).to_numpy(np.float64)
        for name, contrast in factorial.effects:
            names.append((name, str(metric)))
            rows.append(np.round(contrast @ values, 12))  # cells that are equal leave no dust
    found = intervals(
        np.asarray(rows),
        queries.cluster,
        seed=seed,
        resamples=int(settings["resamples"]),
        confidence=float(settings["confidence"]),
        method=settings["interval"],
    )
    table = pd.DataFrame(names, columns=["effect", "metric"])
    table["n"], table["diff"], table["lo"], table["hi"] = found.n, found.mean, found.lo, found.hi
    table["clusters"], table["interval"] = found.n_clusters, found.method
    table["note"] = np.where(found.too_few, "too few documents", "")
    return table[COLUMNS]
