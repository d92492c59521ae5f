"""From a target and an environment to what LiteLLM is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from generation.errors import AuthError, RequestError
from generation.router.litellm_arguments import (
    ModelName,
    access,
    arguments,
    bedrock_id,
    model_name,
    output_limit,
    service_of,
)
from generation.router.wire import Call, Message, Target

CALL = Call((Message("system", "be brief"), Message("user", "why?")), max_output_tokens=100, timeout=7.0)
KNOWN = ("us.anthropic.claude-x", "eu.anthropic.claude-x", "apac.anthropic.claude-x", "jp.anthropic.claude-x")


@pytest.mark.parametrize(
    ("region", "known", "expected"),
    [
        ("us-east-1", KNOWN, "us.anthropic.claude-x"),
        ("eu-central-1", KNOWN, "eu.anthropic.claude-x"),
        ("ap-northeast-1", KNOWN, "jp.anthropic.claude-x"),
        ("ap-south-1", KNOWN, "apac.anthropic.claude-x"),
        ("ap-southeast-2", KNOWN, "apac.anthropic.claude-x"),
        ("us-gov-west-1", KNOWN, "anthropic.claude-x"),
        ("sa-east-1", (*KNOWN, "global.anthropic.claude-x"), "global.anthropic.claude-x"),
        ("us-east-1", ("us.anthropic.claude-x-v1:0",), "us.anthropic.claude-x-v1:0"),
        ("us-east-1", (), "anthropic.claude-x"),
    ],
)
def test_a_model_on_bedrock_has_the_profile_of_its_region(region: str, known: tuple[str, ...], expected: str) -> None:
    assert bedrock_id("claude-x", region, known) == expected


@pytest.mark.parametrize(
    "name",
    [
        "us.anthropic.claude-sonnet-5",
        "amazon.nova-pro-v1:0",
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-5",
    ],
)
def test_a_full_id_of_bedrock_is_left_as_it_is(name: str) -> None:
    assert bedrock_id(name, "eu-west-1", KNOWN, profile="us") == name


def test_a_given_profile_comes_before_the_region() -> None:
    assert bedrock_id("claude-3.5-x", "eu-west-1", KNOWN, profile="global") == "global.anthropic.claude-3.5-x"


def test_settings_and_environment_name_the_region() -> None:
    target = Target("anthropic", "bedrock", "claude-x")
    assert model_name(target, {"AWS_DEFAULT_REGION": "eu-west-1"}, KNOWN).known == "eu.anthropic.claude-x"
    both = {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_REGION": "us-west-2"}
    assert model_name(target, both, KNOWN).known == "us.anthropic.claude-x"
    there = Target("anthropic", "bedrock", "claude-x", {"region": "ap-northeast-1"})
    assert model_name(there, both, KNOWN).known == "jp.anthropic.claude-x"
    assert access(there, {}).url == "https://bedrock-runtime.ap-northeast-1.amazonaws.com"


def test_an_azure_deployment_is_asked_and_its_model_is_looked_up() -> None:
    target = Target("openai", "azure", "gpt-x", {"deployment": "ours", "base_url": "https://a.example"})
    assert model_name(target, {}, ()) == ModelName("azure", "ours", "gpt-x")


@pytest.mark.parametrize(
    ("provider", "route", "variable"),
    [
        ("anthropic", "direct", "ANTHROPIC_API_KEY"),
        ("openai", "direct", "OPENAI_API_KEY"),
        ("openai", "azure", "AZURE_OPENAI_API_KEY"),
        ("gemini", "direct", "GEMINI_API_KEY"),
        ("gemini", "vertex", "GOOGLE_CLOUD_PROJECT"),
        ("compatible", "any", "OPENAI_BASE_URL"),
    ],
)
def test_a_missing_key_is_named(provider: str, route: str, variable: str) -> None:
    with pytest.raises(AuthError, match=rf"{provider}/{route}, model m: set {variable} "):
        access(Target(provider, route, "m"), {variable: " \n"})


def test_a_missing_key_file_is_named(tmp_path: Path) -> None:
    environment = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "none.json")}
    with pytest.raises(AuthError, match="GOOGLE_APPLICATION_CREDENTIALS names no file"):
        access(Target("gemini", "vertex", "m"), environment)


def test_an_unknown_route_names_those_that_there_are() -> None:
    with pytest.raises(RequestError, match="openai/bedrock: no such route; there are anthropic/direct"):
        service_of(Target("openai", "bedrock", "m"))


def test_the_openai_key_goes_to_openai_even_where_a_compatible_server_is_named() -> None:
    environment = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://elsewhere/v1"}
    assert access(Target("openai", "direct", "m"), environment).url == "https://api.openai.com/v1"
    assert access(Target("compatible", "any", "m"), environment).url == "http://elsewhere/v1"


def test_a_key_of_its_own_comes_first_on_the_compatible_route() -> None:
    environment = {"OPENAI_API_KEY": "k", "COMPATIBLE_ANY_API_KEY": "own", "OPENAI_BASE_URL": "http://elsewhere/v1"}
    assert access(Target("compatible", "any", "m"), environment).key == "own"
    assert access(Target("compatible", "any", "m"), {"OPENAI_BASE_URL": "http://elsewhere/v1"}).key == "none"


def test_static_aws_keys_come_before_a_profile_and_nothing_is_left_to_the_process() -> None:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    environment = {**dict.fromkeys(names, "k"), "AWS_PROFILE": "mine"}

    def given(environment: dict[str, str]) -> list[str]:
        options = access(Target("anthropic", "bedrock", "m"), environment).options
        assert None not in options.values()
        placed = ("aws_region_name", "aws_bedrock_runtime_endpoint")
        return sorted(name for name, value in options.items() if value and name not in placed)

    assert given(environment) == ["aws_access_key_id", "aws_secret_access_key"]
    assert given({"AWS_PROFILE": "mine"}) == ["aws_profile_name"]
    assert given({**environment, "AWS_BEARER_TOKEN_BEDROCK": "b"}) == ["api_key"]
    assert given({}) == []


def test_nothing_secret_is_shown() -> None:
    key = "".join(("sk", "-", "planted" * 5))
    assert key not in repr(access(Target("openai", "direct", "m"), {"OPENAI_API_KEY": f" {key}\n"}))


def test_models_that_think_get_room_and_others_what_was_asked() -> None:
    assert output_limit(CALL, reasons=True) == 8_192
    assert output_limit(Call(CALL.messages, max_output_tokens=9_000), reasons=True) == 9_000
    assert output_limit(CALL, reasons=False) == 100
    name = ModelName("openai", "m", "m")
    accepts = ("temperature", "max_tokens", "max_completion_tokens", "stream_options")
    thinking = arguments(name, {}, CALL, True, True, accepts)
    assert (thinking["max_completion_tokens"], "max_tokens" in thinking) == (8_192, False)
    plain = arguments(name, {}, CALL, False, False, accepts)
    assert (plain["max_tokens"], "max_completion_tokens" in plain) == (100, False)


def test_only_what_a_model_takes_is_sent() -> None:
    name = ModelName("gemini", "m", "m")
    given = arguments(name, {"api_key": "k"}, CALL, True, False, ("max_tokens",))
    assert "temperature" not in given
    assert "stream_options" not in given
    assert (given["model"], given["api_key"], given["stream"], given["timeout"]) == ("gemini/m", "k", True, 7.0)
    assert given["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "why?"}]
    assert (given["num_retries"], given["max_retries"], given["caching"]) == (0, 0, False)
    unset = Call(CALL.messages, temperature=None)
    assert "temperature" not in arguments(name, {}, unset, False, False, ("temperature",))
