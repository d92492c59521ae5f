"""Which wire format a provider's name stands for."""

from __future__ import annotations

import numpy as np

from tests.providers import keys
from tests.providers.anthropic import Anthropic
from tests.providers.azure import Azure
from tests.providers.bedrock import Bedrock
from tests.providers.exchange import Wire
from tests.providers.gemini import PROJECT, Gemini, Vertex
from tests.providers.google_tokens import TokenServer
from tests.providers.openai import Compatible, OpenAi

ROUTES = {
    "anthropic": ("anthropic", "direct"),
    "bedrock": ("anthropic", "bedrock"),
    "openai": ("openai", "direct"),
    "azure": ("openai", "azure"),
    "gemini": ("gemini", "direct"),
    "vertex": ("gemini", "vertex"),
    "compatible": ("compatible", "any"),
}
DEFAULT_MODELS = {
    "anthropic": "claude-sonnet-5",
    "bedrock": "claude-sonnet-5",
    "openai": "gpt-5.5",
    "azure": "gpt-5.5",
    "gemini": "gemini-3.8-flash",
    "vertex": "gemini-3.8-flash",
    "compatible": "llama3.1",
}


def wire_of(provider: str, url: str, seed: int, keyless: bool = False, bearer: bool = False) -> Wire:
    """A provider's wire format with planted keys, the same for the same seed (but Vertex's, made by the library)."""
    generator = np.random.default_rng([seed, *provider.encode()])
    match provider:
        case "anthropic":
            return Anthropic(keys.anthropic_key(generator))
        case "bedrock":
            return Bedrock(*keys.aws_keys(generator), keys.bedrock_key(generator) if bearer else "")
        case "openai":
            return OpenAi(keys.openai_key(generator))
        case "azure":
            return Azure(keys.azure_key(generator))
        case "gemini":
            return Gemini(keys.google_key(generator))
        case "vertex":
            return Vertex(TokenServer(url, PROJECT, generator))
        case "compatible":
            return Compatible(keys.compatible_key(generator), keyless)
    raise ValueError(f"{provider!r} has a route and no wire")
