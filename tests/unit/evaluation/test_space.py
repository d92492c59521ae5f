"""Search spaces: what a strategy can be tuned by, and what is refused before anything runs."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from evaluation.errors import RequestError
from evaluation.tune.dimension import Dimension, read_dimension
from evaluation.tune.parameters import parameters, with_values
from evaluation.tune.space import DEFAULT, fitting, read_space
from ingestion.config import CONF, names
from ingestion.errors import ConfigError
from retrieval.build import build_strategy, strategy_config


def space(tmp_path, text: str, strategy: str = "rrf"):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    return read_space(str(path), strategy_config(strategy), strategy)


def test_parameters_are_those_that_have_an_effect():
    rrf = parameters(strategy_config("rrf"))
    assert rrf["fuser.k"] == 60.0
    assert rrf["branches.bm25.k1"] == 1.2
    assert rrf["use.graph"] is False
    assert not any(path.startswith(("branches.graph", "then.")) for path in rrf)
    assert {path for path in rrf if "weights" in path} == {"fuser.weights.bm25", "fuser.weights.tfidf"}
    assert parameters(strategy_config("rrf", ["strategy.use.graph=true"]))["fuser.weights.graph"] == 1.0
    assert parameters(strategy_config("rrf_mmr"))["then.mmr.lam"] == 0.7
    assert parameters(strategy_config("decompose"))["first.inner.k1"] == 1.2


def test_values_reach_their_stages_and_the_given_configuration_stays():
    config = strategy_config("rrf_mmr")
    stage = build_strategy(with_values(config, {"fuser.weights.tfidf": 0.5, "then.mmr.lam": 0.2, "fuser.k": 9.0}))
    assert (stage.first.fuser.k, stage.first.fuser.weights, stage.then[0][1].lam) == (9.0, (("tfidf", 0.5),), 0.2)
    assert config == strategy_config("rrf_mmr")


@pytest.fixture(scope="module")
def strategies():
    """Every composed strategy by name."""
    return {name: strategy_config(name) for name in names("strategy")}


def test_every_space_fits_a_strategy_and_holds_its_present_parameters(strategies):
    fits = {space: name for name, config in strategies.items() for space in fitting(parameters(config))}
    assert set(fits) == set(names("space")) - {DEFAULT}
    for space_name, strategy in fits.items():
        assert read_space(space_name, strategies[strategy], strategy).has_default


def test_every_parameter_of_the_default_space_is_one_of_some_strategy(strategies):
    listed = OmegaConf.to_container(OmegaConf.load(CONF / "space" / "default.yaml"))
    assert listed.keys() <= {path for config in strategies.values() for path in parameters(config)}


def test_without_a_space_the_default_one_is_cut_to_the_strategy():
    found = read_space(None, strategy_config("rrf_graph_dedup_mmr"), "rrf_graph_dedup_mmr")
    assert list(found.default.items()) == [
        ("fuser.k", 60.0), ("fuser.weights.graph", 1.0), ("then.dedup.threshold", 0.6), ("then.mmr.lam", 0.7),
    ]  # fmt: skip
    assert list(read_space(None, strategy_config("linear_0.3"), "linear_0.3").default) == ["fuser.alpha"]
    with pytest.raises(RequestError, match=r"no parameter of tfidf.*\nit has: none at all"):
        read_space(None, strategy_config("tfidf"), "tfidf")


def test_spaces_join_and_a_parameter_stands_once():
    found = read_space("rrf,mmr", strategy_config("rrf_mmr"), "rrf_mmr")
    assert [dimension.path for dimension in found.dimensions] == ["fuser.k", "then.mmr.lam"]
    with pytest.raises(RequestError, match=r"fuser\.k is in two of the spaces"):
        read_space("rrf,hybrid", strategy_config("rrf"), "rrf")


def test_a_parameter_that_the_strategy_lacks_is_named_with_what_fits():
    with pytest.raises(RequestError, match=r"rrf has no parameter 'then\.mmr\.lam'.*\n.*fit rrf: hybrid, rrf"):
        read_space("mmr", strategy_config("rrf"), "rrf")
    with pytest.raises(ConfigError, match="space 'rff' not found; did you mean 'rrf'"):
        read_space("rff", strategy_config("rrf"), "rrf")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fuser.k: {low: 1, hihg: 9}", r"fuser\.k\.hihg: unknown key; did you mean 'high'"),
        ("fuser.k: {low: 9, high: 1}", "low=9 must be below high=1"),
        ("fuser.k: {low: 1}", r"fuser\.k\.high=None: must be a number"),
        ("fuser.k: {low: 1, high: .inf}", "must be below"),
        ("fuser.k: {low: 0, high: 9, log: true}", "low=0 must be above 0 where log is true"),
        ("fuser.k: {low: 0, high: 9, log: 1}", r"log=1: must be true or false"),
        ("fuser.k: {low: 0, high: 9, step: 2}", r"step=2: must lead from low to high"),
        ("fuser.k: {low: 1, high: 9, step: 2, log: true}", "needs log: false"),
        ("fuser.k: {values: [1, 2], low: 3}", "values stand alone; leave out low"),
        ("fuser.k: {values: []}", "with at least one of them"),
        ("fuser.k: {values: [1, 1.0]}", "a value stands twice"),
        ("fuser.k: 60", "write {low: 1, high: 200}"),
        ("fuser.kk: {low: 1, high: 2}", r"no parameter 'fuser\.kk'; did you mean 'fuser\.k'"),
        ("branches.bm25.engine: {low: 1, high: 2}", r"engine='bm25s' is no number: give it values"),
        ("branches.bm25.engine: {values: [bm25s, lucene]}", r"engine=lucene: .*no such choice"),
        ("branches.bm25.b: {low: 0, high: 2}", r"b=2.* between 0 and 1"),
        ("- fuser.k", "one parameter a line"),
        ("fuser.k: {low: [", "space file .*own.yaml"),
        ("fuser.k: {low: 1, high: 2}\nfuser.k: {low: 1, high: 3}", "space file .*own.yaml"),
    ],
)
def test_a_wrong_space_is_refused_with_its_parameter(tmp_path, text, said):
    with pytest.raises((ConfigError, RequestError), match=said):
        space(tmp_path, text)


def test_numbers_follow_the_parameter():
    whole = read_dimension("then.mmr.pool", {"low": 10, "high": 12}, 50)
    assert whole.points() == (10, 11, 12)
    assert all(isinstance(point, int) for point in whole.points())
    assert read_dimension("x", {"low": 0.0, "high": 0.3, "step": 0.1}, 0.5).points() == (0.0, 0.1, 0.2, 0.3)
    assert read_dimension("x", {"values": [0, 1]}, 0.5).values == (0.0, 1.0)
    # a whole number that was typed for a parameter that takes any: the range decides
    assert read_dimension("first.k1", {"low": 0.3, "high": 3.0}, 1).size is None


def test_membership():
    assert 60.0 in Dimension("k", low=1.0, high=200.0)
    assert 0.5 not in Dimension("k", low=1.0, high=200.0)
    assert 0.15 in Dimension("x", low=0.0, high=1.0, step=0.05)
    assert 0.16 not in Dimension("x", low=0.0, high=1.0, step=0.05)
    assert 2.5 not in Dimension("n", low=1, high=9, whole=True)
    assert True not in Dimension("n", low=0, high=9, whole=True)
    assert True not in Dimension("n", values=(1, 2))
    assert None in Dimension("keep", values=(None, 20))


def test_a_grid_is_the_product_and_only_if_small(tmp_path):
    two = space(tmp_path, "fuser.k: {values: [10, 60]}\nuse.graph: {values: [false, true]}")
    assert two.grid(4) == [
        {"fuser.k": 10.0, "use.graph": False},
        {"fuser.k": 10.0, "use.graph": True},
        {"fuser.k": 60.0, "use.graph": False},
        {"fuser.k": 60.0, "use.graph": True},
    ]
    assert two.grid(3) is None
    assert space(tmp_path, "fuser.k: {low: 1, high: 200}").grid(64) is None
    assert space(tmp_path, "fuser.k: {low: 0, high: 1000000000, step: 1}").grid(64) is None


def test_a_default_outside_the_space_is_known(tmp_path):
    assert not space(tmp_path, "fuser.k: {low: 1, high: 20}").has_default
    assert space(tmp_path, "fuser.k: {low: 1, high: 200}").has_default
    assert space(tmp_path, "fuser.k: {low: 1, high: 200, log: true}").dimensions[0].text() == "fuser.k 1..200 log"
