"""From a target, a call and the environment to the arguments of `litellm.completion`, one function per route."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generation.errors import AuthError, RequestError
from generation.router.wire import Call, Target

# A model that thinks before it answers spends its output tokens on both; with fewer it often answers nothing.
LEAST_OUTPUT_WHEN_REASONING = 8_192
OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta"
VERTEX_URL = "https://aiplatform.googleapis.com"
AZURE_VERSION = "2024-10-21"
REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
AWS_REGION = "us-east-1"
GOOGLE_LOCATION = "us-central1"
# A server without keys still gets a header, since the SDK insists on one.
NO_KEY = "none"
SERVICES: Mapping[tuple[str, str], str] = {
    ("anthropic", "direct"): "anthropic",
    ("anthropic", "bedrock"): "bedrock",
    ("openai", "direct"): "openai",
    ("openai", "azure"): "azure",
    ("gemini", "direct"): "gemini",
    ("gemini", "vertex"): "vertex_ai",
}
# Cross-region inference profiles by the first words of a region; https://docs.aws.amazon.com/bedrock, "Supported
# Regions and models for inference profiles". The more special ones stand first.
PROFILES = {
    "us-gov-": ("us-gov",),
    "us-": ("us",),
    "eu-": ("eu",),
    "ap-northeast-1": ("jp", "apac"),
    "ap-northeast-3": ("jp", "apac"),
    "ap-southeast-2": ("au", "apac"),
    "ap-southeast-4": ("au", "apac"),
    "ap-": ("apac",),
}
# `us.anthropic.claude-sonnet-5`, `amazon.nova-pro-v1:0`, `arn:aws:bedrock:...`, but not `claude-3.5-sonnet`.
_FULL_ID = re.compile(r"[a-z-]+\.[a-z]|[^:]*:")


@dataclass(frozen=True)
class Access:
    """How to get to a target: the server's address, the key, and what LiteLLM wants to know beyond them.

    Neither the key nor the options are shown by `repr`.
    """

    url: str
    key: str = field(default="", repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ModelName:
    """A target's model in LiteLLM's terms: its `service`, the `model` there, and the name that its tables `know`."""

    service: str
    model: str
    known: str


def service_of(target: Target) -> str:
    """LiteLLM's name of a route.

    Raises:
        RequestError: there is no such route.
    """
    if target.provider == "compatible":
        return "openai"
    service = SERVICES.get((target.provider, target.route))
    if service is None:
        names = ", ".join("/".join(pair) for pair in SERVICES)
        raise RequestError(f"{target.name}: no such route; there are {names} and compatible/any")
    return service


def model_name(target: Target, environment: Mapping[str, str], known: Collection[str]) -> ModelName:
    """A target's model in LiteLLM's terms; `known` are the names of its price table.

    Raises:
        RequestError: there is no such route.
    """
    service = service_of(target)
    if service == "bedrock":
        model = bedrock_id(
            target.model, region_of(target, environment), known, target.settings.get("inference_profile", "")
        )
        return ModelName(service, f"converse/{model}", model)
    if service == "azure":
        return ModelName(service, target.settings.get("deployment") or target.model, target.model)
    return ModelName(service, target.model, target.model)


def access(target: Target, environment: Mapping[str, str]) -> Access:
    """How to get to a target with the keys of an environment.

    Raises:
        RequestError: there is no such route.
        AuthError: a key is missing; the message names the variable.
    """
    if target.provider == "compatible":
        return _compatible(target, environment)
    return _ACCESS[service_of(target)](target, environment)


def arguments(
    name: ModelName, options: Mapping[str, Any], call: Call, stream: bool, reasons: bool, accepts: Collection[str]
) -> dict[str, Any]:
    """Arguments of `litellm.completion`, without the connection.

    Args:
        name: of the model.
        options: of the route.
        call: what is asked.
        stream: whether the reply comes in pieces.
        reasons: whether the model thinks before it answers.
        accepts: the parameters that the model takes, by their names at OpenAI.
    """
    given: dict[str, Any] = {
        "model": f"{name.service}/{name.model}",
        "messages": [{"role": message.role, "content": message.content} for message in call.messages],
        "timeout": call.timeout,
        "num_retries": 0,
        "max_retries": 0,
        "caching": False,
        "no-log": True,
        "drop_params": True,  # a parameter that a model refuses, such as a temperature, is left out
        "stream": stream,
        **options,
    }
    if name.service == "azure":
        given["base_model"] = name.known
    if reasons and "max_completion_tokens" in accepts:
        given["max_completion_tokens"] = output_limit(call, reasons)
    else:
        given["max_tokens"] = output_limit(call, reasons)
    if call.temperature is not None and "temperature" in accepts:
        given["temperature"] = call.temperature
    if stream and "stream_options" in accepts:
        given["stream_options"] = {"include_usage": True}
    return given


def output_limit(call: Call, reasons: bool) -> int:
    """The most output tokens that are asked for, thoughts included."""
    return max(call.max_output_tokens, LEAST_OUTPUT_WHEN_REASONING) if reasons else call.max_output_tokens


def region_of(target: Target, environment: Mapping[str, str]) -> str:
    """The AWS region of a target."""
    named = (
        target.settings.get("region")
        or _value(environment, "AWS_REGION")
        or _value(environment, "AWS_DEFAULT_REGION")
    )
    return named or AWS_REGION


def bedrock_id(model: str, region: str, known: Collection[str], profile: str = "") -> str:
    """The id of a model on Bedrock.

    `claude-sonnet-5` becomes `us.anthropic.claude-sonnet-5` in `us-east-1`: newer models are had through a
    cross-region inference profile only. The profile is the given one, else the first of the region's that `known` has
    with this model, else `global`, else the plain id. Ids and ARNs are left as they are.
    """
    if _FULL_ID.match(model):
        return model
    plain = f"anthropic.{model}"
    if profile:
        return f"{profile}.{plain}"
    places = next((names for start, names in PROFILES.items() if region.startswith(start)), ())
    for candidate in (*(f"{place}.{plain}" for place in places), f"global.{plain}"):
        for name in (candidate, f"{candidate}-v1:0"):
            if name in known:
                return name
    return plain


def _anthropic(target: Target, environment: Mapping[str, str]) -> Access:
    key = _required(target, environment, "ANTHROPIC_API_KEY")
    url = target.settings.get("base_url") or ANTHROPIC_URL
    return Access(url, key, {"api_key": key, "api_base": url})


def _bedrock(target: Target, environment: Mapping[str, str]) -> Access:
    region = region_of(target, environment)
    url = target.settings.get("base_url") or f"https://bedrock-runtime.{region}.amazonaws.com"
    key = _value(environment, "AWS_SECRET_ACCESS_KEY")
    # Empty text, not None: for what is None, LiteLLM reads the process's environment instead of the given one.
    options = {"aws_region_name": region, "aws_bedrock_runtime_endpoint": url, "api_key": ""}
    if _value(environment, "AWS_BEARER_TOKEN_BEDROCK"):
        options["api_key"] = _value(environment, "AWS_BEARER_TOKEN_BEDROCK")
    elif _value(environment, "AWS_ACCESS_KEY_ID") and key:
        options["aws_access_key_id"], options["aws_secret_access_key"] = _value(environment, "AWS_ACCESS_KEY_ID"), key
        options["aws_session_token"] = _value(environment, "AWS_SESSION_TOKEN")
    elif _value(environment, "AWS_PROFILE"):
        options["aws_profile_name"] = _value(environment, "AWS_PROFILE")
    return Access(url, key, options)


def _openai(target: Target, environment: Mapping[str, str]) -> Access:
    key = _required(target, environment, "OPENAI_API_KEY")
    url = target.settings.get("base_url") or OPENAI_URL
    return Access(url, key, {"api_key": key, "api_base": url})


def _azure(target: Target, environment: Mapping[str, str]) -> Access:
    key = _required(target, environment, "AZURE_OPENAI_API_KEY")
    url = target.settings.get("base_url") or _required(target, environment, "AZURE_OPENAI_ENDPOINT")
    version = target.settings.get("api_version") or _value(environment, "AZURE_OPENAI_API_VERSION") or AZURE_VERSION
    return Access(url, key, {"api_key": key, "api_base": url, "api_version": version})


def _gemini(target: Target, environment: Mapping[str, str]) -> Access:
    key = _required(target, environment, "GEMINI_API_KEY")
    url = target.settings.get("base_url") or GEMINI_URL
    return Access(url, key, {"api_key": key, "api_base": url})


def _vertex(target: Target, environment: Mapping[str, str]) -> Access:
    project = target.settings.get("project") or _required(target, environment, "GOOGLE_CLOUD_PROJECT")
    location = target.settings.get("location") or _value(environment, "GOOGLE_CLOUD_LOCATION") or GOOGLE_LOCATION
    options = {"vertex_project": project, "vertex_location": location}
    file = _value(environment, "GOOGLE_APPLICATION_CREDENTIALS")
    if file and not Path(file).is_file():
        told = f"GOOGLE_APPLICATION_CREDENTIALS names no file ({file}); correct it, or unset it for gcloud's login"
        raise AuthError(f"{target.name}, model {target.model}: {told}")
    if file:
        options["vertex_credentials"] = file
    if target.settings.get("base_url"):
        options["api_base"] = target.settings["base_url"]
    return Access(target.settings.get("base_url") or VERTEX_URL, "", options)


def _compatible(target: Target, environment: Mapping[str, str]) -> Access:
    key = _value(environment, "COMPATIBLE_ANY_API_KEY") or _value(environment, "OPENAI_API_KEY") or NO_KEY
    url = target.settings.get("base_url") or _required(target, environment, "OPENAI_BASE_URL")
    return Access(url, key, {"api_key": key, "api_base": url})


def _value(environment: Mapping[str, str], name: str) -> str:
    """A variable without blanks around it, empty where it is not set: keys are often pasted with a line break."""
    return environment.get(name, "").strip()


def _required(target: Target, environment: Mapping[str, str], name: str) -> str:
    value = _value(environment, name)
    if not value:
        raise AuthError(f"{target.name}, model {target.model}: set {name} in the environment or in .env")
    return value


_ACCESS: Mapping[str, Callable[[Target, Mapping[str, str]], Access]] = {
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "openai": _openai,
    "azure": _azure,
    "gemini": _gemini,
    "vertex_ai": _vertex,
}
