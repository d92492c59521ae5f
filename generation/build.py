"""Generators, context and confidence from `conf/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from generation.confidence import Confidence
from generation.generator import Generator
from generation.pipeline import ContextSpec
from ingestion.config import load, names, nearest, to_plain
from ingestion.errors import ConfigError
from ingestion.typed import build_spec, build_target


def generator_config(name: str) -> dict[str, Any]:
    """The composed mapping of a named generator.

    Raises:
        ConfigError: there is none of this name; the message offers the nearest one.
    """
    if name not in names("generator"):
        raise ConfigError(f"generator {name!r} not found{nearest(name, names('generator'))}")
    return to_plain(load([f"generator={name}"]))["generator"]  # type: ignore[no-any-return]


def build_generator(plain: Mapping[str, Any], path: str = "generator") -> Generator:
    """A generator from its mapping.

    Raises:
        ConfigError: an unknown key, a wrong type, or a target outside `generation.generators`.
    """
    return build_target(plain, "generation.generators", path)  # type: ignore[no-any-return]


def build_context(plain: Mapping[str, Any]) -> ContextSpec:
    """What becomes evidence.

    Raises:
        ConfigError: an unknown key or a wrong value.
    """
    return build_spec(ContextSpec, plain, "context")


def build_confidence(plain: Mapping[str, Any]) -> Confidence:
    """Fitted confidence.

    Raises:
        RequestError: a key is missing or no number.
    """
    return Confidence.read(plain)
