"""Whether a benchmark sets strategies apart: headroom, disagreement of families, and who leads on which kind."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from evaluation.quality.kinship import BOUND, DENSE, LEXICAL

APART = 0.5  # of reciprocal rank: first against third, or found against not found


def values(per_query: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The values of one metric, questions by strategies."""
    chosen = per_query[per_query["metric"] == metric]
    return chosen.pivot_table(index="qid", columns="strategy", values="value", sort=True)


def best(per_query: pd.DataFrame, families: Mapping[str, str], metric: str) -> tuple[str, float]:
    """The strategy with the best mean, floor and ceiling left out, and that mean."""
    means = values(per_query, metric).mean()
    rivals = means[[name for name in means.index if families[str(name)] != BOUND]]
    return str(rivals.idxmax()), float(rivals.max())


def disagreement(per_query: pd.DataFrame, families: Mapping[str, str]) -> tuple[str, str, float]:
    """The best lexical and the best dense strategy by RR, and the share of questions that set them `APART`."""
    table = values(per_query, "RR")
    means = table.mean()
    lexical, dense = (
        str(means[[name for name in means.index if families[str(name)] == wanted]].idxmax())
        for wanted in (LEXICAL, DENSE)
    )
    gaps = (table[lexical] - table[dense]).abs()
    return lexical, dense, float(np.mean(gaps >= APART))


def leaders(
    per_query: pd.DataFrame, kinds: Mapping[str, str], families: Mapping[str, str], metric: str
) -> pd.DataFrame:
    """One row per kind of question: number, mean of every family's best strategy, and the family that leads.

    `kinds` names the kind of every question; columns kind, n, one per family, `leader` (families that tie, joined by
    a comma).
    """
    table = values(per_query, metric)
    rows = []
    for kind, part in table.groupby(table.index.map(kinds)):
        means = part.mean()
        tops: dict[str, float] = {}
        for name, value in means.items():
            group = families[str(name)]
            if group != BOUND:
                tops[group] = max(tops.get(group, 0.0), float(value))
        highest = max(tops.values())
        leading = [group for group in sorted(tops) if tops[group] >= highest - 1e-9]
        rows.append({"kind": kind, "n": len(part), **dict(sorted(tops.items())), "leader": ", ".join(leading)})
    return pd.DataFrame(rows)
