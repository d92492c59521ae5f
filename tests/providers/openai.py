"""Chat completions as OpenAI, Azure OpenAI and OpenAI-compatible servers speak them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.providers.behaviours import Failure, tokens_of
from tests.providers.exchange import Asked, Request, Response, Said, Stream, as_json, sse, texts_of

FINISH = {"stop": "stop", "length": "length", "filter": "content_filter"}
REASONING = re.compile(r"^(gpt-5|o\d)")
CREATED = 1_790_000_000


class Chat:
    """What the three have in common; the vendors' differences are in the classes below."""

    key: str

    def read(self, request: Request) -> tuple[str, Asked | None]:
        if request.method != "POST" or not self.known(request):
            return "unknown", None
        body = request.json if isinstance(request.json, dict) else {}
        spoken = body.get("messages")
        turns = [(turn["role"], texts_of(turn["content"])) for turn in spoken] if isinstance(spoken, list) else []
        usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return "model", Asked(self.model(request), body.get("stream") is True, tuple(turns), {"usage": usage})

    def known(self, request: Request) -> bool:
        return request.path == "/v1/chat/completions"

    def model(self, request: Request) -> str:
        return str((request.json or {}).get("model", ""))

    def refusal(self, request: Request) -> Response | None:
        denied = self.denial(request)
        if denied:
            return denied
        if not isinstance(request.json, dict):
            return error(400, "We could not parse the JSON body of your request.", "invalid_request_error")
        return fault_of(request.json, self.model(request))

    def denial(self, request: Request) -> Response | None:
        shown = self.credential(request)
        if not shown:
            return error(401, NO_KEY, "invalid_request_error")
        return None if shown == self.key else self.failure(request, Failure("auth"))

    def other(self, request: Request) -> Response:
        text = f"Invalid URL ({request.method} {request.path})"
        return error(404, text, "invalid_request_error")

    def no_model(self, request: Request) -> Response:
        text = f"The model `{request.model}` does not exist or you do not have access to it."
        return error(404, text, "invalid_request_error", "model_not_found")

    def failure(self, request: Request, failure: Failure) -> Response:
        match failure.kind:
            case "rate":
                of = LIMITS[failure.cause]
                text = RATE_LIMITED.format(model=request.model, of=of, seconds=failure.retry_after or 20)
                return error(429, text, failure.cause, "rate_limit_exceeded", headers=limits(failure))
            case "quota":
                return error(429, NO_CREDIT, "insufficient_quota", USED_UP[failure.cause])
            case "overloaded":
                text = "The engine is currently overloaded, please try again later"
                return error(503, text, "service_unavailable_error", "server_is_overloaded")
            case "auth":
                text = WRONG_KEY.format(key=masked(self.credential(request)))
                return error(401, text, "invalid_request_error", "invalid_api_key")
            case "overflow":
                return error(400, TOO_LONG, "invalid_request_error", "context_length_exceeded", "messages")
            case "echo":
                text = f"upstream refused the key {self.credential(request)}"
                return error(failure.code, text, "invalid_request_error", "upstream_error")
            case _:
                return error(failure.code, "The server had an error while processing your request.", "server_error")

    def whole(self, request: Request, said: Said) -> Response:
        message: dict[str, Any] = {"role": "assistant", "content": said.text, "refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": FINISH[said.finish]}
        body = self.frame(request, said, "chat.completion") | {"choices": [choice | self.verdict(said)]}
        if said.usage:
            body["usage"] = usage(said)
        return Response(200, as_json(body), {"x-request-id": f"req_{said.number:032x}"})

    def stream(self, request: Request, said: Said) -> Stream | Response:
        asks_usage = request.asked is not None and request.asked.extra["usage"]
        frame = self.frame(request, said, "chat.completion.chunk") | ({"usage": None} if asks_usage else {})

        def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            return sse(frame | {"choices": [choice]})

        tail = [chunk({}, FINISH[said.finish])]
        if said.usage and asks_usage:
            tail.append(sse(frame | {"choices": [], "usage": usage(said)}))
        return Stream(
            (*self.preface(frame), chunk({"role": "assistant", "content": "", "refusal": None})),
            tuple(chunk({"content": piece}) for piece in said.pieces),
            (*tail, b"data: [DONE]\n\n"),
            headers={"x-request-id": f"req_{said.number:032x}"},
        )

    def frame(self, request: Request, said: Said, kind: str) -> dict[str, Any]:
        """What whole answers and pieces have in common."""
        return {
            "id": f"chatcmpl-{said.number:029d}",
            "object": kind,
            "created": CREATED,
            "model": request.model,
            "service_tier": "default",
            "system_fingerprint": "fp_0123456789",
        }

    def verdict(self, said: Said) -> dict[str, Any]:
        """What a content filter says beside an answer."""
        return {}

    def preface(self, frame: Mapping[str, Any]) -> tuple[bytes, ...]:
        """What a stream begins with before the first choice."""
        return ()

    def broken(self, request: Request) -> bytes:
        return b'data: {"id":"chatcmpl-0","object":"chat.completion.chunk","choices":[{"index":0,"delta":\n\n'

    def midway(self, request: Request) -> bytes:
        text = "The server had an error while processing your request."
        return sse({"error": {"message": text, "type": "server_error", "param": None, "code": "server_error"}})

    def credential(self, request: Request) -> str:
        return request.headers.get("authorization", "").removeprefix("Bearer ")

    def secrets(self) -> tuple[str, ...]:
        return (self.key,)


@dataclass(frozen=True)
class OpenAi(Chat):
    """OpenAI, direct."""

    key: str

    def environment(self, url: str, folder: Path | None) -> dict[str, str]:
        return {"OPENAI_API_KEY": self.key, "OPENAI_DIRECT_BASE_URL": f"{url}/v1"}

    def settings(self, url: str) -> dict[str, str]:
        return {"base_url": f"{url}/v1"}


@dataclass(frozen=True)
class Compatible(Chat):
    """A self-hosted server. `keyless`: it asks for no key, as Ollama does; else it wants one, as vLLM can."""

    key: str
    keyless: bool = False

    def denial(self, request: Request) -> Response | None:
        if self.keyless or self.credential(request) == self.key:
            return None
        return Response(401, as_json({"error": "Unauthorized"}))

    def failure(self, request: Request, failure: Failure) -> Response:
        match failure.kind:
            case "auth":
                return Response(401, as_json({"error": "Unauthorized"}))
            case "overflow":
                return error(400, TOO_LONG, "BadRequestError", 400)
            case "server":
                return error(failure.code, "EngineCore encountered an issue.", "InternalServerError", failure.code)
            case _:
                return super().failure(request, failure)

    def no_model(self, request: Request) -> Response:
        return error(404, f"The model `{request.model}` does not exist.", "NotFoundError", 404, "model")

    def environment(self, url: str, folder: Path | None) -> dict[str, str]:
        return {
            "OPENAI_BASE_URL": f"{url}/v1",
            "COMPATIBLE_ANY_MODEL": "llama3.1",
            **({} if self.keyless else {"OPENAI_API_KEY": self.key}),
        }

    def settings(self, url: str) -> dict[str, str]:
        return {"base_url": f"{url}/v1"}


NO_KEY = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
    "(i.e. Authorization: Bearer YOUR_KEY)."
)
WRONG_KEY = (
    "Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com/account/api-keys."
)
RATE_LIMITED = (
    "Rate limit reached for {model} in organization org-0 on {of}. "
    "Please try again in {seconds:g}s. Visit https://platform.openai.com/account/rate-limits to learn more."
)
LIMITS = {
    "requests": "requests per min (RPM): Limit 3, Used 3, Requested 1",
    "tokens": "tokens per min (TPM): Limit 200000, Used 199999, Requested 1000",
}
USED_UP = {
    "credit": "insufficient_quota",
    "limit": "project_spend_limit_exceeded",
    "period": "organization_usage_limit_exceeded",
}
NO_CREDIT = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this "
    "error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
)
TOO_LONG = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. Please "
    "reduce the length of the messages."
)


def fault_of(body: Mapping[str, Any], model: str) -> Response | None:
    """The error for a body that the API does not take."""
    kind = "invalid_request_error"
    if not model:
        return error(400, "you must provide a model parameter", kind)
    if not isinstance(body.get("messages"), list):
        return error(400, "Missing required parameter: 'messages'.", kind, "missing_required_parameter", "messages")
    if not REASONING.match(model):
        return None
    if body.get("max_tokens") is not None:
        text = "Unsupported parameter: 'max_tokens' is not supported with this model. "
        text += "Use 'max_completion_tokens' instead."
        return error(400, text, kind, "unsupported_parameter", "max_tokens")
    for name in ("temperature", "top_p"):
        if body.get(name) not in (None, 1):
            text = f"Unsupported value: '{name}' does not support {body[name]:g} with this model. "
            text += "Only the default (1) value is supported."
            return error(400, text, kind, "unsupported_value", name)
    return None


def error(
    status: int,
    text: str,
    kind: str | None,
    code: str | int | None = None,
    parameter: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An error as OpenAI words it."""
    body = {"error": {"message": text, "type": kind, "param": parameter, "code": code}}
    return Response(status, as_json(body), headers or {})


def limits(failure: Failure) -> dict[str, str]:
    """Headers of a 429."""
    told = {f"x-ratelimit-limit-{failure.cause}": "3", f"x-ratelimit-remaining-{failure.cause}": "0"}
    if failure.retry_after is None:
        return told
    return {**told, "retry-after": f"{failure.retry_after:g}", "retry-after-ms": f"{failure.retry_after * 1e3:g}"}


def masked(key: str) -> str:
    """A key as OpenAI shows it back: eight characters, stars, four characters."""
    return f"{key[:8]}{'*' * max(0, len(key) - 12)}{key[-4:]}"


def usage(said: Said) -> dict[str, Any]:
    """Token counts as the API gives them; thoughts are among the output."""
    given, made = said.usage or (0, 0)
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": tokens_of(said.thoughts), "audio_tokens": 0},
    }
