"""What a server's refusal becomes; the bodies are those that the vendors document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from generation.errors import (
    AuthError,
    CapacityError,
    ContextOverflowError,
    GenerationError,
    ModelAccessError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RefusedError,
)
from generation.router.litellm_errors import Refusal, error_for, kind_midway, kind_of, quoted, retry_after
from generation.router.wire import Target

TARGET = Target("anthropic", "direct", "claude-x")
NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def refusal(status: int, body: Any = "", **headers: str) -> Refusal:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Refusal(status, named, body if isinstance(body, str) else json.dumps(body))


def of_openai(text: str, kind: str = "", code: str = "") -> dict[str, Any]:
    return {"error": {"message": text, "type": kind, "param": None, "code": code}}


def of_google(code: int, text: str, status: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": text, "status": status, "details": list(details)}}


def violation(quota: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]}


CURRENT_QUOTA = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (refusal(429, of_openai("Rate limit reached", "requests", "rate_limit_exceeded")), RateLimitError),
        (refusal(429, of_openai(CURRENT_QUOTA, "insufficient_quota", "insufficient_quota")), QuotaError),
        (refusal(429, of_openai("Limit reached on requests per day (RPD)", "requests")), QuotaError),
        (
            refusal(429, of_openai("Request too large for gpt-4o on tokens per min (TPM)", "tokens")),
            ContextOverflowError,
        ),
        (
            refusal(429, of_google(429, CURRENT_QUOTA, "RESOURCE_EXHAUSTED", violation("RequestsPerMinute"))),
            RateLimitError,
        ),
        (refusal(429, of_google(429, CURRENT_QUOTA, "RESOURCE_EXHAUSTED", violation("RequestsPerDay"))), QuotaError),
        (refusal(429, of_google(429, "Resource exhausted.", "RESOURCE_EXHAUSTED")), RateLimitError),
        (refusal(429, "slow down", retry_after="86400"), QuotaError),
        (refusal(402, {"error": {"message": "more money"}}), QuotaError),
        (
            refusal(400, {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}),
            QuotaError,
        ),
        (refusal(400, {"message": "x"}, x_amzn_errortype="ServiceQuotaExceededException:http://a"), QuotaError),
        (refusal(429, {"message": "Too many tokens per day, please wait"}), QuotaError),
        (refusal(400, {"message": "Too many requests"}, x_amzn_errortype="ThrottlingException"), RateLimitError),
        (refusal(429, {"message": "x"}, x_amzn_errortype="ModelNotReadyException"), CapacityError),
        (refusal(401, of_openai("Incorrect API key provided")), AuthError),
        (
            refusal(403, of_google(403, "This API method requires billing to be enabled.", "PERMISSION_DENIED")),
            QuotaError,
        ),
        (
            refusal(400, of_google(400, "API key not valid.", "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"})),
            AuthError,
        ),
        (refusal(400, {"message": "x"}, x_amzn_errortype="ExpiredTokenException"), AuthError),
        (
            refusal(400, of_openai("This model's maximum context length is 8", code="context_length_exceeded")),
            ContextOverflowError,
        ),
        (refusal(400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}), ContextOverflowError),
        (refusal(400, {"message": "Input is too long for requested model."}), ContextOverflowError),
        (
            refusal(413, {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
            ContextOverflowError,
        ),
        (refusal(500, "<html><body>Bad <b>Gateway</b></body></html>"), CapacityError),
        (refusal(529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}), CapacityError),
        (refusal(500, {"error": {"message": "no more than 5 per day here"}}), CapacityError),
        (refusal(408), CapacityError),
        (refusal(400, "[1, 2"), ProviderError),
    ],
)
def test_a_refusal_is_told_by_status_and_words(told: Refusal, expected: type[GenerationError]) -> None:
    assert kind_of(told) is expected


NOT_YOURS = "You don't have access to the model with the specified model ID."
NOT_SIGNED = "The security token included in the request is invalid."
NO_PROFILE = "Invocation of model ID anthropic.claude-x with on-demand throughput isn\u2019t supported."
NOT_ENABLED = "Generative Language API has not been used in project 1 before or it is disabled."
NO_RIGHT = "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p/m'"
NO_DEPLOYMENT = "The API deployment for this resource does not exist."
NO_COUNTRY = of_openai("Country, region, or territory not supported", code="unsupported_country_region_territory")
NO_SCOPE = "You have insufficient permissions for this operation. Missing scopes: model.request."


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (refusal(401, {"error": {"type": "authentication_error", "message": "invalid x-api-key"}}), AuthError),
        (refusal(403, {"error": {"type": "permission_error", "message": "no"}}), ModelAccessError),
        (refusal(404, {"error": {"type": "not_found_error", "message": "model: claude-x"}}), ModelAccessError),
        (refusal(403, {"message": NOT_YOURS}, x_amzn_errortype="AccessDeniedException"), ModelAccessError),
        (refusal(403, {"message": NOT_SIGNED}, x_amzn_errortype="UnrecognizedClientException"), AuthError),
        (refusal(403, {"message": "x"}, x_amzn_errortype="InvalidSignatureException"), AuthError),
        (refusal(403, {"message": "x"}, x_amzn_errortype="ExpiredTokenException"), AuthError),
        (refusal(404, {"message": "x"}, x_amzn_errortype="ResourceNotFoundException"), ModelAccessError),
        (refusal(400, {"message": "The provided model identifier is invalid."}), ModelAccessError),
        (refusal(400, {"message": NO_PROFILE}, x_amzn_errortype="ValidationException"), ModelAccessError),
        (refusal(401, of_openai("Incorrect API key provided", code="invalid_api_key")), AuthError),
        (refusal(401, of_openai(NO_SCOPE)), AuthError),
        (refusal(403, of_openai(NO_SCOPE)), AuthError),
        (refusal(403, NO_COUNTRY), AuthError),
        (
            refusal(403, of_openai("Project `p` does not have access to model `m`", code="model_not_found")),
            ModelAccessError,
        ),
        (refusal(404, of_openai("The model `m` does not exist", code="model_not_found")), ModelAccessError),
        (refusal(404, {"error": {"code": "DeploymentNotFound", "message": NO_DEPLOYMENT}}), ModelAccessError),
        (
            refusal(
                403, {"error": {"code": "403", "message": "Public access is disabled. Please configure private"}}
            ),
            AuthError,
        ),
        (refusal(404, of_google(404, "models/m is not found for API version v1beta", "NOT_FOUND")), ModelAccessError),
        (
            refusal(403, of_google(403, NOT_ENABLED, "PERMISSION_DENIED", {"reason": "SERVICE_DISABLED"})),
            AuthError,
        ),
        (
            refusal(403, of_google(403, "Your API key was reported as leaked.", "PERMISSION_DENIED")),
            AuthError,
        ),
        (refusal(401, of_google(401, "Request had invalid credentials.", "UNAUTHENTICATED")), AuthError),
        (
            refusal(403, of_google(403, NO_RIGHT, "PERMISSION_DENIED", {"reason": "IAM_PERMISSION_DENIED"})),
            ModelAccessError,
        ),
        (refusal(404, {"error": "model 'llama9' not found"}), ModelAccessError),
        (refusal(404, "404 page not found"), ModelAccessError),
    ],
)
def test_a_refused_key_is_told_apart_from_a_refused_model(told: Refusal, expected: type[GenerationError]) -> None:
    assert kind_of(told) is expected


@pytest.mark.parametrize(
    "told",
    [
        refusal(400, of_openai("The response was filtered due to the prompt", code="content_filter")),
        refusal(400, {"error": {"message": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
        refusal(
            400, of_openai("Invalid prompt: flagged as potentially violating our usage policy", "", "invalid_prompt")
        ),
        refusal(400, {"error": {"message": "Output blocked by content filtering policy"}}),
    ],
)
def test_a_filtered_prompt_is_a_refusal(told: Refusal) -> None:
    assert kind_of(told) is RefusedError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Overloaded", CapacityError),
        ("Output blocked by content filtering policy", RefusedError),
        ('serviceUnavailableException {"message":"x"}', CapacityError),
        ("throttlingException Too many requests", RateLimitError),
        ("Your credit balance is too low", QuotaError),
        ("prompt is too long: 9 tokens > 8 maximum", ContextOverflowError),
        ("Expecting value: line 1 column 5", ProviderError),
    ],
)
def test_an_error_within_a_stream_is_told_by_its_words(text: str, expected: type[GenerationError]) -> None:
    assert kind_midway(text) is expected


DELAY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "35.5s"}


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        (refusal(429, "", retry_after="3"), 3.0),
        (refusal(429, "", retry_after="3", retry_after_ms="2500"), 2.5),
        (refusal(429, "", retry_after="Fri, 15 Jan 2027 08:00:30 GMT"), 30.0),
        (refusal(429, "", retry_after="Fri, 15 Jan 2027 07:00:00 GMT"), 0.0),
        (refusal(429, of_google(429, "x", "RESOURCE_EXHAUSTED", DELAY)), 35.5),
        (refusal(429, "", x_ratelimit_remaining_requests="0", x_ratelimit_reset_requests="6m0s"), 360.0),
        (refusal(429, "", x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="20ms"), 0.02),
        (refusal(429, "", x_ratelimit_remaining_tokens="5", x_ratelimit_reset_tokens="20ms"), None),
        (
            refusal(
                429,
                "",
                x_ratelimit_remaining_requests="0",
                x_ratelimit_reset_requests="1s",
                x_ratelimit_remaining_tokens="0",
                x_ratelimit_reset_tokens="4s",
            ),
            4.0,
        ),
        (
            refusal(
                429,
                "",
                anthropic_ratelimit_requests_remaining="0",
                anthropic_ratelimit_requests_reset="2027-01-15T08:00:12Z",
            ),
            12.0,
        ),
        (
            refusal(
                429,
                "",
                anthropic_ratelimit_requests_remaining="0",
                anthropic_ratelimit_requests_reset="2030-01-01T00:00:00Z",
            ),
            None,
        ),
        (refusal(429, "", retry_after="-5"), None),
        (refusal(429, "", retry_after="nan"), None),
        (refusal(429, "", retry_after="soon"), None),
        (refusal(429), None),
    ],
)
def test_the_server_says_how_long_to_wait(told: Refusal, seconds: float | None) -> None:
    assert retry_after(told, NOW) == (None if seconds is None else pytest.approx(seconds))


def test_a_message_has_route_model_reason_and_remedy() -> None:
    error = error_for(TARGET, AuthError, "status 401: invalid x-api-key.", str)
    assert str(error) == "anthropic/direct, model claude-x: status 401: invalid x-api-key; check ANTHROPIC_API_KEY"
    no_right = error_for(TARGET, ModelAccessError, "status 404: model: claude-x", str)
    assert str(no_right).endswith(
        "check the model's name, the route's address, and that ANTHROPIC_API_KEY may use this model"
    )
    limited = error_for(TARGET, RateLimitError, "status 429", str, 3.0)
    assert isinstance(limited, RateLimitError)
    assert limited.retry_after == 3.0
    assert "ANTHROPIC_DIRECT_RPM" in str(limited)


def test_a_key_is_taken_out_before_a_text_is_cut() -> None:
    key = "k" * 40
    told = quoted("x" * 280 + key, lambda text: text.replace(key, "[key]"))
    assert told == "x" * 280 + "[key]"


def test_markup_is_no_message() -> None:
    assert refusal(502, "<html>\n<h1>Bad  Gateway</h1>").text == "Bad Gateway"
