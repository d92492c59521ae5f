"""Azure OpenAI: chat completions by deployment and API version, or by model under `/openai/v1`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.providers.behaviours import Failure
from tests.providers.exchange import Request, Response, Said, Stream, as_json, sse
from tests.providers.openai import Chat

API_VERSION = "2024-10-21"
DEPLOYMENT = re.compile(r"/openai/deployments/(?P<deployment>[^/]+)/chat/completions")
CATEGORIES = ("hate", "self_harm", "sexual", "violence")


@dataclass(frozen=True)
class Azure(Chat):
    """Azure OpenAI, with a key of the resource."""

    key: str

    def known(self, request: Request) -> bool:
        if request.path == "/openai/v1/chat/completions":
            return True
        return bool(DEPLOYMENT.fullmatch(request.path)) and "api-version" in request.query

    def model(self, request: Request) -> str:
        found = DEPLOYMENT.fullmatch(request.path)
        return found["deployment"] if found else super().model(request)

    def credential(self, request: Request) -> str:
        return request.headers.get("api-key") or super().credential(request)

    def denial(self, request: Request) -> Response | None:
        shown = self.credential(request)
        return None if shown == self.key else error(401, "401", WRONG_KEY)

    def other(self, request: Request) -> Response:
        return error(404, "404", "Resource not found")

    def no_model(self, request: Request) -> Response:
        text = "The API deployment for this resource does not exist. If you created the deployment within the last 5 "
        return error(404, "DeploymentNotFound", text + "minutes, please wait a moment and try again.")

    def failure(self, request: Request, failure: Failure) -> Response:
        match failure.kind:
            case "rate":
                of = "call rate" if failure.cause == "requests" else "token rate"
                wait = 60 if failure.retry_after is None else failure.retry_after
                text = RATE_LIMITED.format(of=of, version=request.query.get("api-version", "v1"), wait=wait)
                return error(429, "429", text, limits(failure))
            case "quota" if failure.cause == "period":
                text = RATE_LIMITED.format(
                    of="token rate", version=request.query.get("api-version", "v1"), wait=86400
                )
                return error(429, "429", text, {"retry-after": "86400"})
            case "quota" if failure.cause == "credit":
                return super().failure(request, failure)
            case "quota":
                return error(403, "403", "Out of call volume quota. Quota will be replenished in 2 days.")
            case "auth":
                return error(401, "401", WRONG_KEY)
            case "overloaded":
                return error(503, "503", "The service is temporarily unable to process your request.")
            case "server":
                return error(failure.code, "InternalServerError", "Internal server error.")
            case _:
                return super().failure(request, failure)

    def whole(self, request: Request, said: Said) -> Response:
        if said.finish == "filter" and not said.text:
            return blocked()
        return super().whole(request, said)

    def stream(self, request: Request, said: Said) -> Stream | Response:
        if said.finish == "filter" and not said.text:
            return blocked()
        return super().stream(request, said)

    def verdict(self, said: Said) -> dict[str, Any]:
        return {"content_filter_results": results(said.finish == "filter")}

    def preface(self, frame: Mapping[str, Any]) -> tuple[bytes, ...]:
        told = {"prompt_index": 0, "content_filter_results": results(False)}
        return (sse({**frame, "id": "", "model": "", "choices": [], "prompt_filter_results": [told]}),)

    def environment(self, url: str, folder: Path | None) -> dict[str, str]:
        return {
            "AZURE_OPENAI_API_KEY": self.key,
            "AZURE_OPENAI_ENDPOINT": url,
            "OPENAI_API_VERSION": API_VERSION,
        }

    def settings(self, url: str) -> dict[str, str]:
        return {"base_url": url, "api_version": API_VERSION}


WRONG_KEY = (
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
    "active subscription and use a correct regional API endpoint for your resource."
)
RATE_LIMITED = (
    "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version {version} have exceeded {of} "
    "limit of your current OpenAI S0 pricing tier. Please retry after {wait:g} seconds. Please go here: "
    "https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit."
)
FILTERED = (
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify "
    "your prompt and retry. To learn more about our content filtering policies please read our documentation: "
    "https://go.microsoft.com/fwlink/?linkid=2198766"
)


def error(status: int, code: str, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error as Azure's gateway words it."""
    return Response(status, as_json({"error": {"code": code, "message": text}}), headers or {})


def limits(failure: Failure) -> dict[str, str]:
    """Headers of a 429."""
    told = {f"x-ratelimit-remaining-{failure.cause}": "0"}
    if failure.retry_after is None:
        return told
    return {**told, "retry-after": f"{failure.retry_after:g}", "retry-after-ms": f"{failure.retry_after * 1e3:g}"}


def blocked() -> Response:
    """The error for a prompt that the content filter refused."""
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": results(True)}
    fault = {"message": FILTERED, "type": None, "param": "prompt", "code": "content_filter", "status": 400}
    return Response(400, as_json({"error": {**fault, "innererror": inner}}))


def results(filtered: bool) -> dict[str, Any]:
    """What the content filter found; `filtered`: violence."""
    safe = {name: {"filtered": False, "severity": "safe"} for name in CATEGORIES}
    return safe | ({"violence": {"filtered": True, "severity": "medium"}} if filtered else {})
