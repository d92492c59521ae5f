"""Every YAML of ours composes and builds, and holds the defaults of its class."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from ingestion.chunkers.fixed import FixedChunker
from ingestion.chunkers.page import PageChunker
from ingestion.chunkers.sentence import SentenceChunker
from ingestion.compose import build_chunker, build_ingest, build_store
from ingestion.config import load, names
from ingestion.errors import ConfigError
from ingestion.spec import IngestSpec
from ingestion.stores.lance import LanceStore
from ingestion.stores.memory import MemoryStore
from ingestion.stores.parquet import ParquetStore
from ingestion.stores.qdrant import QdrantStore

CHUNKERS = {"fixed": FixedChunker(), "page": PageChunker(), "sentence": SentenceChunker()}
STORES = {"lance": LanceStore(), "memory": MemoryStore(), "parquet": ParquetStore(), "qdrant": QdrantStore()}


def values(group: str, name: str) -> dict[str, object]:
    return dict(OmegaConf.to_container(load([f"{group}={name}"])[group]))  # type: ignore[arg-type]


def test_every_chunker() -> None:
    assert {name: build_chunker(values("chunker", name)) for name in names("chunker")} == CHUNKERS


def test_every_store() -> None:
    assert {name: build_store(values("store", name)) for name in names("store")} == STORES


def test_ingest_defaults() -> None:
    assert names("ingest") == ["default"]
    assert build_ingest(values("ingest", "default")) == IngestSpec()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"_target_": "ingestion.chunkers.sentence.SentenceChunker", "max_wrds": 3}, "did you mean 'max_words'"),
        ({"_target_": "ingestion.chunkers.sentence.SentenceChunker", "max_words": "3"}, "must be int, not str"),
        ({"_target_": "ingestion.chunkers.sentence.Nothing"}, "no such class"),
        ({"_target_": "ingestion.chunkers.nowhere.Chunker"}, "no such class"),
        ({"_target_": "ingestion.chunkers.sentence.document_sentences"}, "not a dataclass"),
        ({"_target_": "os.path.join"}, r"must be a class below ingestion\.chunkers"),
    ],
)
def test_what_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build_chunker(given)


@pytest.mark.parametrize("given", [{"timeout": 0}, {"workers": -1}, {"max_pages": 0}, {"memory_mb": 10}])
def test_limits_out_of_range(given: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="ingest: "):
        build_ingest(given)
