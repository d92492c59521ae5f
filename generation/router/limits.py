"""A route's requests and tokens per minute, kept by waiting: no window of 60 seconds holds more than they allow."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from generation.errors import ContextOverflowError, RequestError
from generation.router.clock import Clock, check_cancelled, slice_of


@dataclass(frozen=True)
class Limits:
    """What a route allows within a minute; None is no limit.

    `rpm` requests, `input_tpm` and `output_tpm` tokens; every output token counts `output_weight` times.
    """

    rpm: int | None = None
    input_tpm: int | None = None
    output_tpm: int | None = None
    output_weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("rpm", "input_tpm", "output_tpm"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise RequestError(f"{name} is {value}: give at least 1, or none for no limit")
        if not (math.isfinite(self.output_weight) and self.output_weight > 0):
            raise RequestError(f"output_weight is {self.output_weight}: give a number above 0")


class LimitOverflowError(ContextOverflowError):
    """The request alone is larger than what its route allows within a minute: it would wait for ever."""


class Used(NamedTuple):
    """Requests and tokens within the present window."""

    requests: int
    input_tokens: int
    output_tokens: int


@dataclass(eq=False)
class Ticket:
    """A request that was let through: when, and the tokens that count for it (reserved, later settled)."""

    input_tokens: int
    output_tokens: int
    sent: float = 0.0
    requests: int = 1
    settled: bool = False
    left: bool = False


@dataclass(eq=False)
class _Waiter:
    """A place in the queue."""

    turn: threading.Condition = field(repr=False)


class Limiter:
    """Lets requests through, first come, first served, so that every window keeps the limits. For many threads.

    It is a log of what was sent, not a token bucket: a bucket that is full lets its capacity pass at once and then
    refills, which makes up to twice the limit within one window. A request counts at the time at which it is sent,
    with all the output that it may produce, until its true numbers are known; so nothing that is settled later can
    have made an earlier window too full. One that still runs after its window keeps its output reserved until it is
    settled, since that output is yet to be produced. A server that dates output by its end sees requests of unequal
    length closer together than they were sent; the reserve makes that rare, and a 429 is then honoured.

    Args:
        limits: what the route allows.
        clock: gives and waits the time.
        window: seconds over which the limits hold.
        margin: seconds that a request counts beyond the window, since some take longer to arrive than others: a
            process's first one has been measured to need a second to set up its client.
        name: the route, for messages.
    """

    def __init__(
        self, limits: Limits, clock: Clock, window: float = 60.0, margin: float = 1.0, name: str = "route"
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._length = window + margin
        self._name = name
        self._lock = threading.Lock()
        self._queue: deque[_Waiter] = deque()
        self._sent: deque[Ticket] = deque()
        self._requests = self._input = self._output = 0

    def acquire(
        self,
        input_tokens: int,
        output_tokens: int,
        cancelled: Callable[[], bool] | None = None,
        given_up: Callable[[], bool] | None = None,
    ) -> Ticket:
        """Wait until a request fits into every window that contains it; it counts from the return on.

        Args:
            input_tokens: as estimated.
            output_tokens: the most that it may produce.
            cancelled: asked while waiting, about ten times a second.
            given_up: asked when the wait begins and, by one after the other, when a request is settled or withdrawn.

        Raises:
            LimitOverflowError: it could never fit.
            CancelledError: cancelled or given up while it waited; nothing was counted.
        """
        self._check(input_tokens, output_tokens)
        ticket = Ticket(input_tokens, output_tokens)
        with self._lock:
            waiter = _Waiter(self._clock.condition(self._lock))
            self._queue.append(waiter)
            try:
                self._wait_turn(waiter, ticket, cancelled, given_up)
                self._count(ticket)
            finally:
                self._queue.remove(waiter)
                self._wake_first()
        return ticket

    def settle(self, ticket: Ticket, input_tokens: int, output_tokens: int) -> None:
        """Let the true numbers of a request count, at the time at which it was sent.

        More than was reserved makes later requests wait, less lets them go earlier.
        """
        with self._lock:
            self._drop_old(self._clock.now())
            self._set(ticket, ticket.requests, input_tokens, output_tokens)
            ticket.settled = True
            self._wake_first()

    def withdraw(self, ticket: Ticket) -> None:
        """Take a request back that was let through and never sent."""
        with self._lock:
            self._drop_old(self._clock.now())
            self._set(ticket, 0, 0, 0)
            ticket.settled = True
            self._wake_first()

    def used(self) -> Used:
        """What counts now."""
        with self._lock:
            self._drop_old(self._clock.now())
            return Used(self._requests, self._input, self._output)

    def _check(self, input_tokens: int, output_tokens: int) -> None:
        limits, weight = self.limits, self.limits.output_weight
        variable = self._name.upper().replace("/", "_")
        if limits.input_tpm is not None and input_tokens > limits.input_tpm:
            raise LimitOverflowError(
                f"{self._name}: the prompt has {input_tokens:,} tokens, the input limit is {limits.input_tpm:,} a "
                f"minute; shorten the context or raise {variable}_INPUT_TPM"
            )
        if limits.output_tpm is not None and output_tokens * weight > limits.output_tpm:
            counted = f", each counted {weight:g} times" if weight != 1 else ""
            raise LimitOverflowError(
                f"{self._name}: a reply of {output_tokens:,} tokens may come{counted}, the output limit is "
                f"{limits.output_tpm:,} a minute; ask for at most {math.floor(limits.output_tpm / weight):,} output "
                f"tokens or raise {variable}_OUTPUT_TPM"
            )

    def _wait_turn(
        self,
        waiter: _Waiter,
        ticket: Ticket,
        cancelled: Callable[[], bool] | None,
        given_up: Callable[[], bool] | None,
    ) -> None:
        while True:
            check_cancelled(cancelled)
            check_cancelled(given_up)
            first = self._queue[0] is waiter
            seconds = self._seconds_until_fit(ticket) if first else None
            if seconds == 0.0:
                return
            waiter.turn.wait(slice_of(seconds, cancelled))

    def _seconds_until_fit(self, ticket: Ticket) -> float | None:
        """Seconds until it fits; None where only the end of a running request can tell."""
        now = self._clock.now()
        self._drop_old(now)
        requests = self._requests + 1
        inputs, outputs = self._input + ticket.input_tokens, self._output + ticket.output_tokens
        if self._fits(requests, inputs, outputs):
            return 0.0
        for earlier in self._sent:
            requests -= earlier.requests
            inputs -= earlier.input_tokens
            outputs -= earlier.output_tokens if earlier.settled else 0
            if self._fits(requests, inputs, outputs):
                return earlier.sent + self._length - now
        return None

    def _fits(self, requests: int, inputs: int, outputs: int) -> bool:
        limits = self.limits
        return (
            (limits.rpm is None or requests <= limits.rpm)
            and (limits.input_tpm is None or inputs <= limits.input_tpm)
            and (limits.output_tpm is None or outputs * limits.output_weight <= limits.output_tpm)
        )

    def _count(self, ticket: Ticket) -> None:
        ticket.sent = self._clock.now()
        self._sent.append(ticket)
        self._requests += 1
        self._input += ticket.input_tokens
        self._output += ticket.output_tokens

    def _set(self, ticket: Ticket, requests: int, inputs: int, outputs: int) -> None:
        if not ticket.left:
            self._requests += requests - ticket.requests
            self._input += inputs - ticket.input_tokens
            self._output += outputs - ticket.output_tokens
        elif not ticket.settled:
            self._output -= ticket.output_tokens
        ticket.requests, ticket.input_tokens, ticket.output_tokens = requests, inputs, outputs

    def _drop_old(self, now: float) -> None:
        while self._sent and self._sent[0].sent + self._length <= now:
            ticket = self._sent.popleft()
            ticket.left = True
            self._requests -= ticket.requests
            self._input -= ticket.input_tokens
            self._output -= ticket.output_tokens if ticket.settled else 0

    def _wake_first(self) -> None:
        if self._queue:
            self._queue[0].turn.notify()
