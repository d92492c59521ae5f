"""Generators, context and confidence from their YAML."""

from __future__ import annotations

import pytest

from generation.build import build_confidence, build_context, build_generator, generator_config
from generation.errors import RequestError
from generation.generators.chat import Chat
from generation.generators.first import First
from generation.generators.grounded import Grounded
from generation.pipeline import ContextSpec
from ingestion.config import load, names, to_plain
from ingestion.errors import ConfigError


@pytest.mark.parametrize(("name", "expected"), [("grounded", Grounded()), ("first", First()), ("chat", Chat())])
def test_the_files_hold_the_defaults_of_the_code(name, expected):
    assert build_generator(generator_config(name)) == expected


def test_every_file_builds():
    assert {type(build_generator(generator_config(name))) for name in names("generator")} == {Grounded, First, Chat}


def test_an_unknown_generator_is_answered_with_the_nearest_one():
    with pytest.raises(ConfigError, match="generator 'grounde' not found; did you mean 'grounded'"):
        generator_config("grounde")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"claims": "many"}, r"generator\.claims"),
        ({"clams": 2}, "claims"),
        ({"claims": 0}, "claims must be at least 1"),
        ({"share": 1.5}, "share and similar between 0 and 1"),
        ({"similar": -0.1}, "share and similar between 0 and 1"),
        ({"_target_": "os.path.join"}, "os.path.join"),
    ],
)
def test_what_is_wrong_in_a_generator_is_named(change, named):
    with pytest.raises(ConfigError, match=named):
        build_generator({**generator_config("grounded"), **change})


def test_the_context_file_holds_the_defaults_of_the_code():
    plain = to_plain(load([]))["context"]
    assert build_context(plain) == ContextSpec()
    with pytest.raises(ConfigError, match="at least 1"):
        build_context({**plain, "sources": 0})
    with pytest.raises(ConfigError, match="relations"):
        build_context({**plain, "graph_mode": "relation"})
    with pytest.raises(ConfigError, match="budget"):
        build_context({**plain, "budgt": 10})


def test_confidence_is_read_or_refused():
    plain = to_plain(load([]))["confidence"]
    assert build_confidence(plain).refuse == plain["refuse"]
    with pytest.raises(RequestError, match="confidence: threshold 'refuse'"):
        build_confidence({key: value for key, value in plain.items() if key != "refuse"})
