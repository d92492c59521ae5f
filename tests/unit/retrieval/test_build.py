"""YAML to stages: what is refused, with which help, and what nests."""

from __future__ import annotations

import sys

import pytest

from ingestion.errors import ConfigError
from retrieval.build import build_stage, build_strategy, strategy_config
from retrieval.errors import StageConfigError, StrategyNotFoundError
from retrieval.fusers.linear import Linear
from retrieval.fusers.rrf import Rrf
from retrieval.rerankers.mmr import Mmr
from retrieval.retrievers.bm25 import Bm25
from retrieval.retrievers.tfidf import Tfidf
from retrieval.stage import Fused, Pipeline

BM25 = {"_target_": "retrieval.retrievers.bm25.Bm25"}
TFIDF = {"_target_": "retrieval.retrievers.tfidf.Tfidf"}
RRF = {"_target_": "retrieval.fusers.rrf.Rrf"}
LINEAR = {"_target_": "retrieval.fusers.linear.Linear"}
MMR = {"_target_": "retrieval.rerankers.mmr.Mmr"}
DEDUP = {"_target_": "retrieval.rerankers.dedup.Dedup"}


def test_a_target_outside_is_refused_before_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "intruder.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for target in ("intruder.Bm25", "os.system", "logging.os.getcwd", "retrieval.retrievers_evil.X", None, 7):
        with pytest.raises(StageConfigError, match=r"s\._target_=.*must be a class below retrieval\.retr"):
            build_stage({"_target_": target}, "retriever", "s")
    assert "intruder" not in sys.modules


@pytest.mark.parametrize("kind", ["fuser", "reranker"])
def test_a_target_of_another_kind_is_refused(kind):
    with pytest.raises(StageConfigError, match=f"must be a class below retrieval.{kind}s"):
        build_stage(BM25, kind, "s")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("retrieval.retrievers.bm52.Bm25", "no such class"),
        ("retrieval.retrievers.bm25.Bm52", "no such class"),
        ("retrieval.retrievers.bm25.logging", "not a"),
        ("retrieval.retrievers.bm25.digest", "not a"),
    ],
)
def test_a_target_inside_must_be_a_stage(target, said):
    with pytest.raises(StageConfigError, match=said):
        build_stage({"_target_": target}, "retriever", "s")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"k": 1.0}, "s.k: unknown key; did you mean 'k1'?"),
        ({"engin": "bm25s"}, "s.engin: unknown key; did you mean 'engine'?"),
        ({"k1": "1.2"}, "s.k1='1.2': must be float, not str"),
        ({"k1": True}, "s.k1=True: must be float, not bool"),
        ({"engine": "bm25"}, "s.engine='bm25': no such choice; did you mean 'bm25s'?"),
        ({"b": 2}, "s: k1=1.2, b=2.0: k1 must be at least 0 and b between 0 and 1"),
    ],
)
def test_wrong_keys_types_and_values_are_named(values, said):
    with pytest.raises(StageConfigError) as error:
        build_stage({**BM25, **values}, "retriever", "s")
    assert str(error.value) == said


def test_whole_numbers_and_mappings_become_what_the_field_holds():
    assert build_stage({**BM25, "k1": 2}, "retriever", "s") == Bm25(k1=2.0)
    weights = {"tfidf": 2, "bm25": 1.5}
    assert build_stage({**RRF, "weights": weights}, "fuser", "s") == Rrf(weights=(("bm25", 1.5), ("tfidf", 2.0)))


def test_switches_drop_branches_and_rerankers():
    config = {"branches": {"b": BM25, "a": TFIDF}, "fuser": RRF, "then": {"dedup": DEDUP, "mmr": MMR}}
    both = Fused((("a", Tfidf()), ("b", Bm25())), Rrf())
    assert build_strategy({**config, "use": {"dedup": False}}) == Pipeline(both, (("mmr", Mmr()),))
    assert build_strategy({**config, "use": {"dedup": False, "mmr": False}}) == both
    assert build_strategy({**config, "use": {"a": False, "dedup": False, "mmr": False}}) == Fused(
        (("b", Bm25()),), Rrf()
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"use": {"ddup": False}}, "strategy.use.ddup: no such branch or reranker; did you mean 'dedup'?"),
        ({"use": {"dedup": "no"}}, "strategy.use.dedup='no': must be true or false"),
        ({"use": {"a": False, "b": False}}, "strategy: every branch is switched off"),
        ({"first": BM25}, "strategy: needs either `first` or `branches` with a `fuser`"),
        ({"branches": {}}, "strategy: needs either `first` or `branches` with a `fuser`"),
        ({"fusers": RRF}, "strategy.fusers: unknown key; did you mean 'fuser'?"),
        ({"fuser": BM25}, "strategy.fuser._target_='retrieval.retrievers.bm25.Bm25': must be"),
        (
            {"then": {"dedup": {**DEDUP, "windw": 1}}},
            "strategy.then.dedup.windw: unknown key; did you mean 'window'?",
        ),
    ],
)
def test_a_strategy_that_makes_no_sense_is_refused_with_its_path(more, said):
    config = {"branches": {"a": BM25, "b": TFIDF}, "fuser": RRF, "then": {"dedup": DEDUP}, **more}
    with pytest.raises(StageConfigError) as error:
        build_strategy(config)
    assert str(error.value).startswith(said)


def test_branches_need_a_fuser():
    with pytest.raises(StageConfigError, match="`fuser` is missing"):
        build_strategy({"branches": {"a": BM25}})


def test_a_branch_may_be_a_strategy_itself():
    inner = {"branches": {"sparse": BM25, "dense": TFIDF}, "fuser": {**LINEAR, "alpha": 0.3}, "then": {"mmr": MMR}}
    built = build_strategy({"branches": {"x": inner, "bm25": BM25}, "fuser": RRF})
    blend = Fused((("dense", Tfidf()), ("sparse", Bm25())), Linear(0.3))
    assert built == Fused((("bm25", Bm25()), ("x", Pipeline(blend, (("mmr", Mmr()),)))), Rrf())
    with pytest.raises(StageConfigError, match=r"^strategy\.branches\.x\.branches\.dense\.k: unknown key"):
        build_strategy({"branches": {"x": {"branches": {"dense": {**TFIDF, "k": 1}}, "fuser": RRF}}, "fuser": RRF})


def test_names_and_overrides_of_strategies():
    with pytest.raises(StrategyNotFoundError, match="strategy 'bm52' not found; did you mean 'bm25'"):
        strategy_config("bm52")
    with pytest.raises(ConfigError, match="lamb"):
        strategy_config("rrf_dedup_mmr", ["strategy.then.mmr.lamb=.5"])
    built = build_strategy(strategy_config("rrf_dedup_mmr", ["strategy.then.mmr.lam=.5"]))
    assert dict(built.then)["mmr"] == Mmr(lam=0.5)
