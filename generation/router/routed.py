"""What became of a call: the reply with all attempts, or one error that lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generation.errors import AuthError, ContextOverflowError, GenerationError, RateLimitError
from generation.router.limits import LimitOverflowError
from generation.router.retry import REMEDIES, most_useful
from generation.router.wire import Reply, Target

ANSWERED, FAILED, SKIPPED, CACHED = "answered", "failed", "skipped", "cached"


@dataclass(frozen=True)
class Attempt:
    """One model of one route, asked or passed over.

    `outcome` is `answered`, `failed`, `skipped` or `cached`; `error` the name of the error's class; `waited` seconds
    for limits and caps, `seconds` of the request itself. Tokens and `cost` (US dollars, None where no price is known)
    as they count for limits and caps: a request that broke off at the most that it may have used.
    """

    target: Target
    outcome: str
    error: str = ""
    waited: float = 0.0
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0


@dataclass(frozen=True)
class Routed:
    """A whole reply and how it came about.

    `seconds` from the call to the reply, waits and failed attempts included; `cost` of the reply in US dollars, None
    where no price is known, 0 where it was cached.
    """

    reply: Reply
    target: Target
    attempts: tuple[Attempt, ...]
    cached: bool
    seconds: float
    cost: float | None


@dataclass(frozen=True)
class Loss:
    """Why one model of one route gave no reply to this call; `passing` where waiting may change that."""

    target: Target
    error: GenerationError
    passing: bool = False


def failure(losses: Sequence[Loss], missing: Sequence[str]) -> GenerationError:
    """The most useful error of those that happened, with a message that lists each route, its reason and its remedy.

    Args:
        losses: in the order of the chain.
        missing: routes that are not configured, and what to set.
    """
    if not losses:
        listed = "".join(f"\n- {line}" for line in missing)
        return AuthError(f"no route to a language model is configured{listed or '; the chain of routes is empty'}")
    best = most_useful([loss.error for loss in losses])
    lines = [
        f"- {loss.target.name}, {loss.target.model}: {type(loss.error).__name__}: {loss.error}. "
        f"Remedy: {_remedy(loss.error)}"
        for loss in losses
    ]
    message = "\n".join(["no route gave a reply:", *lines, *(f"- {line}" for line in missing)])
    if isinstance(best, RateLimitError):
        return RateLimitError(message, best.retry_after)
    return _public(best)(message)


def _public(error: GenerationError) -> type[GenerationError]:
    """The class of an error that callers know, for a class of the router's own."""
    return ContextOverflowError if isinstance(error, LimitOverflowError) else type(error)


def _remedy(error: GenerationError) -> str:
    if isinstance(error, RateLimitError) and error.retry_after is not None:
        return f"wait {error.retry_after:.1f} s, or configure another route"
    if isinstance(error, LimitOverflowError):
        return "as said, or configure another route"
    kinds = [kind for kind in REMEDIES if isinstance(error, kind)]
    return REMEDIES[kinds[0]] if kinds else "see the message"
