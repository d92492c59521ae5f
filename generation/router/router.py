"""From a call to a whole reply: a chain of routes and models, each within its limits, with retry and fallback.

LiteLLM translates to the servers' formats; this part is ours, since LiteLLM's own router was measured to let only two
of three allowed requests through its limit per minute, and its cool-down ends without a single probe.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from generation.errors import (
    AuthError,
    CancelledError,
    ContextOverflowError,
    GenerationError,
    ProviderError,
    RateLimitError,
    SpendingCapError,
)
from generation.router.cache import ReplyCache
from generation.router.clock import check_cancelled, pause
from generation.router.lanes import Lane, Lanes
from generation.router.limits import LimitOverflowError
from generation.router.retry import RetryPolicy
from generation.router.routed import ANSWERED, CACHED, FAILED, SKIPPED, Attempt, Loss, Routed, failure
from generation.router.sending import RouteShutError, Sender, Sending, Stream, Tokenizing
from generation.router.spending import Spending
from generation.router.state import StateFile
from generation.router.wire import Call, Client, Reply, Target
from generation.tokens import REMEMBERED, estimate

if TYPE_CHECKING:
    from generation.router.routes import RouteSettings

_LOG = logging.getLogger("rankproof.router")
FOR_GOOD = (AuthError, ContextOverflowError)  # no waiting changes it


@dataclass
class _Journey:
    """One call on its way along the chain: what was tried, what is lost, how long it has waited for shut routes."""

    call: Call
    stream: Stream
    cancelled: Callable[[], bool] | None
    check: Callable[[Reply], None] | None
    begin: float
    attempts: list[Attempt] = field(default_factory=list)
    losses: dict[tuple[str, str], Loss] = field(default_factory=dict)
    too_long: set[str] = field(default_factory=set)
    rested: float = 0.0
    rounds: int = 0
    last: GenerationError | None = None

    def lose(self, target: Target, error: GenerationError, shut: bool = False) -> None:
        """Remember why a target gave no reply (`shut`: it was not asked); a later reason replaces an earlier one."""
        passing = isinstance(error, RateLimitError) or (shut and not isinstance(error, FOR_GOOD))
        self.losses[target.name, target.model] = Loss(target, error, passing)
        self.last = error
        if isinstance(error, ContextOverflowError) and not isinstance(error, LimitOverflowError):
            self.too_long.add(target.model)

    def lost(self, target: Target) -> bool:
        """Whether a target has failed for good as far as this call goes."""
        loss = self.losses.get((target.name, target.model))
        return loss is not None and not loss.passing


class Router:
    """Asks the first route of a chain that can answer. One router serves many threads.

    Args:
        chain: routes in order of preference, each with its models in order of preference.
        client: speaks to the servers.
        lanes: what requests share by route; give the same to every router of a process. It brings the clock.
        policy: how often and how long is waited.
        spending: keeps the caps, None has none; give the same to every router of a process.
        cache: of replies; None asks every time.
        state: where other processes see how the routes stand; None tells nobody.
        rng: of the jitter.
    """

    def __init__(
        self,
        chain: Sequence[RouteSettings],
        client: Client,
        lanes: Lanes | None = None,
        policy: RetryPolicy | None = None,
        spending: Spending | None = None,
        cache: ReplyCache | None = None,
        state: StateFile | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.chain = tuple(chain)
        self.lanes = lanes or Lanes()
        self._policy = policy or RetryPolicy()
        self._clock = self.lanes.clock
        self.spending = spending or Spending(clock=self._clock)
        self._sender = Sender(client, self._clock, self.spending, self._policy)
        self._cache = cache
        self._state = state
        self._rng = np.random.default_rng(0) if rng is None else rng
        self._lock = threading.Lock()
        self._telling = threading.Lock()
        self._under_way = 0
        self._count = lru_cache(REMEMBERED)(self._counted)

    def ask(
        self,
        call: Call,
        on_text: Callable[[str], None] | None = None,
        on_restart: Callable[[str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        check: Callable[[Reply], None] | None = None,
    ) -> Routed:
        """Get a whole reply.

        Args:
            call: what is asked.
            on_text: is given every piece of text as it arrives; a cached reply comes in one piece.
            on_restart: is told (with the error's class) before a new attempt begins after pieces of one that failed:
                what was given so far is to be thrown away. Without it no attempt follows one that gave pieces.
            cancelled: asked before each request, between pieces and about ten times a second while waiting. It must
                answer at once and not use the router.
            check: raises ProviderError where a whole reply is no answer; it is then retried like a broken one, and
                not cached.

        Raises:
            RateLimitError, QuotaError, CapacityError, AuthError, ContextOverflowError, ProviderError: no route gave a
                reply; the message lists each route with its reason and its remedy.
            SpendingCapError: a cap would be passed.
            CancelledError: cancelled.
            All of them with the `attempts` that were made.
        """
        stream = Stream(on_text, on_restart)
        journey = _Journey(call, stream, cancelled, check, self._clock.now())
        with self._lock:
            self._under_way += 1
        try:
            while True:
                routed = self._round(journey)
                if routed is not None:
                    self._log(journey, routed)
                    return routed
                self._wait_for_rest(journey)
        except GenerationError as error:
            error.attempts = tuple(journey.attempts)
            self._log_failure(journey, error)
            raise
        finally:
            self._tell(journey)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text for the model that is asked first: by its own tokenizer where known, else estimated."""
        return self._count(text)

    def save_state(self) -> None:
        """Tell other processes how the routes stand, also where the last time is short ago.

        An unwritable file is reported in the log: an answer that was paid for is not lost for it.
        """
        if self._state is not None:
            try:
                with self._telling:  # an older state never replaces a newer one
                    self._state.write(self.lanes.states(self._state.wall))
            except OSError as error:
                _LOG.warning("the router's state cannot be written: %s", error)

    def _tell(self, journey: _Journey) -> None:
        """Save the state after a call that had no cached reply: once in a while, and after the last one under way."""
        with self._lock:
            self._under_way -= 1
            last = not self._under_way
        asked = any(attempt.outcome != CACHED for attempt in journey.attempts)
        if self._state is not None and asked and (last or self._state.due()):
            self.save_state()

    def _counted(self, text: str) -> int:
        client, first = self._sender.client, next((target for _, target in self._targets()), None)
        known = client.tokens_of(first, text) if first and isinstance(client, Tokenizing) else None
        return estimate(text) if known is None else known

    def _targets(self) -> Iterator[tuple[Lane, Target]]:
        for route in self.chain:
            if route.configured:
                lane = self.lanes.of(route)
                for model in route.models:
                    yield lane, route.target(model)

    def _round(self, journey: _Journey) -> Routed | None:
        """Go along the chain once; None where no target gave a reply."""
        journey.rounds += 1
        for lane, target in self._targets():
            if journey.lost(target):
                continue
            check_cancelled(journey.cancelled)
            routed = self._cached(journey, target) or self._try(journey, lane, target)
            if routed is not None:
                return routed
        return None

    def _cached(self, journey: _Journey, target: Target) -> Routed | None:
        reply = None if self._cache is None else self._cache.get(target, journey.call)
        if reply is None or not _accepted(reply, journey.check):
            return None
        journey.stream.restart(_name(journey.last))
        journey.stream.piece(reply.text)
        journey.attempts.append(Attempt(target, CACHED))
        return Routed(reply, target, tuple(journey.attempts), True, self._clock.now() - journey.begin, 0.0)

    def _try(self, journey: _Journey, lane: Lane, target: Target) -> Routed | None:
        """Ask one target until it answers or is lost; None where it is."""
        obstacle = lane.obstacle(target.model)
        if obstacle is None and target.model in journey.too_long:
            obstacle = ContextOverflowError(f"the prompt is too long for {target.model}, as another route said")
        if obstacle is not None:
            journey.attempts.append(Attempt(target, SKIPPED, _name(obstacle)))
            journey.lose(target, obstacle, shut=True)
            return None
        tries = 0
        while True:
            tries += 1
            try:
                return self._send(journey, lane, target)
            except (CancelledError, SpendingCapError):
                raise
            except RouteShutError:
                obstacle = lane.obstacle(target.model)
                obstacle = obstacle or RateLimitError(f"{lane.name} was shut for a moment", 0.0)
                journey.lose(target, obstacle, shut=True)
                return None
            except GenerationError as error:
                journey.lose(target, error)
                if journey.stream.spoiled:
                    raise self._failure(journey) from error
                if tries >= self._policy.tries(error) or lane.shut(target.model):
                    return None
            with self._lock:
                seconds = self._policy.backoff(tries, self._rng)
            pause(self._clock, seconds, journey.cancelled)

    def _send(self, journey: _Journey, lane: Lane, target: Target) -> Routed:
        """One attempt."""
        journey.stream.restart(_name(journey.last))
        sending = Sending(target)
        error: GenerationError | None = None
        try:
            reply = self._sender.send(lane, sending, journey.call, journey.stream, journey.cancelled, journey.check)
        except GenerationError as raised:
            error = raised
            raise
        finally:
            outcome = SKIPPED if isinstance(error, RouteShutError) else FAILED if error else ANSWERED
            journey.attempts.append(_attempt(sending, outcome, error))
        self._keep(target, journey.call, reply)
        seconds = self._clock.now() - journey.begin
        return Routed(reply, target, tuple(journey.attempts), False, seconds, sending.cost)

    def _keep(self, target: Target, call: Call, reply: Reply) -> None:
        """Store a reply; where that cannot be, it is given all the same, since it was paid for."""
        try:
            if self._cache is not None:
                self._cache.put(target, call, reply)
        except OSError as error:
            _LOG.warning("a reply cannot be stored in %s: %s", self._cache and self._cache.folder, error)

    def _wait_for_rest(self, journey: _Journey) -> None:
        """Wait for the first route that is shut for a while only; raise where that is too long or there is none."""
        least = self._policy.least(journey.rounds)
        waits = []
        for lane, target in self._targets():
            loss = journey.losses.get((target.name, target.model))
            if loss is not None and loss.passing:
                seconds = max(lane.opens_in(), least)
                if journey.rested + seconds <= self._policy.patience(loss.error):
                    waits.append(seconds)
        if not waits or journey.stream.spoiled:
            raise self._failure(journey) from journey.last
        journey.rested += min(waits)
        pause(self._clock, min(waits), journey.cancelled)

    def _failure(self, journey: _Journey) -> GenerationError:
        missing = [
            f"{route.provider}/{route.route}: not configured; {route.missing}"
            for route in self.chain
            if not route.configured
        ]
        return failure(tuple(journey.losses.values()), missing)

    def _log(self, journey: _Journey, routed: Routed) -> None:
        """One line a call, with neither prompt nor key in it; a warning where it took more than one target."""
        reply, target = routed.reply, routed.target
        level = logging.WARNING if journey.losses else logging.INFO
        _LOG.log(
            level,
            "route=%s model=%s seconds=%.3f input_tokens=%d output_tokens=%d cost=%s cached=%s attempts=%d tried=%s",
            *(target.name, target.model, routed.seconds, reply.input_tokens, reply.output_tokens),
            *(_money(routed.cost), routed.cached, len(routed.attempts), _tried(routed.attempts)),
        )

    def _log_failure(self, journey: _Journey, error: GenerationError) -> None:
        seconds = self._clock.now() - journey.begin
        tried = _tried(journey.attempts)
        attempts = len(journey.attempts)
        _LOG.warning("no reply: %s seconds=%.3f attempts=%d tried=%s", _name(error), seconds, attempts, tried)


def _attempt(sending: Sending, outcome: str, error: GenerationError | None) -> Attempt:
    return Attempt(
        sending.target,
        outcome,
        _name(error),
        sending.waited,
        sending.seconds,
        sending.input_tokens,
        sending.output_tokens,
        sending.cost,
    )


def _accepted(reply: Reply, check: Callable[[Reply], None] | None) -> bool:
    """Whether a cached reply, which another caller may have asked for, is an answer to this one."""
    try:
        if check is not None:
            check(reply)
    except ProviderError:
        return False
    return True


def _name(error: GenerationError | None) -> str:
    return "" if error is None else type(error).__name__


def _money(cost: float | None) -> str:
    return "unknown" if cost is None else f"{cost:.6f}"


def _tried(attempts: Sequence[Attempt]) -> str:
    """Each attempt in brief, such as `anthropic/direct:claude-sonnet-5:failed:CapacityError`."""
    parts = [(one.target.name, one.target.model, one.outcome, one.error) for one in attempts]
    return ",".join(":".join(part for part in parts_of if part) for parts_of in parts) or "nothing"
