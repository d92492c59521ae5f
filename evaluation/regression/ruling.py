"""A run against its baseline: two questions, kept apart, and the cost. Pure: it sees two snapshots and the bounds."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from evaluation.regression import changes, decline
from evaluation.regression.baseline import check_comparable, package_changes
from evaluation.regression.changes import Change
from evaluation.regression.pace import ratio
from evaluation.regression.settings import Gate
from evaluation.regression.snapshot import Snapshot

PASSED, REGRESSED, IMPOSSIBLE = 0, 1, 2
COSTS = ["strategy", "size", "least", "most", "bigger", "slower"]


@dataclass(frozen=True)
class Ruling:
    """What the gate found.

    `changed`: did anything change? One entry per strategy of either side. `declined`: is it worse beyond noise? A
    row per strategy that both have (`decline.COLUMNS`). `costs`: strategy, size, and least and most latency (ratios
    to the baseline, NaN where unknown), `bigger` and `slower` (bool: surely beyond the bound). `causes`: what else
    differs, such as versions.
    """

    changed: tuple[Change, ...]
    declined: pd.DataFrame
    costs: pd.DataFrame
    causes: tuple[str, ...]

    @property
    def code(self) -> int:
        """0 where nothing changed or regressed, else 1."""
        moved = any(change.state in changes.ALARMS for change in self.changed)
        worse = self.declined["state"].isin(decline.ALARMS).any()
        return REGRESSED if moved or worse or self.costs[["bigger", "slower"]].to_numpy().any() else PASSED


def judge(now: Snapshot, then: Snapshot, gate: Gate) -> Ruling:
    """Compare a run with its baseline.

    Raises:
        BaselineError: corpus, judgments, metrics or another part of the identity differ.
    """
    check_comparable(now, then)
    code = [] if now.about["code"] == then.about["code"] else [f"code {then.about['code']} -> {now.about['code']}"]
    return Ruling(
        changed=tuple(changes.changes(now, then, gate)),
        declined=decline.declines(now, then, gate),
        costs=costs(now, then, gate),
        causes=(*code, *package_changes(now, then)),
    )


def costs(now: Snapshot, then: Snapshot, gate: Gate) -> pd.DataFrame:
    """Ratios of index size and latency of every strategy that both have; columns `COSTS`."""
    rows = []
    for name in sorted(now.arms.keys() & then.arms.keys()):
        new, old = now.arms[name], then.arms[name]
        latency = ratio(new.timings, old.timings) or (None, None)
        rows.append((name, _size(new.index_bytes, old.index_bytes), *latency))
    table = pd.DataFrame(rows, columns=COSTS[:4]).astype(dict.fromkeys(COSTS[1:4], "float64"))
    return table.assign(bigger=table["size"] > gate.size_ratio, slower=table["least"] > gate.latency_ratio)


def _size(new: int | None, old: int | None) -> float | None:
    """Bytes now over bytes then; 1 where neither has an index, infinite where only the new one has."""
    if new is None or old is None:
        return None
    if old == 0:
        return 1.0 if new == 0 else float("inf")
    return new / old
