"""Sweeps as they are written in conf/ablation, and what they refuse."""

from __future__ import annotations

import pytest

from evaluation.ablation import read_ablation
from evaluation.errors import RequestError
from ingestion.config import load, names, to_plain
from ingestion.errors import ConfigError
from retrieval.build import build_strategy


@pytest.mark.parametrize("name", names("ablation"))
def test_every_ablation_builds_all_its_arms(name):
    found = read_ablation(to_plain(load([f"ablation={name}"]))["ablation"])
    assert found.name == name
    for config in found.configs.values():
        build_strategy(config)
    assert len(found.configs) > 5 or len(found.chunkers) > 5
    assert set(found.values) == (set() if found.chunkers else set(found.configs))


def test_a_value_reaches_its_stage():
    found = read_ablation({"name": "a", "strategy": "rrf_mmr", "parameter": "then.mmr.lam", "values": [0.3, 1.0]})
    assert {arm: build_strategy(config).then[0][1].lam for arm, config in found.configs.items()} == {
        "lam=0.3": 0.3,
        "lam=1": 1.0,
    }


def test_a_chunker_takes_its_parameters():
    chunkers = {"small": {"kind": "sentence", "max_words": 50}, "page": {"kind": "page"}}
    found = read_ablation({"name": "c", "strategy": "bm25", "chunkers": chunkers, "metrics": ["EvRecall@500w"]})
    assert found.chunkers["small"].max_words == 50


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"strategy": "rrf"}, "either parameter with values, or chunkers"),
        ({"strategy": "bm25", "chunkers": {"p": {"kind": "page"}}, "metrics": ["nDCG@5"]}, "'nDCG@5' favours big"),
        ({"strategy": "bm25", "chunkers": {"p": {"kind": "page"}}}, "EvRecall@<n>w and EvPrecision@<n>w only"),
        ({"strategy": "bm25", "chunkers": {"p": {"max_words": 9}}}, "chunkers.p: kind is missing"),
    ],
)
def test_what_cannot_be_compared_is_refused(settings, said):
    with pytest.raises(RequestError, match=said):
        read_ablation({"name": "x", **settings})


def test_a_wrong_parameter_or_key_is_named():
    with pytest.raises(ConfigError, match=r"then\.mmr\.lam"):
        read_ablation({"name": "x", "strategy": "rrf_mmr", "parameter": "then.mmr.lambda", "values": [0.3]})
    with pytest.raises(ConfigError, match="did you mean 'values'"):
        read_ablation({"name": "x", "strategy": "rrf", "valuess": [1]})
