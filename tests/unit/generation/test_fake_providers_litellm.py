"""The fake providers as LiteLLM sees them, through every route."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.providers import (
    FakeProvider,
    answer,
    broken_json,
    finished_by_length,
    overflow,
    overloaded,
    rate_limited,
    server_error,
    truncated,
)
from tests.unit.generation.asking import COUNTS, MESSAGES, PROVIDERS, TEXT, forget_keys

# LiteLLM's types draw many warnings from pydantic, none of which is about us
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*ReadOnly:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def without_keys(monkeypatch):
    forget_keys(monkeypatch)


@pytest.fixture(scope="module")
def litellm() -> Any:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    return pytest.importorskip("litellm")


def arguments(server: FakeProvider, folder: Path) -> dict[str, Any]:
    """What LiteLLM needs to ask a fake provider once."""
    return {"messages": MESSAGES, "num_retries": 0, "max_retries": 0, **way(server, folder)}


def way(server: FakeProvider, folder: Path) -> dict[str, Any]:
    """How LiteLLM gets to a fake provider."""
    given = server.environment(folder)
    model = server.target().model
    match server.provider:
        case "bedrock":
            return {
                "model": f"bedrock/us.anthropic.{model}",
                "aws_bedrock_runtime_endpoint": server.url,
                "aws_access_key_id": given["AWS_ACCESS_KEY_ID"],
                "aws_secret_access_key": given["AWS_SECRET_ACCESS_KEY"],
                "aws_region_name": given["AWS_REGION"],
            }
        case "vertex":
            return {
                "model": f"vertex_ai/{model}",
                "api_base": server.url,
                "vertex_credentials": given["GOOGLE_APPLICATION_CREDENTIALS"],
                "vertex_project": given["GOOGLE_CLOUD_PROJECT"],
                "vertex_location": given["GOOGLE_CLOUD_LOCATION"],
            }
    version = {"api_version": "2024-10-21"} if server.provider == "azure" else {}
    name = "openai" if server.provider == "compatible" else server.provider
    base = server.settings["base_url"]
    return {"model": f"{name}/{model}", "api_base": base, "api_key": server.secrets[0], **version}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_litellm_reads_every_provider(provider, litellm, tmp_path):
    with FakeProvider(provider, [answer(TEXT), finished_by_length(TEXT)]) as server:
        given = {
            "messages": MESSAGES,
            "num_retries": 0,
            "max_retries": 0,
            "max_tokens": 9000,
            **arguments(server, tmp_path),
        }
        whole = litellm.completion(**given)
        assert whole.choices[0].message.content == TEXT
        assert whole.choices[0].finish_reason == "stop"
        assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == COUNTS
        chunks = list(litellm.completion(stream=True, stream_options={"include_usage": True}, **given))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == TEXT
        assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
        assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == COUNTS
        assert not server.unknown
        assert len(server.asked) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
def test_litellm_reads_the_errors_of_every_provider(provider, litellm, tmp_path):
    openai = pytest.importorskip("openai")
    expected = [
        (rate_limited(7), litellm.RateLimitError),
        (overflow(), litellm.ContextWindowExceededError),
        (overloaded(), (litellm.InternalServerError, litellm.ServiceUnavailableError)),
        (server_error(500), (litellm.InternalServerError, litellm.ServiceUnavailableError)),
        (truncated(9, TEXT), (litellm.InternalServerError, litellm.APIConnectionError)),
        (broken_json(), openai.APIError),
    ]
    with FakeProvider(provider, [behaviour for behaviour, _ in expected]) as server:
        given = arguments(server, tmp_path)
        for _, error in expected:
            with pytest.raises(error):
                litellm.completion(**given)
        assert len(server.asked) == len(expected)


def test_litellm_with_a_bedrock_key_instead_of_a_signature(litellm):
    with FakeProvider("bedrock", [answer(TEXT)], bearer=True) as server:  # boto3 sends none without TLS
        given = {"aws_bedrock_runtime_endpoint": server.url, "aws_region_name": "us-east-1", "messages": MESSAGES}
        key = server.environment()["AWS_BEARER_TOKEN_BEDROCK"]
        model = "bedrock/us.anthropic.claude-sonnet-5"
        assert litellm.completion(model=model, api_key=key, **given).choices[0].message.content == TEXT
        assert server.asked[0].headers["authorization"] == f"Bearer {key}"
        with pytest.raises(litellm.PermissionDeniedError):
            litellm.completion(model=model, api_key=key + "x", num_retries=0, max_retries=0, **given)


def test_litellm_speaks_anthropics_own_messages_to_bedrock(litellm, tmp_path):
    with FakeProvider("bedrock", [answer(TEXT, thoughts="Hm.")]) as server:
        given = {**arguments(server, tmp_path), "model": "bedrock/invoke/us.anthropic.claude-sonnet-5"}
        assert litellm.completion(**given).choices[0].message.content == TEXT
        chunks = list(litellm.completion(stream=True, **given))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TEXT
        assert [request.path.rpartition("/")[2] for request in server.asked] == [
            "invoke",
            "invoke-with-response-stream",
        ]
