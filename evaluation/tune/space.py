"""Which values the parameters of a strategy may take while it is tuned: `conf/space/<name>.yaml`, checked.

A space maps parameters, by their path in the strategy as on the command line (`fuser.k`, `then.mmr.lam`), to a range
`{low, high, log, step}` or a list `{values}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evaluation.errors import RequestError
from evaluation.tune.dimension import Dimension, Scalar, read_dimension
from evaluation.tune.parameters import parameters, with_values
from ingestion.config import CONF, names, nearest
from ingestion.errors import ConfigError
from retrieval.build import build_strategy
from retrieval.errors import StageConfigError

DEFAULT = "default"  # the space whose parameters are left out where the strategy lacks them


@dataclass(frozen=True)
class Space:
    """Dimensions by path, and what the strategy has there now (`default`)."""

    name: str
    dimensions: tuple[Dimension, ...]
    default: Mapping[str, Scalar]

    def grid(self, most: int) -> list[dict[str, Scalar]] | None:
        """All combinations, if they are finite and at most `most`."""
        sizes = [dimension.size or most + 1 for dimension in self.dimensions]
        if prod(sizes) > most:
            return None
        columns = [dimension.points() for dimension in self.dimensions]
        return [dict(zip(self.default, row, strict=True)) for row in product(*columns)]

    @property
    def has_default(self) -> bool:
        """Whether the strategy as it is lies in the space."""
        return all(self.default[dimension.path] in dimension for dimension in self.dimensions)


def read_space(wanted: str | None, config: Mapping[str, Any], strategy: str) -> Space:
    """The space in which a composed strategy is tuned.

    Args:
        wanted: names in `conf/space/` or YAML files, joined by commas; None: what the default space has of it.
        config: the composed strategy.
        strategy: its name.

    Raises:
        ConfigError: no such space, or a key or value of it is wrong.
        RequestError: the strategy lacks a parameter, or none is in the default space; the message names what it has.
    """
    known = parameters(config)
    settings: dict[str, Any] = {}
    for name in (wanted or DEFAULT).split(","):
        for path, values in _load(name).items():
            if path in settings:
                raise RequestError(f"{path} is in two of the spaces {wanted}; name each parameter once")
            settings[path] = values
    if wanted is None or wanted == DEFAULT:
        settings = {path: values for path, values in settings.items() if path in known}
    lacking = sorted(settings.keys() - known.keys())
    if lacking:
        raise RequestError(_lacks(lacking[0], strategy, known))
    if not settings:
        raise RequestError(
            f"the default space has no parameter of {strategy}; {_fitting(strategy, known)}\n"
            f"it has: {', '.join(known) or 'none at all'}"
        )
    dimensions = tuple(read_dimension(path, settings[path], known[path]) for path in sorted(settings))
    _check_ends(dimensions, config)
    return Space(wanted or DEFAULT, dimensions, {path: known[path] for path in sorted(settings)})


def fitting(known: Mapping[str, Any]) -> list[str]:
    """The named spaces whose parameters are all among these."""
    return [name for name in names("space") if name != DEFAULT and _load(name).keys() <= known.keys()]


def _fitting(strategy: str, known: Mapping[str, Any]) -> str:
    spaces = fitting(known)
    if not spaces:
        return "write conf/space/<name>.yaml with its parameters and add space=<name>"
    return f"spaces that fit {strategy}: {', '.join(spaces)}"


def _lacks(path: str, strategy: str, known: Mapping[str, Any]) -> str:
    return f"{strategy} has no parameter {path!r}{nearest(path, known)}\n{_fitting(strategy, known)}"


def _load(name: str) -> dict[str, Any]:
    """The mapping of a space file."""
    if name.endswith((".yaml", ".yml")):
        file = Path(name)
    elif name in names("space"):
        file = CONF / "space" / f"{name}.yaml"
    else:
        raise ConfigError(f"space {name!r} not found{nearest(name, names('space'))}")
    try:
        loaded = OmegaConf.to_container(OmegaConf.load(file))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, OmegaConfBaseException) as error:
        raise ConfigError(f"space file {file}: {error}") from error
    if not isinstance(loaded, dict) or not loaded:
        raise ConfigError(f"space file {file}: write one parameter a line, such as fuser.k: {{low: 1, high: 200}}")
    return {str(path): values for path, values in loaded.items()}


def _check_ends(dimensions: Sequence[Dimension], config: Mapping[str, Any]) -> None:
    """Every end of every dimension must be a value that its stage accepts."""
    for dimension in dimensions:
        for value in dimension.ends():
            try:
                build_strategy(with_values(config, {dimension.path: value}))
            except StageConfigError as error:
                raise ConfigError(f"space, {dimension.path}={value}: {error}") from error
