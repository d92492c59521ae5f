"""One request to one model of one route: reserved before, settled after, whatever becomes of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

from generation.errors import CancelledError, GenerationError
from generation.router.breaker import Admission
from generation.router.clock import Clock, check_cancelled
from generation.router.lanes import Lane
from generation.router.limits import Ticket
from generation.router.retry import REFUSED, RetryPolicy
from generation.router.spending import Hold, Spending
from generation.router.wire import Call, Client, Message, Reply, Target

_LOG = logging.getLogger("rankproof.router")


class RouteShutError(GenerationError):
    """The route was closed to new requests while this one waited; nothing was sent."""


@runtime_checkable
class Bounded(Protocol):
    """A client some of whose models produce more than a call asks for, such as thoughts before the answer."""

    def most_output(self, target: Target, call: Call) -> int:
        """The most output tokens that the request may produce."""


@runtime_checkable
class Tokenizing(Protocol):
    """A client that has tokenizers of some models."""

    def tokens_of(self, target: Target, text: str) -> int | None:
        """Tokens of a text by a model's own tokenizer; None where that is not at hand."""


@dataclass
class Stream:
    """Where pieces of text go; `sent` once a piece of an attempt has gone there.

    A consumer that cannot start anew (`on_restart` None) is never given a second beginning.
    """

    on_text: Callable[[str], None] | None = None
    on_restart: Callable[[str], None] | None = None
    sent: bool = False

    @property
    def spoiled(self) -> bool:
        """Whether pieces went out that cannot be called back."""
        return self.sent and self.on_restart is None

    def piece(self, text: str) -> None:
        """Hand a piece on."""
        if self.on_text is not None:
            self.sent = self.sent or bool(text)
            self.on_text(text)

    def restart(self, reason: str) -> None:
        """Have what was sent thrown away, if anything was."""
        if self.sent and self.on_restart is not None:
            self.on_restart(reason)
        self.sent = False


@dataclass
class Sending:
    """One attempt: what is known about it so far, seconds and tokens as in `Attempt`, cost in US dollars."""

    target: Target
    waited: float = 0.0
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0


@dataclass(frozen=True)
class _Booking:
    """The places that a request has taken."""

    ticket: Ticket
    hold: Hold
    admission: Admission
    inputs: int
    outputs: int


@dataclass(frozen=True)
class Sender:
    """Sends requests by a client within a lane's limits and the spending caps."""

    client: Client
    clock: Clock
    spending: Spending
    policy: RetryPolicy

    def send(
        self,
        lane: Lane,
        sending: Sending,
        call: Call,
        stream: Stream,
        cancelled: Callable[[], bool] | None = None,
        check: Callable[[Reply], None] | None = None,
    ) -> Reply:
        """Wait for a place, ask once, and settle; `sending` is filled in also where this raises.

        Raises:
            RouteShutError: the route was shut meanwhile.
            SpendingCapError, LimitOverflowError: nothing was sent.
            GenerationError: what the client or `check` raised.
        """
        begin = self.clock.now()
        try:
            booking = self._book(lane, sending.target, call, cancelled)
        finally:
            sending.waited = self.clock.now() - begin
        begin = self.clock.now()
        try:
            on_text = stream.piece if stream.on_text is not None else None
            raw = self.client.complete(sending.target, call, on_text, cancelled)
            reply = self._checked(sending.target, raw, booking.inputs)
        except BaseException as error:
            refused = isinstance(error, REFUSED)
            self._let_count(lane, booking, error)  # before settling, which wakes those that wait to look at the lane
            self._settle(lane, booking, sending, booking.inputs, 0 if refused else booking.outputs, refused)
            raise
        finally:
            sending.seconds = self.clock.now() - begin
        try:
            self._accept(lane, booking, reply, check)
        finally:
            self._settle(lane, booking, sending, reply.input_tokens, reply.output_tokens)
        return reply

    def _book(self, lane: Lane, target: Target, call: Call, cancelled: Callable[[], bool] | None) -> _Booking:
        """Take a place in the spending, in the limits and at the breaker, or none at all."""
        inputs, outputs = self.client.count_tokens(target, call), self._most_output(target, call)
        hold = self.spending.reserve(target, self.client.price(target, inputs, outputs), cancelled)
        ticket = None
        try:
            ticket = lane.limiter.acquire(inputs, outputs, cancelled, partial(lane.shut, target.model))
            check_cancelled(cancelled)
            admission = lane.admit(target.model)
            if admission is None:
                raise RouteShutError(lane.name)
        except BaseException as error:
            if ticket is not None:
                lane.limiter.withdraw(ticket)
            self.spending.release(hold)
            if isinstance(error, CancelledError) and not (cancelled is not None and cancelled()):
                raise RouteShutError(lane.name) from error
            raise
        return _Booking(ticket, hold, admission, inputs, outputs)

    def _most_output(self, target: Target, call: Call) -> int:
        if isinstance(self.client, Bounded):
            return self.client.most_output(target, call)
        return call.max_output_tokens

    def _settle(
        self, lane: Lane, booking: _Booking, sending: Sending, inputs: int, outputs: int, free: bool = False
    ) -> None:
        """Let the true numbers count; a request that was refused is `free`.

        One that broke off counts in full: the server may have done, and may charge, all of its work.
        """
        cost = 0.0 if free else self.client.price(sending.target, inputs, outputs)
        sending.input_tokens, sending.output_tokens, sending.cost = inputs, outputs, cost
        lane.limiter.settle(booking.ticket, inputs, outputs)
        lane.add(inputs, outputs, cost)
        self.spending.settle(booking.hold, cost)

    def _let_count(self, lane: Lane, booking: _Booking, error: BaseException) -> None:
        if isinstance(error, GenerationError) and not isinstance(error, CancelledError):
            lane.failed(booking.admission, error, self.policy, booking.hold.target.model)
        else:
            lane.breaker.release(booking.admission)

    def _accept(self, lane: Lane, booking: _Booking, reply: Reply, check: Callable[[Reply], None] | None) -> None:
        """Let the caller look at a whole reply; where it refuses it, the server has worked all the same."""
        lane.answered(booking.admission)
        try:
            if check is not None:
                check(reply)
        except GenerationError as error:
            lane.note(error)
            raise

    def _checked(self, target: Target, reply: Reply, expected: int) -> Reply:
        """The reply with tokens that can be true: the server's, or ours where it gives none or far too few."""
        said, nothing = (Call((Message("assistant", text),)) for text in (reply.text, ""))
        written = self.client.count_tokens(target, said) - self.client.count_tokens(target, nothing)
        inputs = _plausible(reply.input_tokens, expected, reply.counted)
        outputs = _plausible(reply.output_tokens, written, reply.counted)
        if (inputs, outputs) == (reply.input_tokens, reply.output_tokens):
            return reply
        if reply.counted:
            _LOG.warning(
                "%s %s said %d and %d tokens; %d and %d are counted instead",
                *(target.name, target.model, reply.input_tokens, reply.output_tokens, inputs, outputs),
            )
        return replace(reply, input_tokens=inputs, output_tokens=outputs, counted=False)


def _plausible(said: int, estimated: int, counted: bool) -> int:
    """A server's number, or the estimate where it is less than a third of it (tokenizers differ by less)."""
    if counted and said * 3 >= estimated:
        return said
    return max(said, estimated)
