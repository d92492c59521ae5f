"""What passes between the router and a client that speaks to servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Message:
    """One message; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True)
class Call:
    """What a model is asked. `timeout` in seconds for the whole reply; `temperature` None leaves it to the server."""

    messages: tuple[Message, ...]
    max_output_tokens: int = 1024
    temperature: float | None = 0.0
    timeout: float = 60.0


@dataclass(frozen=True)
class Target:
    """One model on one route, such as anthropic, direct, claude-sonnet-5.

    `settings`: what the client needs to get there by name, such as `base_url` or `location`. Keys are not in it: the
    client takes them from the environment when it asks.
    """

    provider: str
    route: str
    model: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`provider/route`."""
        return f"{self.provider}/{self.route}"


@dataclass(frozen=True)
class Reply:
    """A whole reply. `finish` is `stop`, `length` or the server's own word; `counted`: the server gave the tokens.

    `model` is the model that the server names, or the one that was asked for.
    """

    text: str
    input_tokens: int
    output_tokens: int
    finish: str = "stop"
    model: str = ""
    counted: bool = True


class Client(Protocol):
    """Speaks to servers. One request, no retry, no waiting: all of that is the router's."""

    def complete(
        self,
        target: Target,
        call: Call,
        on_text: Callable[[str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Reply:
        """Ask once.

        Args:
            target: where.
            call: what.
            on_text: is given every piece of text as it arrives; None asks without streaming.
            cancelled: asked between pieces and before sending.

        Raises:
            RateLimitError, QuotaError, CapacityError, AuthError, ContextOverflowError, ProviderError, CancelledError.
        """

    def count_tokens(self, target: Target, call: Call) -> int:
        """Input tokens of a call, by the model's tokenizer where it is known, else estimated and never too few."""

    def price(self, target: Target, input_tokens: int, output_tokens: int) -> float | None:
        """US dollars for so many tokens; None where no price is known."""
