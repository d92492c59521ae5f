"""Google's `generateContent`: the Gemini API with a key, and Vertex AI with a token from a service account."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.providers.behaviours import Failure, tokens_of
from tests.providers.exchange import Asked, Request, Response, Said, Stream, as_json, sse, texts_of
from tests.providers.google_tokens import TokenServer

FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY"}
STATUS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
TYPES = "type.googleapis.com/google.rpc."
PROJECT, LOCATION = "planted-project", "us-central1"


class Generate:
    """What both have in common; how they differ is in the classes below."""

    path: re.Pattern[str]
    service: str

    def read(self, request: Request) -> tuple[str, Asked | None]:
        found = self.path.fullmatch(request.path)
        if request.method != "POST" or not found:
            return "unknown", None
        body = request.json if isinstance(request.json, dict) else {}
        system = texts_of((body.get("systemInstruction") or body.get("system_instruction") or {}).get("parts"))
        spoken = body.get("contents")
        turns = [(turn.get("role", "user"), texts_of(turn.get("parts"))) for turn in spoken or () if spoken]
        stream = found["verb"].startswith("stream")
        return "model", Asked(found["model"], stream, tuple([("system", system), *turns] if system else turns))

    def refusal(self, request: Request) -> Response | None:
        return self.denial(request) or self.fault(request)

    def fault(self, request: Request) -> Response | None:
        """The error for a body that the API does not take."""
        if not isinstance(request.json, dict):
            return error(400, "Invalid JSON payload received. Unexpected end of string.")
        if not request.json.get("contents"):
            return error(400, "* GenerateContentRequest.contents: contents is not specified\n")
        roles = {turn.get("role", "user") for turn in request.json["contents"]}
        return None if roles <= {"user", "model"} else error(400, "Please use a valid role: user, model.")

    def denial(self, request: Request) -> Response | None:
        raise NotImplementedError

    def other(self, request: Request) -> Response:
        return error(404, f"Method not found: {request.method} {request.path}")

    def no_model(self, request: Request) -> Response:
        text = f"models/{request.model} is not found for API version v1beta, or is not supported for generateContent."
        return error(404, text)

    def failure(self, request: Request, failure: Failure) -> Response:
        match failure.kind:
            case "rate":
                return self.rate(request, failure)
            case "quota":
                return self.quota(request, failure)
            case "overloaded":
                return error(503, "The model is overloaded. Please try again later.")
            case "auth":
                return self.no_right(request)
            case "overflow":
                text = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
                return error(400, text)
            case "echo":
                return error(failure.code, f"upstream refused the key {self.credential(request)}")
            case _:
                return error(failure.code, "An internal error has occurred. Please retry.")

    def rate(self, request: Request, failure: Failure) -> Response:
        raise NotImplementedError

    def quota(self, request: Request, failure: Failure) -> Response:
        raise NotImplementedError

    def no_right(self, request: Request) -> Response:
        raise NotImplementedError

    def credential(self, request: Request) -> str:
        raise NotImplementedError

    def whole(self, request: Request, said: Said) -> Response:
        parts = [{"text": said.thoughts, "thought": True}] if said.thoughts else []
        parts += [{"text": said.text}] if said.text else []
        return Response(200, as_json(chunk(request, said, parts, FINISH[said.finish], told=True)))

    def stream(self, request: Request, said: Said) -> Stream:
        """Events with `alt=sse`, else one JSON array in parts, as the API has it."""
        events = [chunk(request, said, [{"text": said.thoughts, "thought": True}])] if said.thoughts else []
        texts = [chunk(request, said, [{"text": piece}]) for piece in said.pieces]
        last = chunk(request, said, [{"text": ""}], FINISH[said.finish], told=True)
        if request.query.get("alt") == "sse":
            head, middle = (tuple(sse(each, end="\r\n") for each in group) for group in (events, texts))
            return Stream(head, middle, (sse(last, end="\r\n"),), "text/event-stream")
        head = (b"[", *(as_json(each) + b",\r\n" for each in events))
        middle = tuple(as_json(each) + b",\r\n" for each in texts)
        return Stream(head, middle, (as_json(last), b"]"), "application/json")

    def broken(self, request: Request) -> bytes:
        return b'data: {"candidates": [{"content": {"parts": [{"text":\r\n\r\n'

    def midway(self, request: Request) -> bytes:
        fault = {"code": 503, "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}
        return sse({"error": fault}, end="\r\n")


@dataclass(frozen=True)
class Gemini(Generate):
    """The Gemini API, with a key in the header or in the query."""

    key: str

    path = re.compile(r"/v1(beta)?/models/(?P<model>[^/:]+):(?P<verb>generateContent|streamGenerateContent)")
    service = "generativelanguage.googleapis.com"

    def credential(self, request: Request) -> str:
        return request.headers.get("x-goog-api-key") or request.query.get("key", "")

    def denial(self, request: Request) -> Response | None:
        shown = self.credential(request)
        if not shown:
            return error(403, NO_KEY)
        if shown != self.key:
            return error(400, WRONG_KEY, [error_info("API_KEY_INVALID", self.service)])
        return None

    def no_right(self, request: Request) -> Response:
        return error(400, WRONG_KEY, [error_info("API_KEY_INVALID", self.service)])

    def rate(self, request: Request, failure: Failure) -> Response:
        details = [violation(request, self.service, *PER_MINUTE[failure.cause]), HELP]
        told = ""
        if failure.retry_after is not None:
            told = f"\nPlease retry in {failure.retry_after:g}s."
            details.append({"@type": f"{TYPES}RetryInfo", "retryDelay": f"{failure.retry_after:g}s"})
        return error(429, EXCEEDED + told, details)

    def quota(self, request: Request, failure: Failure) -> Response:
        match failure.cause:
            case "credit":
                return error(429, NO_CREDIT)
            case "limit":
                return error(429, SPENDING_CAP)
        # the answer to a used-up day names a delay too, which is of no use
        delay = {"@type": f"{TYPES}RetryInfo", "retryDelay": "34s"}
        return error(429, EXCEEDED, [violation(request, self.service, *PER_DAY), HELP, delay])

    def environment(self, url: str, folder: Path | None) -> dict[str, str]:
        return {"GEMINI_API_KEY": self.key, "GEMINI_DIRECT_BASE_URL": f"{url}/v1beta"}

    def settings(self, url: str) -> dict[str, str]:
        return {"base_url": f"{url}/v1beta"}

    def secrets(self) -> tuple[str, ...]:
        return (self.key,)


@dataclass(frozen=True)
class Vertex(Generate):
    """Vertex AI, with a token that the token server gave for a service account's signed assertion."""

    tokens: TokenServer
    project: str = PROJECT
    location: str = LOCATION

    path = re.compile(
        r"/v1(beta1)?/projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/publishers/google/models/"
        r"(?P<model>[^/:]+):(?P<verb>generateContent|streamGenerateContent)"
    )
    service = "aiplatform.googleapis.com"

    def read(self, request: Request) -> tuple[str, Asked | None]:
        if (request.method, request.path) == ("POST", "/token"):
            return "token", None
        return super().read(request)

    def other(self, request: Request) -> Response:
        return self.tokens.answer(request) if request.kind == "token" else super().other(request)

    def credential(self, request: Request) -> str:
        return request.headers.get("authorization", "").removeprefix("Bearer ")

    def denial(self, request: Request) -> Response | None:
        shown = self.credential(request)
        if not shown:
            return error(401, NO_TOKEN, [error_info("CREDENTIALS_MISSING", self.service)])
        if shown not in self.tokens.given:
            return error(401, WRONG_TOKEN, [error_info("ACCESS_TOKEN_TYPE_UNSUPPORTED", self.service)])
        found = self.path.fullmatch(request.path)
        return None if found and found["project"] == self.project else self.no_right(request)

    def no_right(self, request: Request) -> Response:
        resource = request.path.partition("/projects/")[2].rpartition(":")[0]
        text = f"Permission 'aiplatform.endpoints.predict' denied on resource '//{self.service}/projects/{resource}' "
        text += "(or it may not exist)."
        return error(403, text, [error_info("IAM_PERMISSION_DENIED", self.service)])

    def rate(self, request: Request, failure: Failure) -> Response:
        told = {} if failure.retry_after is None else {"retry-after": f"{failure.retry_after:g}"}
        if failure.cause == "requests":
            return error(429, EXHAUSTED, headers=told)
        text = PER_MINUTE_VERTEX.format(
            service=self.service, model=request.model
        )  # a rate limit, by the word a quota
        return error(429, text, headers=told)

    def quota(self, request: Request, failure: Failure) -> Response:
        if failure.cause == "period":
            metric = f"{self.service}/generate_content_requests_per_day_per_project_per_base_model"
            return error(429, f"Quota exceeded for {metric} with base model: {request.model}.")
        text = f"This API method requires billing to be enabled. Please enable billing on project #{self.project}."
        return error(403, text, [error_info("BILLING_DISABLED", self.service)])

    def environment(self, url: str, folder: Path | None) -> dict[str, str]:
        if folder is None:
            raise ValueError("Vertex's key is a file: environment(folder) needs a folder for it")
        return {
            "GOOGLE_CLOUD_PROJECT": self.project,
            "GOOGLE_CLOUD_LOCATION": self.location,
            "GOOGLE_APPLICATION_CREDENTIALS": str(self.tokens.write_credentials(folder)),
            "GEMINI_VERTEX_BASE_URL": url,
        }

    def settings(self, url: str) -> dict[str, str]:
        return {"base_url": url, "project": self.project, "location": self.location}

    def secrets(self) -> tuple[str, ...]:
        return self.tokens.secrets()


NO_KEY = (
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other "
    "form of API consumer identity to call this API."
)
WRONG_KEY = "API key not valid. Please pass a valid API key."
NO_TOKEN = (
    "API keys are not supported by this API. Expected OAuth2 access token or other authentication credentials that "
    "assert a principal. See https://cloud.google.com/docs/authentication"
)
WRONG_TOKEN = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
EXCEEDED = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this "
    "error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."
)
EXHAUSTED = (
    "Resource exhausted. Please try again later. Please refer to "
    "https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details."
)
PER_MINUTE_VERTEX = (
    "Quota exceeded for {service}/generate_content_requests_per_minute_per_project_per_base_model with base model: "
    "{model}. Please submit a quota increase request. https://cloud.google.com/vertex-ai/docs/generative-ai/quotas-genai."
)
NO_CREDIT = (
    "Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your "
    "project and billing."
)
SPENDING_CAP = (
    "Your project has exceeded its monthly spending cap. Please go to AI Studio at https://ai.studio/spend to manage "
    "your project spend cap."
)
HELP = {
    "@type": f"{TYPES}Help",
    "links": [
        {
            "description": "Learn more about Gemini API quotas",
            "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
        }
    ],
}
PER_MINUTE = {
    "requests": ("generate_content_free_tier_requests", "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "15"),
    "tokens": (
        "generate_content_free_tier_input_token_count",
        "GenerateContentInputTokensPerModelPerMinute-FreeTier",
        "15000",
    ),
}
PER_DAY = ("generate_content_free_tier_requests", "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "200")


def error(
    status: int, text: str, details: Sequence[Mapping[str, Any]] = (), headers: Mapping[str, str] | None = None
) -> Response:
    """An error as Google's APIs word it."""
    fault = {"code": status, "message": text, "status": STATUS.get(status, "UNKNOWN")}
    body = {"error": fault | ({"details": list(details)} if details else {})}
    return Response(status, as_json(body), headers or {}, "application/json; charset=UTF-8")


def error_info(reason: str, service: str) -> dict[str, Any]:
    """The machine-readable reason of an error."""
    return {
        "@type": f"{TYPES}ErrorInfo",
        "reason": reason,
        "domain": "googleapis.com",
        "metadata": {"service": service},
    }


def violation(request: Request, service: str, metric: str, quota: str, value: str) -> dict[str, Any]:
    """Which quota was exceeded."""
    named = {
        "quotaMetric": f"{service}/{metric}",
        "quotaId": quota,
        "quotaDimensions": {"location": "global", "model": request.model},
        "quotaValue": value,
    }
    return {"@type": f"{TYPES}QuotaFailure", "violations": [named]}


def chunk(
    request: Request, said: Said, parts: Sequence[Mapping[str, Any]], finish: str = "", told: bool = False
) -> dict[str, Any]:
    """One response object; a blocked prompt has no candidates."""
    body: dict[str, Any] = {"modelVersion": request.model, "responseId": f"response{said.number:015d}"}
    if said.finish == "filter" and not said.text:
        body["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
    else:
        candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
        body["candidates"] = [candidate | ({"finishReason": finish} if finish else {})]
    if told and said.usage:
        body["usageMetadata"] = usage(said)
    return body


def usage(said: Said) -> dict[str, Any]:
    """Token counts as the API gives them; thoughts are counted apart from the candidate."""
    given, made = said.usage or (0, 0)
    thought = min(made, tokens_of(said.thoughts))
    counts = {"promptTokenCount": given, "candidatesTokenCount": made - thought, "totalTokenCount": given + made}
    details = {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": given}]}
    return counts | details | ({"thoughtsTokenCount": thought} if thought else {})
