"""Composition of `conf/`: every option composes and builds, and wrong requests name the nearest right one."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from evaluation.benchmark import BenchmarkSpec
from ingestion.config import CONF, flatten, load, names, nearest, quoted, to_plain
from ingestion.errors import ConfigError
from ingestion.pipeline import build_chunker, build_ingest
from ingestion.typed import build_spec

OPTIONS = [(path.name, name) for path in sorted(CONF.iterdir()) if path.is_dir() for name in names(path.name)]
# parts of strategies; read by tuning, by the router, by the fit of confidence
INNER = ("retriever", "fuser", "reranker", "space", "router", "reader")


@pytest.mark.parametrize(("group", "name"), [option for option in OPTIONS if option[0] not in INNER])
def test_every_option_composes_and_builds(group, name, monkeypatch):
    monkeypatch.setenv("RANKPROOF_DATA", "/data")
    plain = to_plain(load([f"{group}={name}"]))
    assert plain["depth"] == 100
    assert build_ingest(plain["ingest"]).max_pages > 0
    assert callable(build_chunker(plain["chunker"]).chunk)
    if name not in ("beir", "jsonl", "trec", "pdf_bench"):  # these need a path
        assert build_spec(BenchmarkSpec, plain["benchmark"], "benchmark").path


def test_paths_and_ids_reach_us_as_they_were_typed():
    folder = "my papers, v2 = 'final' \\ (a)"
    config = load([f"corpus.path={folder}", "split=007", "out=2605.23950"])
    assert (config.corpus.path, config.split, config.out) == (folder, "007", "2605.23950")
    assert quoted("corpus.path='already'") == "corpus.path='already'"
    assert quoted("out=null") == "out=null"
    assert quoted("depth=10") == "depth=10"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("suite=cor", "suite 'cor' not found; did you mean 'core'?"),
        ("chunker=sentences", "chunker 'sentences' not found; did you mean 'sentence'?"),
        ("dept=3", "unknown key 'dept'; did you mean 'depth'?"),
        ("ingest.max_page=3", "unknown key 'ingest.max_page'; did you mean 'ingest.max_pages'?"),
        ("+new=1", "unknown key 'new'"),
        ("strategy.first.k1=1", "no strategy is chosen; add strategy=<name>"),
        ("depth=deep", "'deep'"),
        ("metrics=nDCG@5", "metrics"),
        ("depth", "depth"),
    ],
)
def test_a_wrong_request_is_three_lines_at_most(override, message):
    with pytest.raises(ConfigError) as caught:
        load([override])
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 3


def test_typed_reading_refuses_what_the_class_does_not_declare():
    assert build_spec(BenchmarkSpec, {"path": "x"}, "benchmark") == BenchmarkSpec(path="x")
    for values, message in (
        ({"path": 5}, "must be str, not int"),
        ({"pathh": "x"}, "did you mean 'path'"),
        ({"path": "x", "unit": "page"}, "did you mean 'pages'"),
        ({"kind": "beir"}, "path is missing"),
    ):
        with pytest.raises(ConfigError, match=message):
            build_spec(BenchmarkSpec, values, "benchmark")


def test_flatten_and_nearest():
    assert flatten({"a": {"b": 1, "c": {"d": 2}}, "e": {}}) == {"a.b": 1, "a.c.d": 2, "e": {}}
    assert nearest("bm52", ["bm25", "tfidf"]) == "; did you mean 'bm25'?"
    assert nearest("zzz", ["bm25", "tfidf"]) == "; known: bm25, tfidf"
    assert OmegaConf.has_resolver("project")
