"""From composed YAML to chunker, store and limits: only classes of this package, keys and types checked."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from ingestion.document import Chunker
from ingestion.errors import ConfigError
from ingestion.spec import IngestSpec
from ingestion.stores import Store
from ingestion.typed import build_spec


def build_ingest(values: Mapping[str, Any]) -> IngestSpec:
    """The limits of `conf/ingest`.

    Raises:
        ConfigError: an unknown key, a wrong type, a value out of range.
    """
    return build_spec(IngestSpec, values, "ingest")


def build_chunker(values: Mapping[str, Any]) -> Chunker:
    """The chunker of `conf/chunker`: `_target_` and the fields of a class below `ingestion.chunkers`.

    Raises:
        ConfigError: no such class, an unknown key, a wrong type, a value out of range.
    """
    chunker: Chunker = _build(values, "chunker", "ingestion.chunkers.")
    return chunker


def build_store(values: Mapping[str, Any]) -> Store:
    """The store of `conf/store`: `_target_` and the fields of a class below `ingestion.stores`.

    Raises:
        ConfigError: no such class, an unknown key, a wrong type.
    """
    store: Store = _build(values, "store", "ingestion.stores.")
    return store


def _build(values: Mapping[str, Any], group: str, allowed: str) -> Any:
    target = values.get("_target_")
    if not isinstance(target, str) or not target.startswith(allowed):
        raise ConfigError(f"{group}._target_={target!r}: must be a class below {allowed[:-1]}")
    module, _, name = target.rpartition(".")
    try:
        cls = getattr(importlib.import_module(module), name)
    except (ModuleNotFoundError, AttributeError) as error:
        raise ConfigError(f"{group}._target_={target!r}: no such class ({error})") from error
    if not (isinstance(cls, type) and is_dataclass(cls)):
        raise ConfigError(f"{group}._target_={target!r}: not a dataclass")
    return build_spec(cls, {key: value for key, value in values.items() if key != "_target_"}, group)
