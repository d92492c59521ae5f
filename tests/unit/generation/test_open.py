"""From names to a router: which routes it has, in which order, with which model."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from generation.errors import RequestError
from generation.router.environment import Environment, current_environment
from generation.router.guard import protect, redacted
from generation.router.open import LONG_RUN, open_router, router_of, settings_for
from ingestion.config import ROOT
from tests.planted_keys import planted

ANTHROPIC = {"ANTHROPIC_API_KEY": "x"}
BOTH = {**ANTHROPIC, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"}
AZURE = {"AZURE_OPENAI_API_KEY": "x", "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:9"}
LOCAL = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


def chosen(environment: dict[str, str], **named: str) -> list[tuple[str, tuple[str, ...]]]:
    router = open_router(environment=Environment(environment), **named)
    return [(route.name, route.models) for route in router.chain]


def test_without_names_it_has_the_configured_routes_with_all_their_models():
    assert chosen(ANTHROPIC | AZURE) == [
        ("anthropic/direct", ("claude-sonnet-5", "claude-sonnet-4-6")),
        ("openai/azure", ("gpt-5.5", "gpt-4o-mini")),
    ]
    assert chosen({}) == []
    assert chosen(BOTH, provider="anthropic", route="bedrock") == [
        ("anthropic/bedrock", ("claude-sonnet-5", "claude-sonnet-4-6"))
    ]


def test_a_model_is_asked_for_on_every_configured_route_that_lists_it_and_no_other_is():
    assert chosen(BOTH | AZURE, model="claude-sonnet-4-6") == [
        ("anthropic/direct", ("claude-sonnet-4-6",)),
        ("anthropic/bedrock", ("claude-sonnet-4-6",)),
    ]
    assert chosen(ANTHROPIC | AZURE, model="gpt-5.5") == [("openai/azure", ("gpt-5.5",))]


@pytest.mark.parametrize("model", ["compatible/any:llama3.1:8b", "compatible/any:org/a-model"])
def test_a_named_route_takes_any_model(model):
    assert chosen(LOCAL | BOTH, model=model) == [("compatible/any", (model.partition(":")[2],))]
    named = {"provider": "compatible", "model": model.partition(":")[2]}
    assert chosen(LOCAL | BOTH, **named) == [("compatible/any", (model.partition(":")[2],))]


def test_a_local_server_is_found_by_the_model_that_it_is_said_to_have():
    assert chosen(LOCAL | {"COMPATIBLE_ANY_MODEL": "qwen3:8b,llama3.1"} | BOTH, model="qwen3:8b") == [
        ("compatible/any", ("qwen3:8b",))
    ]


def test_a_provider_takes_any_model_on_each_of_its_routes():
    assert chosen(BOTH, provider="anthropic", model="claude-x") == [
        ("anthropic/direct", ("claude-x",)),
        ("anthropic/bedrock", ("claude-x",)),
    ]


@pytest.mark.parametrize(
    ("environment", "model", "said"),
    [
        (
            {},
            "claude-sonnet-5",
            "no route to 'claude-sonnet-5' is configured.*\n- anthropic/direct: set ANTHROPIC_API",
        ),
        (LOCAL, "gpt-5.5", "no route to 'gpt-5.5' is configured.*\n- openai/direct: set OPENAI_API_KEY"),
        (
            {},
            "gpt-9",
            "no route to 'gpt-9' is configured.*\n- anthropic/direct: .*(\n.*)*- compatible/any: set OPENAI_B",
        ),
        (ANTHROPIC, "claude-sonet-5", "did you mean 'claude-sonnet-5'.*such as anthropic/direct:claude-sonet-5"),
        (ANTHROPIC, "openai/azure:gpt-5.5", "openai/azure: set AZURE_OPENAI_API_KEY; set AZURE_OPENAI_ENDPOINT"),
        (ANTHROPIC, "anthropic/direct:", "write anthropic/direct:<model>"),
    ],
)
def test_what_is_missing_is_named(environment, model, said):
    with pytest.raises(RequestError, match=said):
        settings_for(None, None, None, model, Environment(environment))


def test_a_route_is_named_once():
    with pytest.raises(RequestError, match="leave provider= and route= out"):
        settings_for(None, "openai", None, "anthropic/direct:claude-sonnet-5", Environment(BOTH))


def test_settings_of_a_file_count(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("routes:\n  anthropic/direct:\n    models: [claude-mine]\n    rpm: 7\ntimeout: 9\n")
    settings = settings_for(path, None, None, "claude-mine", Environment(ANTHROPIC))
    assert [(route.models, route.limits.rpm) for route in settings.chosen] == [(("claude-mine",), 7)]
    assert settings.timeout == 9


def patience(**given) -> float:
    environment = Environment(ANTHROPIC)
    return settings_for(None, None, None, None, environment, **given).retry.breaker_wait


def test_a_long_run_waits_for_a_route_that_failed_unless_the_file_says_how_long(tmp_path):
    assert settings_for(None, None, None, None, Environment({})).lanes.cooldown < LONG_RUN
    assert (patience(), patience(breaker_wait=LONG_RUN)) == (0.0, 90.0)
    path = tmp_path / "mine.yaml"
    path.write_text("retry: {breaker_wait: 5}\n")
    for model in (None, "claude-sonnet-5", "anthropic/direct:claude-x"):
        settings = settings_for(path, None, None, model, Environment(ANTHROPIC), breaker_wait=LONG_RUN)
        assert settings.retry.breaker_wait == 5.0
        assert settings_for(None, None, None, model, Environment(ANTHROPIC), LONG_RUN).retry.breaker_wait == 90.0


def test_routers_of_one_process_share_limits_breakers_and_caps():
    environment = Environment(BOTH)
    first = open_router(environment=environment, model="claude-sonnet-5")
    second = open_router(environment=environment, route="bedrock", lanes=first.lanes, spending=first.spending)
    (route,) = second.chain
    assert second.lanes.of(route) is first.lanes.of(first.chain[1])
    assert second.spending is first.spending
    alone = router_of(settings_for(None, None, None, None, environment), environment)
    assert alone.lanes is not first.lanes
    assert alone.spending is not first.spending


def test_opening_a_router_and_counting_for_a_claude_needs_no_vendors_library():
    code = """
import sys
from generation.router.environment import Environment
from generation.router.open import open_router

router = open_router(environment=Environment({"ANTHROPIC_API_KEY": "x"}))
assert router.count_tokens("the passage") == 3
print([name for name in ("litellm", "openai", "boto3", "tiktoken") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def test_a_command_protects_the_keys_of_its_environment(tmp_path, monkeypatch, caplog):
    key = planted(5)[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(f"{key.variable}='{key.value}'\n")
    undo = protect(current_environment())
    try:
        logging.getLogger("rankproof.router").warning("sent %s", key.value[:40])
    finally:
        undo()
    assert f"sent [redacted:{key.variable}]" in caplog.text
    assert redacted(f"it said {key.value[:40]}") == f"it said [redacted:{key.variable}]"
    (tmp_path / ".env").write_text("no sign of an equals\n")
    assert redacted(key.line) == "invalid x-api-key [redacted:anthropic-key]"
