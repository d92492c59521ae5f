"""What is done after an error: the same route again after a pause, the next one, or nothing more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    RequestError,
)
from generation.router.clock import POLL

# What a caller can do most with comes first: wait, try later, shorten, choose another model, pay, set a key.
USEFUL: tuple[type[GenerationError], ...] = (
    RateLimitError,
    CapacityError,
    ContextOverflowError,
    ProviderError,
    QuotaError,
    AuthError,
)

BREAKAGE = (CapacityError, ProviderError)  # what a breaker counts as failure, but for RefusedError
REFUSED = (RateLimitError, QuotaError, AuthError, ContextOverflowError)  # the server did no work for it

REMEDIES: dict[type[GenerationError], str] = {
    RateLimitError: "wait, lower the route's limits, or configure another route",
    CapacityError: "try again later, or configure another route",
    ContextOverflowError: "shorten the context, or configure a model with a larger window",
    RefusedError: "put the question or the passages differently, or choose another model",
    ProviderError: "try again, or choose another model",
    QuotaError: "raise the quota or pay at the provider, or configure another route",
    ModelAccessError: "correct the model's name, get the right to it, or choose another model",
    AuthError: "set a valid key with the right to this model",
}


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long is waited.

    Args:
        attempts: at most so many requests for one call to one model of one route, after CapacityError.
        base: seconds; the pause before the n-th repetition is drawn from 0 to `base * 2**(n - 1)`.
        longest: seconds that such a pause never exceeds.
        rate_limit_wait: seconds that one call waits in all for routes that said 429.
        breaker_wait: seconds that one call waits in all for routes that are left alone after failures, where no other
            can answer; 0 fails at once, which suits somebody who sits there, not a run over night.
        unsaid: seconds to leave a route alone that said 429 without saying for how long.
        quota: seconds to leave a route alone whose quota is used up.
    """

    attempts: int = 2
    base: float = 0.5
    longest: float = 8.0
    rate_limit_wait: float = 60.0
    breaker_wait: float = 0.0
    unsaid: float = 10.0
    quota: float = 3600.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise RequestError(f"attempts is {self.attempts}: give at least 1")
        for name in ("base", "longest", "rate_limit_wait", "breaker_wait", "unsaid", "quota"):
            if not getattr(self, name) >= 0:
                raise RequestError(f"{name} is {getattr(self, name)}: give 0 or more seconds")

    def tries(self, error: GenerationError) -> int:
        """How many requests one model of one route gets where they end like this."""
        if isinstance(error, CapacityError):
            return self.attempts
        return 2 if isinstance(error, ProviderError) and not isinstance(error, RefusedError) else 1

    def backoff(self, repetition: int, rng: np.random.Generator) -> float:
        """Seconds before a repetition, from 1: exponential with full jitter.

        Source: M. Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015.
        """
        return float(rng.uniform(0.0, self._most(repetition)))

    def least(self, repetition: int) -> float:
        """Seconds to wait at least for a shut route: one that asks for no time at all is not asked for ever."""
        return max(POLL, self._most(repetition))

    def _most(self, repetition: int) -> float:
        return min(self.longest, self.base * 2.0 ** min(repetition - 1, 60))

    def patience(self, error: GenerationError) -> float:
        """Seconds that one call waits in all for a route that is shut for such an error."""
        return self.rate_limit_wait if isinstance(error, RateLimitError) else self.breaker_wait


def most_useful(errors: list[GenerationError]) -> GenerationError:
    """Of several errors the one with the nearest remedy; among 429 the one that ends first."""

    def place(error: GenerationError) -> tuple[int, float]:
        kind = next((rank for rank, kind in enumerate(USEFUL) if isinstance(error, kind)), len(USEFUL))
        seconds = error.retry_after if isinstance(error, RateLimitError) else None
        return kind, float("inf") if seconds is None else seconds

    return min(errors, key=place)
