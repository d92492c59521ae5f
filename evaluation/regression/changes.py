"""The gate's first question: did anything change? Exact for every arm; neural ones may drift within a bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from evaluation.regression.settings import Gate
from evaluation.regression.snapshot import KEYS, TOP, Snapshot

State = Literal["same", "drifted", "changed", "missing", "new"]
ALARMS = ("changed", "missing")
SAME_WITHIN = 1e-9  # the baseline keeps 10 decimals, and the last bits of a logarithm depend on the processor
COMPARED = 10  # ranks over which the drift of a neural arm is counted
MOST_NAMED = 3  # metrics whose means a line gives
NEW = "ran, and the baseline does not have it; baseline=update takes it in"


@dataclass(frozen=True)
class Place:
    """The first place where two rankings part: question, rank, and the chunk then and now (empty: none)."""

    qid: str
    rank: int
    then: str
    now: str


@dataclass(frozen=True)
class Change:
    """What became of one strategy. `first` is None where the first 20 ranks are equal; `details` are sentences."""

    strategy: str
    state: State
    first: Place | None = None
    details: tuple[str, ...] = ()


def changes(now: Snapshot, then: Snapshot, gate: Gate) -> list[Change]:
    """Every strategy of either side, in alphabetical order."""
    common = sorted(now.arms.keys() & then.arms.keys())
    places, values, means = places_changed(now, then), values_changed(now, then), means_moved(now, then).T.to_dict()
    found = [Change(name, "new", details=(NEW,)) for name in now.arms.keys() - then.arms.keys()]
    for name in then.arms.keys() - now.arms.keys():
        reason = now.absent.get(name, "it was not asked for")
        found.append(Change(name, "missing", details=(f"in the baseline, and did not run now: {reason}",)))
    for name in common:
        own, cells = places[places["strategy"] == name], values[values["strategy"] == name]
        found.append(_change(name, now, then, own, cells, means.get(name, {}), gate))
    return sorted(found, key=lambda change: change.strategy)


def places_changed(now: Snapshot, then: Snapshot) -> pd.DataFrame:
    """Every place of the first 20 with another chunk: strategy, qid, rank, then, now (empty: no chunk there)."""
    both = _common(then.top, now).merge(_common(now.top, then), on=KEYS, how="outer", suffixes=("_then", "_now"))
    both = both.fillna("").sort_values(KEYS)
    both = both[both["ids_then"] != both["ids_now"]]
    sides = [_places(both, "then"), _places(both, "now")]
    table = sides[0].merge(sides[1], on=[*KEYS, "rank"], how="outer").fillna("")
    return table[table["then"] != table["now"]].sort_values([*KEYS, "rank"], ignore_index=True)


def values_changed(now: Snapshot, then: Snapshot) -> pd.DataFrame:
    """Every value that differs: strategy, qid, metric, then, now; NaN where a side has none."""
    new, old = _aligned(now, then)
    a, b = new.to_numpy(np.float64), old.to_numpy(np.float64)
    row, column = np.nonzero(~((np.abs(a - b) <= SAME_WITHIN) | (np.isnan(a) & np.isnan(b))))
    keys = {name: new.index.get_level_values(name)[row] for name in KEYS}
    cells = {"then": b[row, column], "now": a[row, column]}
    return pd.DataFrame({**keys, "metric": new.columns[column], **cells})


def means_moved(now: Snapshot, then: Snapshot) -> pd.DataFrame:
    """Mean now minus mean then: strategies (rows) by metric (columns)."""
    new, old = _aligned(now, then)
    return new.groupby(level=0).mean() - old.groupby(level=0).mean()


def _common(top: pd.DataFrame, other: Snapshot) -> pd.DataFrame:
    return top[top["strategy"].isin(list(other.arms))]


def _places(both: pd.DataFrame, side: str) -> pd.DataFrame:
    """One row per place of one side: strategy, qid, rank and the chunk."""
    lists = both[[*KEYS, f"ids_{side}"]].rename(columns={f"ids_{side}": side})
    lists = lists[lists[side] != ""].assign(**{side: lambda rows: rows[side].str.split(" ")})
    rows = lists.explode(side, ignore_index=True)
    return rows.assign(rank=rows.groupby(KEYS).cumcount() + 1)


def _aligned(now: Snapshot, then: Snapshot) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The values of the strategies that both have, over the same rows and columns."""
    common = sorted(now.arms.keys() & then.arms.keys())
    new, old = (side.values[side.values.index.get_level_values(0).isin(common)] for side in (now, then))
    index, columns = new.index.union(old.index), new.columns.union(old.columns)
    return new.reindex(index=index, columns=columns), old.reindex(index=index, columns=columns)


def _change(
    name: str,
    now: Snapshot,
    then: Snapshot,
    places: pd.DataFrame,
    values: pd.DataFrame,
    moved: Mapping[Any, float],
    gate: Gate,
) -> Change:
    new, old = now.arms[name], then.arms[name]
    retuned = ("parameters or version of its stages changed",) if new.stages != old.stages else ()
    same_ranking = new.fingerprint == old.fingerprint and places.empty
    if same_ranking and values.empty:
        return Change(name, "same", details=retuned)
    said = [*_ranking(places, same_ranking, name, then), *_values(values, moved, same_ranking), *retuned]
    state: State = "changed"
    if new.neural and old.neural:
        share = _share(places, name, now, then)
        largest = max((abs(step) for step in moved.values() if step == step), default=0.0)
        within = share <= gate.drift_places and largest <= gate.drift_mean and _same_questions(values)
        state = "drifted" if within else "changed"
        said.append(
            f"neural: {share:.2%} of top-{COMPARED} places differ (bound {gate.drift_places:.2%}), "
            f"means moved by up to {largest:.4f} (bound {gate.drift_mean:.4f})"
        )
    return Change(name, state, _first(places), tuple(said))


def _same_questions(values: pd.DataFrame) -> bool:
    """Whether the same questions have a value: drift moves values, it does not make or lose any."""
    return not values[["then", "now"]].isna().to_numpy().any()


def _share(places: pd.DataFrame, name: str, now: Snapshot, then: Snapshot) -> float:
    """Share of the top-10 places of either side that hold another chunk."""
    sides = [
        side.top[side.top["strategy"] == name].set_index("qid")["ids"].str.count(" ") + 1 for side in (now, then)
    ]
    longest = pd.concat(sides, axis=1).max(axis=1).clip(upper=COMPARED)
    return float((places["rank"] <= COMPARED).sum() / longest.sum()) if len(longest) else 0.0


def _first(places: pd.DataFrame) -> Place | None:
    if places.empty:
        return None
    row = places.iloc[0]
    return Place(str(row["qid"]), int(row["rank"]), str(row["then"]), str(row["now"]))


def _ranking(places: pd.DataFrame, same: bool, name: str, then: Snapshot) -> Iterator[str]:
    if same:
        return
    if places.empty:
        yield f"rankings differ, all of them below rank {TOP}"
        return
    ranked = int((then.top["strategy"] == name).sum())
    yield f"{places['qid'].nunique()} of {ranked} rankings differ within the first {TOP} ranks"


def _values(values: pd.DataFrame, moved: Mapping[Any, float], same_ranking: bool) -> Iterator[str]:
    """How many values differ, which means moved most, and what follows where the rankings are the same."""
    if values.empty:
        yield "no value differs"
        return
    metrics = list(dict.fromkeys(values["metric"]))
    most = sorted(metrics, key=lambda metric: (-abs(moved.get(metric, 0.0)), metric))[:MOST_NAMED]
    line = f"differing values: {len(values)}, questions: {values['qid'].nunique()}; means: "
    line += ", ".join(f"{metric} {moved.get(metric, 0.0):+.4f}" for metric in most)
    line += ", ..." if len(metrics) > MOST_NAMED else ""
    yield line
    if same_ranking:
        row = values.iloc[0]
        yield (
            f"the rankings are the same: a metric, or the judging of chunks, changed; first: {row['metric']} of "
            f"question {row['qid']}: {row['then']:.4f} -> {row['now']:.4f}"
        )
