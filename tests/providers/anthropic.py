"""Anthropic's Messages API, version 2023-06-01: `POST /v1/messages`, whole or as server-sent events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.providers.behaviours import Failure
from tests.providers.exchange import Asked, Request, Response, Said, Stream, as_json, sse, texts_of

FINISH = {"stop": "end_turn", "length": "max_tokens", "filter": "refusal"}
WITHOUT_SAMPLING = re.compile(r"claude-(sonnet|opus|haiku|fable)-5|claude-opus-4-[78]")
STATUS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip


@dataclass(frozen=True)
class Anthropic:
    """Anthropic, direct."""

    key: str

    def read(self, request: Request) -> tuple[str, Asked | None]:
        if (request.method, request.path) != ("POST", "/v1/messages"):
            return "unknown", None
        body = request.json if isinstance(request.json, dict) else {}
        return "model", Asked(str(body.get("model", "")), body.get("stream") is True, messages_of(body))

    def refusal(self, request: Request) -> Response | None:
        shown = self.credential(request)
        if not shown:
            return error(401, "x-api-key header is required", request)
        if shown != self.key:
            return error(401, "invalid x-api-key", request)
        if "anthropic-version" not in request.headers:
            return error(400, "anthropic-version: header is required", request)
        if not isinstance(request.json, dict):
            return error(400, "The request body is not valid JSON", request)
        fault = fault_of(request.json)
        return error(400, fault, request) if fault else None

    def other(self, request: Request) -> Response:
        return error(404, "Not Found", request)

    def no_model(self, request: Request) -> Response:
        return error(404, f"model: {request.model}", request)

    def failure(self, request: Request, failure: Failure) -> Response:
        match failure.kind:
            case "rate":
                text = RATE_LIMITED[failure.cause]
                return error(429, text, request, limits(failure.retry_after, failure.cause))
            case "quota" if failure.cause == "period":
                return error(429, TIER_CAP, request, details={"error_code": "enforced_spend_limit_reached"})
            case "quota":
                return error(400, USED_UP[failure.cause], request)
            case "overloaded":
                return error(529, "Overloaded", request)
            case "auth":
                return error(401, "invalid x-api-key", request)
            case "overflow":
                return error(400, "prompt is too long: 1048592 tokens > 1000000 maximum", request)
            case "echo":
                return error(failure.code, f"upstream refused x-api-key {self.credential(request)}", request)
            case _:
                return error(failure.code, "Internal server error", request)

    def whole(self, request: Request, said: Said) -> Response:
        return whole(request, said)

    def stream(self, request: Request, said: Said) -> Stream:
        return stream(request, said)

    def broken(self, request: Request) -> bytes:
        return b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":\n\n'

    def midway(self, request: Request) -> bytes:
        return event("error", error={"type": "overloaded_error", "message": "Overloaded"})

    def credential(self, request: Request) -> str:
        return request.headers.get("x-api-key", "")

    def environment(self, url: str, folder: Path | None) -> dict[str, str]:
        return {"ANTHROPIC_API_KEY": self.key, "ANTHROPIC_BASE_URL": url}

    def settings(self, url: str) -> dict[str, str]:
        return {"base_url": url}

    def secrets(self) -> tuple[str, ...]:
        return (self.key,)


RATE_LIMITED = {
    "requests": "This request would exceed your organization's rate limit of 50 requests per minute. For details, "
    "refer to: https://docs.claude.com/en/api/rate-limits",
    "tokens": "This request would exceed your organization's rate limit of 40,000 input tokens per minute. For "
    "details, refer to: https://docs.claude.com/en/api/rate-limits",
}
USED_UP = {
    "credit": "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade "
    "or purchase credits.",
    "limit": "You have reached your specified API usage limits. You will regain access on 2030-01-01 at 00:00 UTC.",
}
TIER_CAP = "Your organization has reached its monthly usage limit for its tier."


def messages_of(body: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """(role, text), the system prompt first."""
    system = texts_of(body.get("system"))
    spoken = body.get("messages")
    turns = [(turn["role"], texts_of(turn["content"])) for turn in spoken] if isinstance(spoken, list) else []
    return tuple([("system", system), *turns] if system else turns)


def fault_of(body: Mapping[str, Any]) -> str:
    """What the API says against the body, empty where nothing."""
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            return f"{name}: Field required"
    for index, turn in enumerate(body["messages"]):
        if turn["role"] not in ("user", "assistant"):
            return (
                f'messages.{index}: Unexpected role "{turn["role"]}". The Messages API accepts a top-level `system`'
            )
        if not texts_of(turn["content"]).strip():
            return f"messages.{index}: text content blocks must contain non-whitespace text"
    if not body["messages"]:
        return "messages: at least one message is required"
    if body["max_tokens"] < 1:
        return "max_tokens: Input should be greater than or equal to 1"
    set_by_hand = [name for name in ("temperature", "top_p", "top_k") if body.get(name, 1) != 1]
    if set_by_hand and takes_no_sampling(str(body["model"])):
        return f"`{set_by_hand[0]}` is deprecated for this model."
    return ""


def takes_no_sampling(model: str) -> bool:
    """Whether the API refuses a temperature other than 1 for a model, as it does from Opus 4.7 and Sonnet 5 on."""
    return bool(WITHOUT_SAMPLING.search(model))


def error(
    status: int,
    text: str,
    request: Request,
    headers: Mapping[str, str] | None = None,
    details: Mapping[str, str] | None = None,
) -> Response:
    """An error as the API words it."""
    fault = {"type": STATUS.get(status, "api_error"), "message": text} | ({"details": details} if details else {})
    number = request_id(request)
    body = {"type": "error", "error": fault, "request_id": number["request-id"]}
    return Response(status, as_json(body), {**number, **(headers or {})})


def limits(retry_after: float | None, cause: str) -> dict[str, str]:
    """Headers of a 429."""
    told = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    of = f"anthropic-ratelimit-{'requests' if cause == 'requests' else 'input-tokens'}"
    limit = "50" if cause == "requests" else "40000"
    return {**told, f"{of}-limit": limit, f"{of}-remaining": "0", f"{of}-reset": "2030-01-01T00:00:00Z"}


def whole(request: Request, said: Said) -> Response:
    """A message in one piece."""
    thinking = [{"type": "thinking", "thinking": said.thoughts, "signature": "EqoB"}] if said.thoughts else []
    text = [{"type": "text", "text": said.text}] if said.text else []
    body = message(request, said, [*thinking, *text]) | {"stop_reason": FINISH[said.finish]}
    if said.usage:
        body["usage"] = usage(*said.usage)
    return Response(200, as_json(body), request_id(request))


def stream(request: Request, said: Said) -> Stream:
    """A message as events."""
    start = message(request, said, [])
    if said.usage:
        start["usage"] = usage(said.usage[0], 1)
    head = [event("message_start", message=start), event("ping")]
    index = 0
    if said.thoughts:
        head += thinking_block(said.thoughts)
        index = 1
    head.append(event("content_block_start", index=index, content_block={"type": "text", "text": ""}))
    texts = [delta(index, {"type": "text_delta", "text": piece}) for piece in said.pieces]
    told = {"usage": {"output_tokens": said.usage[1]}} if said.usage else {}
    tail = [
        event("content_block_stop", index=index),
        event("message_delta", delta={"stop_reason": FINISH[said.finish], "stop_sequence": None}, **told),
        event("message_stop"),
    ]
    return Stream(tuple(head), tuple(texts), tuple(tail), headers=request_id(request))


def request_id(request: Request) -> dict[str, str]:
    """The header by which the vendor finds a request again."""
    return {"request-id": f"req_{request.number:024d}"}


def message(request: Request, said: Said, content: list[dict[str, Any]]) -> dict[str, Any]:
    """A message object without usage."""
    return {
        "id": f"msg_{said.number:024d}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": None,
        "stop_sequence": None,
    }


def usage(input_tokens: int, output_tokens: int) -> dict[str, Any]:
    """Token counts as the API gives them."""
    return {
        "input_tokens": input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output_tokens,
        "service_tier": "standard",
    }


def event(kind: str, **fields: Any) -> bytes:
    """One server-sent event; its name stands in its data too."""
    return sse({"type": kind, **fields}, kind)


def delta(index: int, change: dict[str, str]) -> bytes:
    """A piece of a content block."""
    return event("content_block_delta", index=index, delta=change)


def thinking_block(thoughts: str) -> list[bytes]:
    """A whole block of thoughts, which comes before the text."""
    return [
        event("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""}),
        delta(0, {"type": "thinking_delta", "thinking": thoughts}),
        delta(0, {"type": "signature_delta", "signature": "EqoB"}),
        event("content_block_stop", index=0),
    ]
