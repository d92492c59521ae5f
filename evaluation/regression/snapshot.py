"""What the gate remembers of a run: digests of its inputs, fingerprint and top of every ranking, values, cost.

`of_results` takes it from a results folder; `evaluation.regression.baseline` keeps it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.arms import RAN
from evaluation.errors import EvaluationError
from evaluation.metrics import parse_metric
from evaluation.plan import EMBEDS
from evaluation.regression.pace import Timing, from_json
from retrieval.rerankers.cross_encoder import CrossEncoder

MEASURED = "measured.json"  # what the gate adds to a results folder before it compares: clusters and timings
TOP = 20  # ranks that are kept of every ranking
PLACES = 10  # decimals that are kept of a value: the last bits depend on the processor
NEURAL = frozenset(cls.__name__ for cls in (*EMBEDS, CrossEncoder))  # a transformer in float arithmetic
KEYS = ["strategy", "qid"]


class BaselineError(EvaluationError):
    """A comparison with the baseline is impossible; the message says what changed and what to do."""


class BaselineWriteError(EvaluationError):
    """A baseline cannot be written; the one before it is untouched."""


@dataclass(frozen=True)
class Kept:
    """One arm that ran.

    `fingerprint` of its whole ranking; `stages`: digest of its stages' parameters and versions, empty for an outside
    run; `backend`: the classes that did the work; `index_bytes`: None where it has no index of ours.
    """

    fingerprint: str
    stages: str
    backend: tuple[str, ...]
    index_bytes: int | None
    timings: tuple[Timing, ...]

    @property
    def neural(self) -> bool:
        """Whether a transformer in float arithmetic has a part in the ranking, so that it may drift."""
        return not NEURAL.isdisjoint(self.backend)


@dataclass(frozen=True)
class Snapshot:
    """A run as the gate sees it.

    `identity`: what must be equal for a comparison to mean anything, `about`: counts that explain it. `values`:
    float64 [strategy and qid, metric], sorted, rounded to 10 places, NaN without a value. `top`: strategy, qid, ids;
    the first 20 chunk ids of every ranking, in their order, joined by blanks, as TREC files escape them. `absent`:
    arms that did not run, with the reason, and `clusters` by qid; a baseline keeps neither.
    """

    name: str
    identity: Mapping[str, Any]
    about: Mapping[str, Any]
    arms: Mapping[str, Kept]
    values: pd.DataFrame
    top: pd.DataFrame
    absent: Mapping[str, str] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)

    @property
    def timings(self) -> dict[str, tuple[Timing, ...]]:
        """The timings of every arm, by name."""
        return {name: arm.timings for name, arm in self.arms.items()}


def of_results(folder: Path) -> Snapshot:
    """The snapshot of a results folder to which the gate has added `measured.json`.

    Raises:
        BaselineError: a file is missing or unreadable.
    """
    try:
        manifest, arms, measured = (
            json.loads((folder / name).read_text()) for name in ("manifest.json", "arms.json", MEASURED)
        )
        values = wide(pd.read_parquet(folder / "per_query.parquet"))
    except (OSError, ValueError) as error:
        raise BaselineError(f"{folder}: no results that a gate measured ({error})") from error
    ran = sorted(name for name, arm in arms.items() if arm["state"] == RAN)
    return Snapshot(
        name=manifest["name"],
        identity=_identity(manifest),
        about=_about(manifest),
        arms={name: _kept(arms[name], manifest["strategies"].get(name, ""), measured, name) for name in ran},
        values=values,
        top=_tops(folder, ran),
        absent={name: str(arm["reason"]) for name, arm in sorted(arms.items()) if arm["state"] != RAN},
        clusters=measured["clusters"],
    )


def wide(per_query: pd.DataFrame) -> pd.DataFrame:
    """Values by strategy and qid (rows) and metric (columns), both sorted."""
    table = per_query.pivot_table(index=KEYS, columns="metric", values="value").astype("float64")
    table.columns = pd.Index([str(name) for name in table.columns], dtype=object)
    return table.sort_index(axis=0).sort_index(axis=1).round(PLACES)


def _identity(manifest: Mapping[str, Any]) -> dict[str, Any]:
    evaluation, config = manifest["config"]["eval"], manifest["config"]
    return {
        "corpus": manifest["corpus"]["fingerprint"],
        "judgments": manifest["benchmark"]["digest"],
        "split": manifest["split"],
        "depth": manifest["depth"],
        "seed": manifest["seed"],
        "primary": manifest["primary"],
        "metrics": sorted({parse_metric(name).name for name in [manifest["primary"], *config["metrics"]]}),
        "credit": manifest["credit"],
        "min_coverage": evaluation["min_coverage"],
    }


def _about(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "code": manifest["code"],
        "time": manifest["time"],
        "chunks": manifest["corpus"]["chunks"],
        "documents": manifest["corpus"]["documents"],
        "queries": manifest["benchmark"]["queries"],
        "packages": manifest["packages"],
    }


def _kept(arm: Mapping[str, Any], stages: str, measured: Mapping[str, Any], name: str) -> Kept:
    backend = arm["backend"]
    return Kept(
        fingerprint=arm["fingerprint"],
        stages=stages,
        backend=(backend,) if isinstance(backend, str) else tuple(backend),
        index_bytes=arm.get("index_bytes"),
        timings=from_json(measured["timings"].get(name, [])),
    )


def _tops(folder: Path, names: Sequence[str]) -> pd.DataFrame:
    """The top of every ranking, by strategy and qid; a query that found nothing has no row."""
    tables = [_top(folder / "runs" / f"{name}.trec", name) for name in names]
    if not tables:
        return pd.DataFrame(columns=[*KEYS, "ids"], dtype=str)
    return pd.concat(tables, ignore_index=True)


def _top(path: Path, name: str) -> pd.DataFrame:
    columns = ["qid", "q0", "id", "rank", "score", "tag"]
    try:
        rows = pd.read_csv(
            path, sep=" ", names=columns, dtype=str, quoting=csv.QUOTE_NONE, keep_default_na=False, encoding="utf-8"
        )
    except OSError as error:
        raise BaselineError(f"{path}: not there, though its arm ran ({error})") from error
    except pd.errors.EmptyDataError:
        rows = pd.DataFrame(columns=columns, dtype=str)
    rows = rows[rows["rank"].astype(int) <= TOP]
    joined = rows.groupby("qid", sort=True)["id"].agg(" ".join).reset_index()
    return pd.DataFrame({"strategy": name, "qid": joined["qid"], "ids": joined["id"]}, dtype=str)
