"""The strategy file that tuning writes: what was changed, and above it where that comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from evaluation.errors import RequestError
from ingestion.artifacts import fingerprint, write_atomic
from ingestion.config import CONF
from retrieval.build import build_strategy, strategy_config

FIRST_LINE = "# written by `python -m evaluation.tune`, which may write it again"
STRATEGIES = CONF / "strategy"
Path_ = tuple[str, ...]


@dataclass(frozen=True)
class Target:
    """Where the tuned strategy goes, what it is called, and the strategy that it is a variant of."""

    path: Path
    name: str
    base: str

    @property
    def home(self) -> Path:
        """Where the file must be so that `strategy=<name>` finds it."""
        return STRATEGIES / f"{self.name}.yaml"

    @property
    def composes(self) -> bool:
        """Whether it is there."""
        return self.path.resolve() == self.home.resolve()


def check_target(target: Target, config: Mapping[str, Any]) -> None:
    """Refuse, before anything runs, a file that is not ours to write, or that could not say what was tuned.

    Args:
        target: where it would go.
        config: the strategy as it is composed now, with what was typed for it.

    Raises:
        RequestError: another file has the name, the strategy rests on it, or the changes cannot be written.
    """
    if target.name == target.base:
        raise RequestError(f"the tuned strategy needs another name than {target.base}; add name=<name>")
    if target.name in _ancestors(target.base):
        raise RequestError(f"{target.base} itself rests on {target.name}; choose another name=")
    if target.path.exists() and not is_own(target.path):
        raise RequestError(
            f"{target.path} is there and was not written by tuning; choose another name= or out=, or remove it"
        )
    content(target.base, config, ())


def content(base: str, config: Mapping[str, Any], always: tuple[str, ...]) -> dict[str, Any]:
    """What a strategy file holds that makes `config` from the strategy `base`, as nested mappings.

    Args:
        base: name of the strategy.
        config: the composed strategy that is wanted.
        always: parameters (by path) that are listed even where they equal the base's.

    Raises:
        RequestError: `config` lacks something that the base has, which a file on top of it cannot say.
    """
    there = strategy_config(base)
    wanted = {tuple(path.split(".")) for path in always}
    changes = _changes(there, config, (), wanted)
    merged: Any = OmegaConf.to_container(OmegaConf.merge(there, changes))
    if fingerprint(build_strategy(merged)) != fingerprint(build_strategy(config)):
        raise RequestError(
            f"what was typed changes more of {base} than parameters; write it as conf/strategy/<name>.yaml first"
        )
    return changes


def write_strategy(target: Target, changes: Mapping[str, Any], header: list[str]) -> None:
    """Write the strategy file, whole or not at all."""
    comment = [FIRST_LINE, *(f"# {line}" for line in header)]
    body = OmegaConf.to_yaml(OmegaConf.create(dict(changes)), sort_keys=True) if changes else ""
    text = "\n".join([*comment, f"defaults: [{target.base}, _self_]"]) + f"\n{body}"
    write_atomic(target.path, text)


def is_own(path: Path) -> bool:
    """Whether tuning wrote this file."""
    with path.open("rb") as file:
        return file.readline().strip() == FIRST_LINE.encode()


def _ancestors(name: str) -> set[str]:
    """A strategy and those that its file inherits from."""
    found, waiting = set(), [name]
    while waiting:
        at = waiting.pop()
        file = STRATEGIES / f"{at}.yaml"
        if at in found or not file.is_file():
            continue
        found.add(at)
        loaded = OmegaConf.to_container(OmegaConf.load(file))
        entries = loaded.get("defaults") or [] if isinstance(loaded, dict) else []
        waiting += [entry for entry in entries if isinstance(entry, str)]
    return found


def _changes(there: Mapping[str, Any], wanted: Mapping[str, Any], path: Path_, always: set[Path_]) -> dict[str, Any]:
    """The keys of `wanted` that differ, and those that are always listed."""
    found: dict[str, Any] = {}
    for key, value in wanted.items():
        here, before = (*path, str(key)), there.get(key)
        if isinstance(value, Mapping):
            inner = _changes(before if isinstance(before, Mapping) else {}, value, here, always)
            if inner or key not in there:
                found[str(key)] = inner
        elif key not in there or value != before or here in always:
            found[str(key)] = value
    return found
