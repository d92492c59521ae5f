"""The strategy file of a tuning: what it holds, and which files it never replaces."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from evaluation.errors import RequestError
from evaluation.tune.parameters import with_values
from evaluation.tune.tuned import FIRST_LINE, STRATEGIES, Target, check_target, content, write_strategy
from ingestion.artifacts import fingerprint
from retrieval.build import build_strategy, strategy_config


def test_only_what_differs_is_written_and_what_was_tuned():
    config = strategy_config("rrf_mmr", ["strategy.use.graph=true"])
    tuned = with_values(config, {"fuser.k": 60.0, "fuser.weights.graph": 0.4, "then.mmr.lam": 0.9})
    changes = content("rrf_mmr", tuned, ("fuser.k", "fuser.weights.graph", "then.mmr.lam"))
    assert changes == {
        "use": {"graph": True},  # typed for this tuning
        "fuser": {"k": 60.0, "weights": {"graph": 0.4}},  # k was tuned, and stayed
        "then": {"mmr": {"lam": 0.9}},
    }
    assert content("rrf", strategy_config("rrf"), ()) == {}


def test_the_file_composes_to_the_tuned_strategy(tmp_path):
    tuned = with_values(strategy_config("rrf"), {"fuser.k": 1e-05, "fuser.weights.tfidf": 2.0})
    path = tmp_path / "own.yaml"
    write_strategy(Target(path, "own", "rrf"), content("rrf", tuned, ()), ["why", "where from"])
    lines = path.read_text().splitlines()
    assert lines[:4] == [FIRST_LINE, "# why", "# where from", "defaults: [rrf, _self_]"]
    read = OmegaConf.load(path)
    assert read.pop("defaults") == ["rrf", "_self_"]
    merged = OmegaConf.to_container(OmegaConf.merge(strategy_config("rrf"), read))
    assert fingerprint(build_strategy(merged)) == fingerprint(build_strategy(tuned))


def test_files_that_tuning_did_not_write_are_never_replaced(tmp_path):
    path = tmp_path / "own.yaml"
    config = strategy_config("rrf")
    check_target(Target(path, "own", "rrf"), config)
    path.write_text("defaults: [rrf, _self_]\n" + FIRST_LINE + "\n")
    with pytest.raises(RequestError, match=r"own\.yaml is there and was not written by tuning"):
        check_target(Target(path, "own", "rrf"), config)
    path.write_text(FIRST_LINE + "\ndefaults: [rrf, _self_]\n")
    check_target(Target(path, "own", "rrf"), config)
    with pytest.raises(RequestError, match="was not written by tuning"):
        check_target(Target(STRATEGIES / "rrf_mmr.yaml", "rrf_mmr", "rrf"), config)


def test_a_strategy_cannot_rest_on_itself():
    config = strategy_config("rrf")
    with pytest.raises(RequestError, match="needs another name than rrf; add name="):
        check_target(Target(STRATEGIES / "rrf.yaml", "rrf", "rrf"), config)
    with pytest.raises(RequestError, match="rrf itself rests on rrf_graph_dedup_mmr"):
        check_target(Target(STRATEGIES / "x.yaml", "rrf_graph_dedup_mmr", "rrf"), config)


def test_changes_that_a_file_on_top_cannot_say_are_refused(tmp_path):
    config = strategy_config("rrf")
    del config["branches"]["tfidf"]
    with pytest.raises(RequestError, match="changes more of rrf than parameters"):
        check_target(Target(tmp_path / "x.yaml", "x", "rrf"), config)
