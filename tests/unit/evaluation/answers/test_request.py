"""What a configuration asks of generators, and what is refused before anything starts."""

from __future__ import annotations

import pytest

from evaluation.answers.request import read_answers
from evaluation.errors import RequestError
from generation.build import build_confidence
from generation.generators.first import First
from generation.generators.grounded import Grounded
from ingestion.artifacts import fingerprint
from ingestion.config import load, to_plain
from ingestion.errors import ConfigError


@pytest.fixture(autouse=True)
def nothing_is_configured(monkeypatch, tmp_path):
    """No key of the machine that runs the tests counts, and no `.env` in its folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AZURE_OPENAI_API_KEY", "GOOGLE_CLOUD_PROJECT", "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)


def asked(*overrides: str):
    typed = dict(override.partition("=")[::2] for override in overrides)
    return read_answers(to_plain(load(["strategy=bm25", *overrides])), typed)


def test_nothing_is_asked_by_default():
    assert asked() is None


def test_the_yardstick_runs_beside_what_was_asked_for():
    found = asked("generator=grounded", "generator.claims=1")
    assert found.generators == {"grounded": Grounded(claims=1), "first": First()}
    assert (found.asked, found.yardstick, found.routers) == (("grounded",), "first", {})
    assert found.contexts == ("retrieved", "none", "oracle")
    alone = asked("generators=[first,grounded]", "answers.yardstick=null", "answers.contexts=[oracle]")
    assert (list(alone.generators), alone.asked, alone.yardstick) == (
        ["first", "grounded"],
        ("first", "grounded"),
        "",
    )
    assert alone.contexts == ("oracle",)


def test_the_manifest_says_who_answers_from_what():
    said = asked("generators=[grounded]", "context.sources=3", "confidence.high=0.9").described()
    assert said["generators"]["grounded"] == {
        "class": "Grounded", "claims": 3, "share": 0.7, "similar": 0.6, "refusing": True,
    }  # fmt: skip
    assert said["context"]["sources"] == 3
    changed = build_confidence(to_plain(load(["confidence.high=0.9"]))["confidence"])
    assert said["confidence"] == {"name": "default", "digest": fingerprint(changed)}
    assert said["confidence"] != asked("generators=[grounded]").described()["confidence"]


@pytest.mark.parametrize(
    ("overrides", "error", "said"),
    [
        (["generators=[grownded]"], ConfigError, "'grownded' not found; did you mean 'grounded'"),
        (["generators=[grounded]", "answers.yardstick=frist"], ConfigError, "'first'"),
        (["generator=grounded", "answers.contexts=[retreived]"], RequestError, "did you mean 'retrieved'"),
        (["generator=grounded", "answers.contexts=[]"], RequestError, "answers.contexts is empty"),
        (["generator=grounded", "answers.primary=citation precison"], RequestError, "'citation precision'"),
        (["generator=grounded", "answers.workers=0"], ConfigError, "whole number from 1"),
        (["generator=grounded", "generators=[first,grounded]"], RequestError, "asked for twice"),
        (["generator=grounded", "generator.claim=2"], ConfigError, "'generator.claims'"),
        (["generator=grounded", "context.budget=0"], ConfigError, "at least 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_the_nearest_name(overrides, error, said):
    with pytest.raises(error) as caught:
        asked(*overrides)
    assert said in str(caught.value)


def test_an_unknown_key_of_a_file_of_one_s_own_is_named():
    plain = to_plain(load(["strategy=bm25", "generator=grounded"]))
    plain["answers"]["worker"] = 2
    with pytest.raises(RequestError, match="did you mean 'workers'"):
        read_answers(plain, {"generator": "grounded"})


@pytest.mark.parametrize("how", ["generator=chat", "generators=[grounded,chat]"])
def test_a_model_without_keys_says_what_to_set(how):
    with pytest.raises(RequestError) as caught:
        asked(how)
    for name in ("'chat'", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "generation providers"):
        assert name in str(caught.value)


def test_a_route_that_was_asked_for_by_name_says_what_it_needs():
    with pytest.raises(RequestError) as caught:
        asked("generator=chat", "answers.provider=openai", "answers.route=azure")
    assert "AZURE_OPENAI_API_KEY" in str(caught.value)
