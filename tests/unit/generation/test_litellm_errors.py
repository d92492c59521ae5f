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
    ProviderError,
    QuotaError,
    RateLimitError,
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
        (refusal(403, {"error": {"type": "permission_error", "message": "no"}}), AuthError),
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
        (refusal(404, {"error": {"type": "not_found_error", "message": "model: claude-x"}}), ProviderError),
        (refusal(400, of_openai("filtered", code="content_filter")), ProviderError),
        (refusal(400, "[1, 2"), ProviderError),
    ],
)
def test_a_refusal_is_told_by_status_and_words(told: Refusal, expected: type[GenerationError]) -> None:
    assert kind_of(told) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Overloaded", CapacityError),
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
