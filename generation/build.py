"""Generators, context and confidence from `conf/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from generation.confidence import Confidence
from generation.errors import RequestError
from generation.generator import Generator
from generation.pipeline import ContextSpec
from generation.reader import Reader
from ingestion.config import CONF, load, names, nearest, to_plain
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
    """Fitted confidence, with the reader that it was fitted with.

    Raises:
        RequestError: a key is missing or no number, or the reader cannot run here.
        ConfigError: the reader has an unknown key or a wrong value.
    """
    own = plain.get("reader")
    return Confidence.read(plain, reader=build_reader(own, "confidence.reader") if own else None)


def reader_config(name: str) -> dict[str, Any]:
    """The mapping of a named reader, as it is kept in a confidence file.

    Raises:
        ConfigError: there is none of this name; the message offers the nearest one.
    """
    if name not in names("reader"):
        raise ConfigError(f"reader {name!r} not found{nearest(name, names('reader'))}")
    return dict(yaml.safe_load((CONF / "reader" / f"{name}.yaml").read_text(encoding="utf-8")))


def build_reader(plain: Mapping[str, Any], path: str = "reader") -> Reader:
    """A reader from its mapping.

    Raises:
        ConfigError: an unknown key, a wrong type, or a target outside `generation.readers`.
        RequestError: its model cannot run here.
    """
    reader: Reader = build_target(plain, "generation.readers", path)
    if reason := reader.missing():
        raise RequestError(f"{path}: {reason}; or leave the reader out: confidence=default needs no model")
    return reader
