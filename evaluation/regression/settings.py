"""What the regression gate is asked for: which baseline, which bounds. The settings of `conf/nightly.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from evaluation.errors import RequestError
from evaluation.request import Request
from ingestion.typed import build_spec

Mode = Literal["compare", "update"]
NAME = re.compile(r"[\w][\w.+-]*")


@dataclass(frozen=True)
class Gate:
    """Bounds of the gate and where its baseline is.

    `baseline`: compare with it, or replace it. `folder` holds baselines, `name` says which one (None: that of the
    suite or strategy). `fresh`: everything is built anew in a temporary folder, so that no remembered index or
    ranking hides a change.

    `margin`: a strategy is not inferior while the mean of the primary metric fell by less than this; `alpha`: level
    of the tests, over all strategies; `flips`: sign flips of a test. `drift_places`: share of top-10 places that may
    differ in a neural arm; `drift_mean`: how far the mean of any metric may move in it. `size_ratio`: of index
    bytes; `latency_ratio`: of latencies in units of the calibration loop; `remeasure`: how often a latency is
    measured again before an alarm, and before it becomes a baseline.
    """

    baseline: Mode
    folder: str
    name: str | None
    fresh: bool
    margin: float
    alpha: float
    flips: int
    drift_places: float
    drift_mean: float
    size_ratio: float
    latency_ratio: float
    remeasure: int

    def path(self, request: Request) -> Path:
        """The folder of the baseline of this request."""
        return Path(self.folder) / (self.name or request.name)


def read_gate(request: Request) -> Gate | None:
    """The gate that a request goes through; None for a plain run.

    Raises:
        RequestError: `baseline=` without a gate, a wrong bound, or a request that no baseline can describe.
        ConfigError: unknown key or wrong type.
    """
    settings, mode = request.config.get("gate"), request.config.get("baseline")
    if settings is None:
        if mode is not None:
            raise RequestError(f"baseline={mode} belongs to the gate: add --config-name nightly")
        return None
    if mode not in get_args(Mode):
        raise RequestError(f"baseline={mode}: write baseline=compare or baseline=update")
    gate = build_spec(Gate, {**settings, "baseline": mode}, "gate")
    _check(gate)
    if request.sweep or request.ablation:
        raise RequestError("the gate compares one run with one baseline; leave -m and ablation= out")
    if not NAME.fullmatch(gate.path(request).name) or (gate.name and not NAME.fullmatch(gate.name)):
        raise RequestError(f"gate.name={gate.name or request.name}: only letters, digits and . _ + -")
    return gate


def _check(gate: Gate) -> None:
    """Refuse bounds that mean nothing."""
    for key in ("margin", "alpha"):
        if not 0 < getattr(gate, key) < 1:
            raise RequestError(f"gate.{key}={getattr(gate, key):g}: must lie between 0 and 1")
    for key, least in (("drift_places", 0), ("drift_mean", 0), ("size_ratio", 1), ("latency_ratio", 1)):
        if not getattr(gate, key) >= least:
            raise RequestError(f"gate.{key}={getattr(gate, key):g}: must be at least {least}")
    if gate.flips < 1000 or gate.remeasure < 1:
        raise RequestError("gate.flips must be at least 1000, gate.remeasure at least 1")
