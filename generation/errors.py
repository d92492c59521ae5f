"""What can go wrong while an answer is made: one base class, one class per remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generation.router.routed import Attempt


class GenerationError(Exception):
    """Base of all errors of this package.

    `attempts`: what a router asked before it gave up, with what that cost; empty where nothing was asked.
    """

    attempts: tuple[Attempt, ...] = ()


class RequestError(GenerationError):
    """The request is wrong before anything was asked, such as an unknown provider; the message has the remedy."""


class RateLimitError(GenerationError):
    """The server said 429: too many requests or tokens for now.

    `retry_after`: seconds that the server asked to wait; None where it did not say.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class QuotaError(GenerationError):
    """A quota or credit is used up: waiting a minute does not help, another route or a payment does."""


class CapacityError(GenerationError):
    """The server is overloaded, failed (5xx), or did not answer in time."""


class AuthError(GenerationError):
    """The key is missing, wrong, or without a right; trying again cannot help."""


class ModelAccessError(AuthError):
    """The route has no such model, or the key no right to it; the route's other models may answer."""


class ContextOverflowError(GenerationError):
    """The prompt is longer than the model takes."""


class ProviderError(GenerationError):
    """The server answered, but not with an answer: broken JSON, a stream that ended too early, a refused request."""


class RefusedError(ProviderError):
    """The server's content filter stopped the request or the reply: the same model would do so again."""


class NoEvidenceError(GenerationError):
    """There is nothing to answer from: no passage was retrieved or given."""


class SpendingCapError(GenerationError):
    """The request would pass a spending cap that the user has set; nothing was sent."""


class CancelledError(GenerationError):
    """The caller cancelled; what had arrived was thrown away."""
