"""The parameters of a composed strategy by their path, as on the command line: `fuser.k`, `then.mmr.lam`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any


def parameters(config: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter of a composed strategy by path, with its value; parts that `use` switches off have none.

    The weights of a fuser count by branch, 1.0 where none is set.
    """
    return dict(_parameters(config, ""))


def _parameters(config: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    switched = config.get("use") or {}
    for key, value in config.items():
        if not isinstance(value, Mapping):
            if key != "_target_":
                yield f"{path}{key}", value
        elif key in ("branches", "then"):
            for name, part in value.items():
                if switched.get(name, True):
                    yield from _parameters(part, f"{path}{key}.{name}.")
        elif key != "weights":
            yield from _parameters(value, f"{path}{key}.")
    weights = (config.get("fuser") or {}).get("weights")
    if isinstance(weights, Mapping):
        for name in config.get("branches") or {}:
            if switched.get(name, True):
                yield f"{path}fuser.weights.{name}", float(weights.get(name, 1.0))


def with_values(config: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a composed strategy with these parameters set by path."""
    copy = deepcopy(dict(config))
    for path, value in values.items():
        *parents, last = path.split(".")
        at = copy
        for name in parents:
            at = at.setdefault(name, {})
        at[last] = value
    return copy
