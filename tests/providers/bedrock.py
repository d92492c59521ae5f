"""Amazon Bedrock Runtime: `Converse`, `ConverseStream`, and `InvokeModel` with Anthropic's own messages."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.providers import anthropic, eventstream, sigv4
from tests.providers.behaviours import Failure
from tests.providers.exchange import Asked, Request, Response, Said, Stream, as_json, texts_of

FINISH = {"stop": "end_turn", "length": "max_tokens", "filter": "content_filtered"}
PATH = re.compile(r"/model/(?P<model>.+)/(?P<verb>converse|converse-stream|invoke|invoke-with-response-stream)")
REGION = "us-east-1"
STREAM_TYPE = "application/vnd.amazon.eventstream"
CORAL = "http://internal.amazon.com/coral/com.amazon.bedrock/"


@dataclass(frozen=True)
class Bedrock:
    """Anthropic's models through Amazon Bedrock, with a planted access key of one region."""

    key_id: str
    secret: str
    bearer: str = ""
    region: str = REGION

    def read(self, request: Request) -> tuple[str, Asked | None]:
        found = PATH.fullmatch(request.path)
        if request.method != "POST" or not found:
            return "unknown", None
        body = request.json if isinstance(request.json, dict) else {}
        verb = found["verb"]
        turns = anthropic.messages_of(body)
        return "model", Asked(found["model"], verb.endswith("stream"), turns, {"verb": verb})

    def refusal(self, request: Request) -> Response | None:
        return self.denial(request) or self.fault(request)

    def denial(self, request: Request) -> Response | None:
        """The error for a missing, wrong or wrongly made signature, or a wrong bearer token."""
        if self.bearer and request.headers.get("authorization", "").startswith("Bearer "):
            return None if self.credential(request) == f"Bearer {self.bearer}" else error(403, *WRONG_BEARER)
        signature = sigv4.read(request)
        if signature is None:
            return error(403, "MissingAuthenticationTokenException", "Missing Authentication Token")
        if signature.key != self.key_id:
            text = "The security token included in the request is invalid."
            return error(403, "UnrecognizedClientException", text)
        wanted = (self.region, "bedrock")
        if (signature.region, signature.service) != wanted:
            text = f"Credential should be scoped to a valid region or service: {'/'.join(wanted)}."
            return error(403, "InvalidSignatureException", text)
        unsigned = {"host", "x-amz-date"} - set(signature.headers)
        if unsigned or not hmac.compare_digest(sigv4.expected(request, signature, self.secret), signature.signature):
            return error(403, "InvalidSignatureException", MISMATCH)
        return None

    def fault(self, request: Request) -> Response | None:
        """The error for a body that the API does not take."""
        if not isinstance(request.json, dict):
            return error(400, "SerializationException", "could not parse the body as JSON")
        text = (invoke_fault if invoked(request) else converse_fault)(request.json, request.model)
        return error(400, "ValidationException", text) if text else None

    def other(self, request: Request) -> Response:
        body = {"Output": {"__type": "com.amazon.coral.service#UnknownOperationException"}, "Version": "1.0"}
        return Response(404, as_json(body), {"x-amzn-ErrorType": "UnknownOperationException"})

    def no_model(self, request: Request) -> Response:
        return error(400, "ValidationException", "The provided model identifier is invalid.")

    def failure(self, request: Request, failure: Failure) -> Response:
        match failure.kind:
            case "rate":
                told = {} if failure.retry_after is None else {"retry-after": f"{failure.retry_after:g}"}
                text = f"Too many {failure.cause}, please wait before trying again."
                return error(429, "ThrottlingException", text, told)
            case "quota" if failure.cause == "period":
                text = "Too many tokens per day, please wait before trying again."
                return error(429, "ThrottlingException", text)
            case "quota":
                text = "Your request exceeds the service quota for your account."
                return error(400, "ServiceQuotaExceededException", text)
            case "overloaded":
                return error(503, "ServiceUnavailableException", "Bedrock is unable to process your request.")
            case "auth":
                return error(
                    403, "AccessDeniedException", "You don't have access to the model with the specified model ID."
                )
            case "overflow":
                text = "The model returned the following errors: prompt is too long: 1048592 tokens > 1000000 maximum"
                return error(400, "ValidationException", text)
            case "echo":
                text = f"upstream refused {self.credential(request)}"
                return error(failure.code, "AccessDeniedException", text)
            case _:
                kind = SERVER_ERRORS.get(failure.code, "InternalServerException")
                return error(failure.code, kind, "The system encountered an unexpected error during processing.")

    def whole(self, request: Request, said: Said) -> Response:
        if invoked(request):
            return anthropic.whole(request, said)
        thinking = [{"reasoningContent": {"reasoningText": thought(said)}}] if said.thoughts else []
        text = [{"text": said.text}] if said.text else []
        body = {
            "metrics": {"latencyMs": 100},
            "output": {"message": {"content": [*thinking, *text], "role": "assistant"}},
            "stopReason": FINISH[said.finish],
        }
        return Response(200, as_json(body | usage(said)), {"x-amzn-RequestId": request_id(said)})

    def stream(self, request: Request, said: Said) -> Stream:
        if invoked(request):
            return wrapped(anthropic.stream(request, said))
        head = [eventstream.event("messageStart", {"role": "assistant"})]
        index = 0
        if said.thoughts:
            head += [delta(0, {"reasoningContent": {key: value}}) for key, value in thought(said).items()]
            head.append(eventstream.event("contentBlockStop", {"contentBlockIndex": 0}))
            index = 1
        tail = [
            eventstream.event("contentBlockStop", {"contentBlockIndex": index}),
            eventstream.event("messageStop", {"stopReason": FINISH[said.finish]}),
            eventstream.event("metadata", {"metrics": {"latencyMs": 100}} | usage(said)),
        ]
        texts = [delta(index, {"text": piece}) for piece in said.pieces]
        return Stream(tuple(head), tuple(texts), tuple(tail), STREAM_TYPE, {"x-amzn-RequestId": request_id(said)})

    def broken(self, request: Request) -> bytes:
        kind = "chunk" if invoked(request) else "contentBlockDelta"
        return eventstream.frame(
            {":event-type": kind, ":content-type": "application/json", ":message-type": "event"},
            b'{"contentBlockIndex":0,"delta":{"text":',
        )

    def midway(self, request: Request) -> bytes:
        return eventstream.exception("serviceUnavailableException", "Bedrock is unable to process your request.")

    def credential(self, request: Request) -> str:
        """The whole header, which has the access key id and the signature."""
        return request.headers.get("authorization", "")

    def environment(self, url: str, folder: Path | None) -> dict[str, str]:
        place = {
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
        }
        if self.bearer:
            return {"AWS_BEARER_TOKEN_BEDROCK": self.bearer, **place}
        return {"AWS_ACCESS_KEY_ID": self.key_id, "AWS_SECRET_ACCESS_KEY": self.secret, **place}

    def settings(self, url: str) -> dict[str, str]:
        return {"base_url": url, "region": self.region}

    def secrets(self) -> tuple[str, ...]:
        return (self.bearer,) if self.bearer else (self.key_id, self.secret)


WRONG_BEARER = ("AccessDeniedException", "Authentication failed: Please make sure your API Key is valid.")
MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)
SERVER_ERRORS = {
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ModelNotReadyException",
    503: "ServiceUnavailableException",
}


def invoked(request: Request) -> bool:
    """Whether a model's own format is spoken, instead of Converse."""
    return request.asked is not None and str(request.asked.extra["verb"]).startswith("invoke")


def converse_fault(body: Mapping[str, Any], model: str) -> str:
    """What Converse says against a body, empty where nothing."""
    for turn in body.get("messages", ()):
        if turn.get("role") not in ("user", "assistant"):
            return "1 validation error detected: Value at 'messages.1.member.role' failed to satisfy constraint"
        if not texts_of(turn.get("content")).strip():
            return "The text field in the ContentBlock object is blank. Add text to the text field, and try again."
    if not body.get("messages"):
        return "A conversation must start with a user message. Try again with a conversation that starts with one."
    set_by_hand = body.get("inferenceConfig", {}).get("temperature", 1)
    if anthropic.takes_no_sampling(model) and set_by_hand != 1:
        return "The model returned the following errors: `temperature` is deprecated for this model."
    return ""


def invoke_fault(body: Mapping[str, Any], model: str) -> str:
    """What InvokeModel says against a body for one of Anthropic's models."""
    if body.get("anthropic_version") != "bedrock-2023-05-31":
        return "anthropic_version: Field required"
    return anthropic.fault_of({**body, "model": model})


def wrapped(stream: Stream) -> Stream:
    """Anthropic's own events, each in a frame of its own with its JSON in base64."""

    def chunk(part: bytes) -> bytes:
        data = part.partition(b"data: ")[2].rstrip(b"\n")
        return eventstream.event("chunk", {"bytes": base64.b64encode(data).decode()})

    head, texts, tail = (tuple(chunk(part) for part in group) for group in (stream.head, stream.texts, stream.tail))
    return Stream(head, texts, tail, STREAM_TYPE)


def thought(said: Said) -> dict[str, str]:
    """Thoughts as Converse gives them."""
    return {"text": said.thoughts, "signature": "EqoB"}


def delta(index: int, change: Mapping[str, Any]) -> bytes:
    """A piece of a content block, padded at random lengths against eavesdroppers as the service does."""
    return eventstream.event("contentBlockDelta", {"contentBlockIndex": index, "delta": change, "p": "abcdefgh"})


def usage(said: Said) -> dict[str, Any]:
    """Token counts, where they are told."""
    if said.usage is None:
        return {}
    given, made = said.usage
    counts = {"inputTokens": given, "outputTokens": made, "totalTokens": given + made}
    return {"usage": {**counts, "cacheReadInputTokens": 0, "cacheWriteInputTokens": 0}}


def request_id(said: Said) -> str:
    """The id by which Amazon finds a request again."""
    return f"00000000-0000-4000-8000-{said.number:012d}"


def error(status: int, kind: str, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error as Amazon's JSON services word it."""
    return Response(status, as_json({"message": text}), {"x-amzn-ErrorType": f"{kind}:{CORAL}", **(headers or {})})
