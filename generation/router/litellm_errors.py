"""From what a server said to our errors: pure functions of status, headers and body, whatever LiteLLM made of it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

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
from generation.router.wire import Target

LONGEST_QUOTED = 300
# A rate limit is over within minutes: who asks for more has used up a quota. Seconds.
LONG_WAIT = 3_600.0
KEYS: Mapping[tuple[str, str], str] = {
    ("anthropic", "direct"): "ANTHROPIC_API_KEY",
    ("anthropic", "bedrock"): "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN), or AWS_PROFILE",
    ("openai", "direct"): "OPENAI_API_KEY",
    ("openai", "azure"): "AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT",
    ("gemini", "direct"): "GEMINI_API_KEY",
    ("gemini", "vertex"): "GOOGLE_APPLICATION_CREDENTIALS and GOOGLE_CLOUD_PROJECT",
    ("compatible", "any"): "OPENAI_BASE_URL and COMPATIBLE_ANY_API_KEY or OPENAI_API_KEY",
}
# Words of an error's type, code, reason or text. Gemini says "exceeded your current quota" of a limit per minute too,
# so those words decide nothing; its violations name the period.
_QUOTA = re.compile(
    r"insufficient_quota|billing_(hard_limit|not_active|error|disabled)|billing (account|to be enabled)"
    r"|credit balance is too low|(insufficient|prepayment) (credits|balance|funds)|payment required|spending cap"
    r"|servicequotaexceeded|call volume quota|api usage limits|(daily|monthly) (usage )?(limit|quota)|per[ _]?day"
)
_OVERFLOW = re.compile(
    r"context_length_exceeded|maximum context length|context (length|window|size|limit)|prompt is too long"
    r"|input is too long|too many (input|total) tokens|input token count.*exceeds|request_too_large|request too large"
    r"|exceeds the maximum number of tokens|input length and `max_tokens`"
)
# What is wrong with the key itself, its owner or the network: no model of the route can answer.
_KEY = re.compile(
    r"api_key_invalid|api key (not valid|expired)|invalid_api_key|unrecognizedclient|expiredtoken|invalidsignature"
    r"|incompletesignature|missingauthenticationtoken|security token|unauthenticated|authentication_error"
    r"|service_disabled|api_key_\w+_blocked|consumer_(invalid|suspended)|reported as leaked|unregistered callers"
    r"|missing scopes|unsupported_country|public access is disabled|virtual network"
)
# What may be wrong with one model alone, where the status does not say so.
_MODEL = re.compile(
    r"accessdenied|permission_denied|model_not_found|model identifier is invalid|on-demand throughput"
)
_FILTERED = re.compile(
    r"content_filter|content (management|filtering) policy|responsibleaipolicyviolation|content_policy_violation"
    r"|prohibited_content|flagged as potentially violating"
)
_THROTTLED = re.compile(r"throttl|rate_limit|rate limit|too many requests|resource_exhausted|\b429\b")
_BUSY = re.compile(
    r"overloaded|unavailable|server had an error|server_error|internal server error|internalserver|api_error"
    r"|try again later|modelnotready|modeltimeout|modelstreamerror|\b50[0-4]\b|\b529\b"
)
_BUSY_STATUS = frozenset({408, 424, 425})
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


@dataclass(frozen=True)
class Refusal:
    """An error as a server sent it; `body` is text, JSON where all is well."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""

    @property
    def parsed(self) -> Any:
        """The body as JSON; None where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    @property
    def text(self) -> str:
        """What the server says in words."""
        found = _first(self.parsed, ("message", "Message", "detail", "error_description", "error"))
        return found or re.sub(r"<[^>]*>|\s+", " ", self.body).strip()

    @property
    def words(self) -> str:
        """Everything by which an error can be told, in small letters: types, codes, reasons and the text."""
        names = self.headers.get("x-amzn-errortype", "")
        told = " ".join(str(value) for value in _values(self.parsed, _TELLING))
        return f"{names} {told} {self.text}".lower()


_TELLING = ("type", "code", "status", "reason", "quotaId", "quotaMetric", "__type")


def kind_of(refusal: Refusal) -> type[GenerationError]:
    """The class of error that a refusal is; quota before rate limit, since vendors send 429 for both.

    A 403 is held to be about the model unless its words are about the key: to be wrong costs one request more per
    model of the route, the other way round the models that the key may use would be lost.
    """
    status, words = refusal.status, refusal.words
    asked = _asked_wait(refusal.headers)
    if status == 402 or (400 <= status < 500 and (_QUOTA.search(words) or (asked or 0.0) >= LONG_WAIT)):
        return QuotaError
    if status in (400, 413, 422, 429) and _OVERFLOW.search(words):
        return ContextOverflowError
    if "modelnotready" in words:
        return CapacityError
    if status == 429 or (status < 500 and "throttl" in words):
        return RateLimitError
    if status in (400, 403, 422) and _FILTERED.search(words):
        return RefusedError
    if status == 401 or (status in (400, 403) and _KEY.search(words)):
        return AuthError
    if status in (403, 404, 410) or (status == 400 and _MODEL.search(words)):
        return ModelAccessError
    return CapacityError if status >= 500 or status in _BUSY_STATUS else ProviderError


def kind_midway(text: str) -> type[GenerationError]:
    """The class of an error that a server told after it had begun with status 200, from its words alone."""
    words = text.lower()
    if _QUOTA.search(words):
        return QuotaError
    if _OVERFLOW.search(words):
        return ContextOverflowError
    if _THROTTLED.search(words):
        return RateLimitError
    if _FILTERED.search(words):
        return RefusedError
    return CapacityError if _BUSY.search(words) else ProviderError


def retry_after(refusal: Refusal, now: float) -> float | None:
    """Seconds that a server asks to wait; None where it does not say.

    The first that is there: `retry-after-ms`, `retry-after` (seconds or a date), Google's `RetryInfo`, and the reset
    of those `x-ratelimit-*` or `anthropic-ratelimit-*` counters that stand at 0.

    Args:
        refusal: a 429.
        now: seconds since 1970.
    """
    headers = refusal.headers
    waits = (
        _asked_wait(headers),
        _until(headers.get("retry-after"), now),
        _duration(_first(refusal.parsed, ("retryDelay",))),
        max((reset for reset in _resets(headers, now) if reset < LONG_WAIT), default=None),
    )
    return next((wait for wait in waits if wait is not None), None)


def error_for(
    target: Target, kind: type[GenerationError], what: str, redact: Callable[[str], str], wait: float | None = None
) -> GenerationError:
    """An error whose message has the route, the model, what happened and what to do, and nothing secret.

    Args:
        target: where.
        kind: the class of error.
        what: what happened; may quote the server.
        redact: takes keys out of a text.
        wait: seconds to wait, for a rate limit.
    """
    told = redact(what).strip().rstrip(".")
    message = f"{target.name}, model {target.model}: {told}; {remedy(target, kind)}"
    return RateLimitError(message, wait) if kind is RateLimitError else kind(message)


def quoted(text: str, redact: Callable[[str], str]) -> str:
    """A server's words on one line, redacted before they are cut, so that no part of a key is left."""
    line = " ".join(redact(text).split())
    return line if len(line) <= LONGEST_QUOTED else f"{line[:LONGEST_QUOTED]}..."


def remedy(target: Target, kind: type[GenerationError]) -> str:
    """What the user can do, with the names of variables."""
    keys = KEYS.get((target.provider, target.route), "the key")
    limits = f"{target.provider}_{target.route}".upper()
    by_kind: Mapping[type[GenerationError], str] = {
        AuthError: f"check {keys}",
        ModelAccessError: f"check the model's name, the route's address, and that {keys} may use this model",
        QuotaError: f"raise the quota or pay at the provider of {keys}, or use another route",
        RateLimitError: f"wait, or lower {limits}_RPM, {limits}_INPUT_TPM and {limits}_OUTPUT_TPM",
        CapacityError: "try again later, or use another route",
        ContextOverflowError: "give it fewer or shorter passages, or use a model with a longer context",
        ProviderError: "try again, or use another model or route",
        RefusedError: "put the question or the passages differently, or use another model",
    }
    return by_kind[kind]


def _values(content: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """Plain values under these names, at any depth."""
    if isinstance(content, Mapping):
        for name, value in content.items():
            if name in names and isinstance(value, str | int | float):
                yield value
            else:
                yield from _values(value, names)
    elif isinstance(content, list):
        for value in content:
            yield from _values(value, names)


def _first(content: Any, names: tuple[str, ...]) -> str:
    """The first text under one of these names, in the order of the names."""
    for name in names:
        found = next((value for value in _values(content, (name,)) if isinstance(value, str) and value.strip()), "")
        if found:
            return found
    return ""


def _asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait where a server gives them as a number."""
    exact = _number(headers.get("retry-after-ms"), 1e-3)
    return _number(headers.get("retry-after")) if exact is None else exact


def _number(text: str | None, unit: float = 1.0) -> float | None:
    try:
        value = float(text or "") * unit
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until(text: str | None, now: float) -> float | None:
    """Seconds until a date as HTTP or RFC 3339 writes it; 0 if it has passed."""
    if not text:
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            at = read(text)
        except (ValueError, TypeError):
            continue
        return max(0.0, (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now)
    return None


def _duration(text: str | None) -> float | None:
    """Seconds of `6m0s`, `20ms`, `35.5s`."""
    if not text or not re.fullmatch(f"(?:{_DURATION.pattern})+", text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(text))


def _resets(headers: Mapping[str, str], now: float) -> Iterator[float]:
    """Seconds until each counter that stands at 0 starts anew."""
    for name, left in headers.items():
        if "ratelimit" not in name or _number(left) != 0:
            continue
        reset = None
        if name.startswith("x-ratelimit-remaining-"):
            value = headers.get(name.replace("-remaining-", "-reset-"))
            waits = (_duration(value), _number(value), _until(value, now))
            reset = next((wait for wait in waits if wait is not None), None)
        elif name.startswith("anthropic-ratelimit-") and name.endswith("-remaining"):
            reset = _until(headers.get(name.removesuffix("remaining") + "reset"), now)
        if reset is not None:
            yield reset
