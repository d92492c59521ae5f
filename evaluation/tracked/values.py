"""Parameters and metrics of arms as MLflow gets them: what differs, every mean, how an arm stands to the leader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evaluation.errors import TrackingError
from evaluation.tracked.folder import Results
from ingestion.config import flatten

COSTS = ("latency_p50_ms", "latency_p95_ms", "index_bytes", "index_seconds", "search_seconds")
SHARED = ("split", "seed", "depth", "chunker", "ingest")  # outside the strategy, by which jobs of a sweep can differ
OPPOSITE = {"higher": "lower", "lower": "higher"}


def metric_key(name: str) -> str:
    """The name that MLflow accepts for a metric: `nDCG@5` becomes `ndcg_at_5`, `EvRecall@1000w` `evrecall_at_1000w`.

    `(dcg='exp-log2')` becomes `_exp`. `metric_names` inverts it.
    """
    return name.lower().replace("(dcg='exp-log2')", "_exp").replace("@", "_at_")


def metric_names(names: Iterable[str]) -> dict[str, str]:
    """Mapping of MLflow's metric name back to ours.

    Raises:
        TrackingError: two metrics would share one name.
    """
    back: dict[str, str] = {}
    for name in names:
        if back.setdefault(metric_key(name), name) != name:
            raise TrackingError(
                f"metrics {back[metric_key(name)]!r} and {name!r} share one MLflow name; leave one out"
            )
    return back


def split_parameters(results: Results) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Parameters of arms: those in which no two arms differ, and by arm the others.

    A job of a sweep, and an arm that is alone, keep all of theirs: what they differ from is in other folders.
    """
    manifest = results.manifest
    flat = {name: _without_classes(flatten(arm.get("config") or {})) for name, arm in results.arms.items()}
    if manifest.get("sweep"):
        config = manifest["config"]
        outside = flatten({key: config[key] for key in SHARED if key in config})
        return {}, {name: {**outside, **parameters} for name, parameters in flat.items()}
    if len(flat) < 2:
        return {}, flat
    values: dict[str, dict[str, Any]] = {}
    for parameters in flat.values():
        for key, value in parameters.items():
            values.setdefault(key, {})[str(value)] = value
    shared = {key: next(iter(found.values())) for key, found in values.items() if len(found) == 1}
    own = {name: {key: value for key, value in found.items() if key not in shared} for name, found in flat.items()}
    return shared, own


def _without_classes(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters without the classes of their stages, which `stages` names."""
    return {key: value for key, value in parameters.items() if not key.endswith("_target_")}


def measures(results: Results, name: str) -> dict[str, float]:
    """Every mean with its interval, the primary one once more under a stable name, and the cost."""
    rows, arm = results.summary[results.summary["strategy"] == name], results.arms[name]
    metric_names(rows["metric"])
    values: dict[str, float] = {}
    for metric, mean, low, high in zip(rows["metric"], rows["mean"], rows["lo"], rows["hi"], strict=True):
        names = [metric_key(metric), *(["primary"] if metric == results.primary else [])]
        for key in names:
            values |= {key: float(mean), f"{key}_lo": float(low), f"{key}_hi": float(high)}
    return values | {key: float(arm[key]) for key in COSTS if arm.get(key) is not None}


def standing(results: Results, name: str) -> tuple[dict[str, str], dict[str, float]]:
    """How an arm stands to the leader: verdict and sentence; difference with interval, and whether it is in the top.

    An arm that repeats another's ranking stands where that one does.
    """
    group, leader = set(results.verdict.get("group", ())), results.verdict.get("leader", "")
    if results.arms[name]["state"] != "ran" or not leader:
        return {}, {}
    ranking = results.arms[name].get("fingerprint")
    twins = {name} | {other for other, arm in results.arms.items() if ranking and arm.get("fingerprint") == ranking}
    metrics = {"in_top_group": float(bool(twins & group))}
    if leader in twins:
        return {"sentence": f"The best mean of {results.primary}."}, metrics | {"diff_to_leader": 0.0}
    for row in results.comparisons.to_dict("records"):
        if row["metric"] == results.primary and leader in (row["a"], row["b"]) and twins & {row["a"], row["b"]}:
            ours_first = row["b"] == leader
            diff, low, high = (
                (row["diff"], row["lo"], row["hi"]) if ours_first else (-row["diff"], -row["hi"], -row["lo"])
            )
            verdict = str(row["verdict"])
            said = {"verdict": verdict if ours_first else OPPOSITE.get(verdict, verdict)}
            said["sentence"] = str(row.get("sentence") or "")
            return said, metrics | {"diff_to_leader": diff, "diff_to_leader_lo": low, "diff_to_leader_hi": high}
    return {}, metrics


def finite(metrics: Mapping[str, float]) -> dict[str, float]:
    """The metrics without NaN and infinities, which MLflow would store as other numbers."""
    return {key: value for key, value in metrics.items() if value == value and abs(value) != float("inf")}
