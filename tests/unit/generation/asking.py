"""Requests to fake providers as the vendors' documentation has them, without any vendor's library."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from typing import Any

import httpx
import pytest

from tests.providers import FakeProvider

TEXT = "Zürich lies on a lake.\nAnd so on, with “quotes” and {braces}."
MESSAGES: list[Any] = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Where?"}]
# by hand, four characters a token: "Be short.\nWhere?" has 16 characters; the text 62
COUNTS = (4, 16)
MODELS = {
    "anthropic": "claude-sonnet-5",
    "bedrock": "us.anthropic.claude-sonnet-5",
    "openai": "gpt-5.5",
    "azure": "gpt-5.5",
    "gemini": "gemini-3.8-flash",
    "vertex": "gemini-3.8-flash",
    "compatible": "llama3.1",
}
NEEDED = {"bedrock": "botocore", "vertex": "google.auth"}


def installed(package: str) -> bool:
    """Whether a package can be imported."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # its parent is missing
        return False


PROVIDERS = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name in NEEDED and not installed(NEEDED[name]), reason=f"not installed: {NEEDED.get(name)}"
        ),
    )
    for name in MODELS
]


def path_of(server: FakeProvider, stream: bool = False, model: str = "") -> str:
    """Path and query of a request for a model."""
    model = model or MODELS[server.provider]
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    match server.provider:
        case "anthropic":
            return "/v1/messages"
        case "bedrock":
            return f"/model/{model.replace(':', '%3A')}/{'converse-stream' if stream else 'converse'}"
        case "azure":
            return f"/openai/deployments/{model}/chat/completions?api-version=2024-10-21"
        case "gemini":
            return f"/v1beta/models/{model}:{verb}"
        case "vertex":
            place = "projects/planted-project/locations/us-central1/publishers/google"
            return f"/v1/{place}/models/{model}:{verb}"
    return "/v1/chat/completions"


def body_of(server: FakeProvider, prompt: str, stream: bool = False, model: str = "") -> dict[str, Any]:
    """Body of a request for a model."""
    model = model or MODELS[server.provider]
    turn = {"role": "user", "content": prompt}
    match server.provider:
        case "anthropic":
            return {"model": model, "max_tokens": 100, "messages": [turn], "stream": stream}
        case "bedrock":
            return {"messages": [{"role": "user", "content": [{"text": prompt}]}]}
        case "gemini" | "vertex":
            return {"contents": [{"role": "user", "parts": [{"text": prompt}]}]}
    told = {"stream_options": {"include_usage": True}} if stream else {}
    return {"model": model, "messages": [turn], "stream": stream, **told}


def headers_of(server: FakeProvider, path: str, body: bytes, key: str | None = None) -> dict[str, str]:
    """Headers that show the planted key, or another one."""
    match server.provider:
        case "anthropic":
            return {"x-api-key": key or server.secrets[0], "anthropic-version": "2023-06-01"}
        case "bedrock":
            return signed(server, path, body, key or server.secrets[1])
        case "azure":
            return {"api-key": key or server.secrets[0]}
        case "gemini":
            return {"x-goog-api-key": key or server.secrets[0]}
        case "vertex":
            return {"authorization": f"Bearer {key or token(server)}"}
    return {"authorization": f"Bearer {key or server.secrets[0]}"}


def signed(server: FakeProvider, path: str, body: bytes, secret: str, region: str = "us-east-1") -> dict[str, str]:
    """Headers with a signature that botocore made."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    request = AWSRequest("POST", server.url + path, {"content-type": "application/json"}, body)
    SigV4Auth(Credentials(server.secrets[0], secret), "bedrock", region).add_auth(request)
    return dict(request.headers)


def token(server: FakeProvider) -> str:
    """An access token that google-auth fetched with the planted key file's content."""
    from google.auth.transport.requests import Request
    from google.oauth2.service_account import Credentials

    scopes = ["https://www.googleapis.com/auth/cloud-platform"]
    found = Credentials.from_service_account_info(server.wire.tokens.credentials(), scopes=scopes)  # type: ignore[attr-defined]
    found.refresh(Request())
    return str(found.token)


def ask(
    server: FakeProvider,
    prompt: str = "hi",
    stream: bool = False,
    key: str | None = None,
    model: str = "",
    client: httpx.Client | None = None,
) -> httpx.Response:
    """One request, read to its end."""
    path = path_of(server, stream, model)
    body = json.dumps(body_of(server, prompt, stream, model)).encode()
    headers = {"content-type": "application/json", **headers_of(server, path, body, key)}
    if client is not None:
        return client.post(server.url + path, content=body, headers=headers)
    with httpx.Client(verify=False, trust_env=False, timeout=10) as own:  # no certificates to load: there is no TLS
        return own.post(server.url + path, content=body, headers=headers)


def text_of(server: FakeProvider, response: httpx.Response) -> str:
    """The answer's text of a whole response."""
    body = response.json()
    match server.provider:
        case "anthropic":
            return str(body["content"][-1]["text"])
        case "bedrock":
            return str(body["output"]["message"]["content"][-1]["text"])
        case "gemini" | "vertex":
            return str(body["candidates"][0]["content"]["parts"][-1]["text"])
    return str(body["choices"][0]["message"]["content"])


def forget_keys(patch: pytest.MonkeyPatch) -> None:
    """No key of the machine reaches a client."""
    for name in os.environ:
        if re.match(r"AWS_|OPENAI_|ANTHROPIC_|GEMINI_|GOOGLE_|AZURE_", name):
            patch.delenv(name)
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    patch.setenv("AWS_CONFIG_FILE", os.devnull)
    patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
