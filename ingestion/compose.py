"""From composed YAML to chunker, store and limits: only classes of this package, keys and types checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingestion.document import Chunker
from ingestion.spec import IngestSpec
from ingestion.stores import Store
from ingestion.typed import build_spec, build_target


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
    chunker: Chunker = build_target(values, "ingestion.chunkers", "chunker")
    return chunker


def build_store(values: Mapping[str, Any]) -> Store:
    """The store of `conf/store`: `_target_` and the fields of a class below `ingestion.stores`.

    Raises:
        ConfigError: no such class, an unknown key, a wrong type.
    """
    store: Store = build_target(values, "ingestion.stores", "store")
    return store
