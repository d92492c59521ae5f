"""Strategy YAML to stages: `use` switches, target allowlist, keys and types checked before anything is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ingestion.config import load, names, nearest, to_plain
from ingestion.errors import ConfigError
from ingestion.typed import build_target
from retrieval.errors import StageConfigError, StrategyNotFoundError
from retrieval.stage import Fused, Pipeline, Retriever

PACKAGES = {
    "retriever": "retrieval.retrievers",
    "fuser": "retrieval.fusers",
    "reranker": "retrieval.rerankers",
}
KEYS = {"first", "branches", "fuser", "then", "use"}


def strategy_config(name: str, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The composed mapping of a named strategy, with overrides such as `strategy.then.mmr.lam=.5`.

    Raises:
        StrategyNotFoundError: no YAML of this name; the message offers the nearest one.
        ConfigError: an override names an unknown key or has a wrong type.
    """
    wanted = [f"strategy={name}", *overrides]
    check_strategy(wanted)
    return to_plain(load(wanted))["strategy"]  # type: ignore[no-any-return]


def check_strategy(overrides: Sequence[str]) -> None:
    """Refuse a `strategy=<name>` that does not exist, before Hydra composes.

    Raises:
        StrategyNotFoundError: with the nearest name.
    """
    known = names("strategy")
    for override in overrides:
        key, _, name = override.partition("=")
        if key == "strategy" and name.strip("'\"") not in known:
            raise StrategyNotFoundError(f"strategy {name!r} not found{nearest(name, known)}")


def build_strategy(config: Mapping[str, Any], path: str = "strategy") -> Retriever:
    """Stages of a composed strategy: what `use` switches off is dropped first.

    Raises:
        StageConfigError: unknown key, missing part, wrong type, or a target outside our packages.
    """
    if "_target_" in config:
        return build_stage(config, "retriever", path)  # type: ignore[no-any-return]
    for key in config:
        if key not in KEYS:
            raise StageConfigError(f"{path}.{key}: unknown key{nearest(str(key), KEYS)}")
    switched = {str(name): on for name, on in (config.get("use") or {}).items()}
    branches, then = config.get("branches") or {}, config.get("then") or {}
    _check_switches(switched, {*branches, *then}, path)
    parts = [(n, build_stage(c, "reranker", f"{path}.then.{n}")) for n, c in then.items() if switched.get(n, True)]
    first = _first(config, {n: c for n, c in branches.items() if switched.get(n, True)}, path)
    return Pipeline(first, tuple(parts)) if parts else first


def build_stage(config: Mapping[str, Any], kind: str, path: str) -> Any:
    """One stage from its YAML: `_target_` and the fields of that frozen dataclass; a field may be a retriever itself.

    Raises:
        StageConfigError: the target is not in our packages, or a key or type is wrong.
    """
    values = {
        key: build_strategy(value, f"{path}.{key}") if _is_strategy(value) else value for key, value in config.items()
    }
    try:
        return build_target(values, PACKAGES[kind], path)
    except ConfigError as error:
        raise StageConfigError(str(error)) from error


def _is_strategy(value: Any) -> bool:
    return isinstance(value, Mapping) and bool({"_target_", "first", "branches"} & value.keys())


def _first(config: Mapping[str, Any], branches: Mapping[str, Any], path: str) -> Retriever:
    if ("first" in config) == bool(config.get("branches")):
        raise StageConfigError(f"{path}: needs either `first` or `branches` with a `fuser`")
    if "first" in config:
        return build_strategy(config["first"], f"{path}.first")
    if not branches or "fuser" not in config:
        raise StageConfigError(f"{path}: {'every branch is switched off' if not branches else '`fuser` is missing'}")
    built = [(str(name), build_strategy(branches[name], f"{path}.branches.{name}")) for name in sorted(branches)]
    return Fused(tuple(built), build_stage(config["fuser"], "fuser", f"{path}.fuser"))


def _check_switches(switched: Mapping[str, Any], parts: set[str], path: str) -> None:
    for name, on in switched.items():
        if name not in parts:
            raise StageConfigError(f"{path}.use.{name}: no such branch or reranker{nearest(name, parts)}")
        if not isinstance(on, bool):
            raise StageConfigError(f"{path}.use.{name}={on!r}: must be true or false")
