"""What all requests to one route share within a process: its limiter, its breaker, a pause after 429, and sums."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import time
from typing import TYPE_CHECKING

from generation.errors import (
    AuthError,
    GenerationError,
    ModelAccessError,
    QuotaError,
    RateLimitError,
    RefusedError,
    RequestError,
)
from generation.router.breaker import OPEN, Admission, Breaker
from generation.router.clock import Clock, SystemClock
from generation.router.limits import Limiter, Limits
from generation.router.retry import BREAKAGE, RetryPolicy
from generation.router.state import RouteState

if TYPE_CHECKING:
    from generation.router.routes import RouteSettings


@dataclass(frozen=True)
class LaneSettings:
    """How lanes are kept: breaker (`failures` in a row, `cooldown` in seconds), limiter (`window`, `margin`)."""

    failures: int = 3
    cooldown: float = 60.0
    window: float = 60.0
    margin: float = 1.0


class Lane:
    """One route, `provider/route`, for many threads."""

    def __init__(self, name: str, limits: Limits, clock: Clock, settings: LaneSettings) -> None:
        self.name = name
        self.limits = limits
        self.limiter = Limiter(limits, clock, settings.window, settings.margin, name)
        self.breaker = Breaker(clock, settings.failures, settings.cooldown)
        self._clock = clock
        self._lock = threading.Lock()
        self._rests_until = -math.inf
        self._closed: dict[str, str] = {}
        self._sums = RouteState(name)

    def rests(self) -> float:
        """Seconds for which the server asked to be left alone; 0 where it did not."""
        with self._lock:
            return max(0.0, self._rests_until - self._clock.now())

    def opens_in(self) -> float:
        """Seconds until something may be sent, as far as is known; 0 where something may or a probe is on its way."""
        return max(self.rests(), self.breaker.status().seconds)

    def shut(self, model: str) -> bool:
        """Whether nothing may be sent to a model now."""
        return self._closed_to(model) is not None or self.rests() > 0 or self.breaker.refuses()

    def obstacle(self, model: str) -> GenerationError | None:
        """Why nothing may be sent to a model now, None where something may."""
        closed = self._closed_to(model)
        if closed is not None:
            return ModelAccessError(f"{closed} (so it said before; it is not asked again until the next start)")
        if self.breaker.refuses():
            return self._open()
        seconds = self.rests()
        if seconds > 0:
            return RateLimitError(f"{self.name} asked to wait another {seconds:.1f} s", retry_after=seconds)
        return None

    def admit(self, model: str) -> Admission | None:
        """The right to send one request to a model; None where nothing may be sent now."""
        if self._closed_to(model) is not None or self.rests() > 0:
            return None
        return self.breaker.admit()

    def failed(self, admission: Admission, error: GenerationError, policy: RetryPolicy, model: str) -> None:
        """Let an error of a model count: for the breaker, for the pause, and in the sums.

        A refused key closes the route, a refused model that model alone, both until the process ends.
        """
        kind = type(error)
        if isinstance(error, ModelAccessError):
            with self._lock:
                self._closed[model] = str(error)
        elif isinstance(error, AuthError):
            self.breaker.open_for(math.inf, kind)
        elif isinstance(error, RefusedError):  # a server that filters is one that works
            self.breaker.succeed(admission)
        elif isinstance(error, QuotaError):
            self.breaker.open_for(policy.quota, kind)
        elif isinstance(error, BREAKAGE):
            self.breaker.fail(admission, kind)
        elif isinstance(error, RateLimitError):
            self._rest(policy.unsaid if error.retry_after is None else error.retry_after)
        self.breaker.release(admission)
        self.note(error)

    def note(self, error: GenerationError) -> None:
        """Let an error count in the sums alone."""
        with self._lock:
            self._sums = replace(self._sums, last_error=type(error).__name__, failures=self._sums.failures + 1)

    def answered(self, admission: Admission) -> None:
        """Let a reply count for the breaker."""
        self.breaker.succeed(admission)

    def add(self, input_tokens: int, output_tokens: int, cost: float | None) -> None:
        """Add a request that was sent to the sums."""
        with self._lock:
            sums = self._sums
            self._sums = replace(
                sums,
                requests=sums.requests + 1,
                input_tokens=sums.input_tokens + input_tokens,
                output_tokens=sums.output_tokens + output_tokens,
                cost=sums.cost + (cost or 0.0),
            )

    def state(self, wall: Callable[[], float] = time) -> RouteState:
        """How it stands, for other processes; `wall` gives seconds since 1970."""
        status, used, now = self.breaker.status(), self.limiter.used(), wall()
        until = now + status.seconds if status.state == OPEN and math.isfinite(status.seconds) else None
        with self._lock:
            return replace(
                self._sums,
                breaker=status.state,
                open_until=until,
                minute_requests=used.requests,
                minute_input_tokens=used.input_tokens,
                minute_output_tokens=used.output_tokens,
                written=now,
            )

    def _closed_to(self, model: str) -> str | None:
        """What the server said when it refused a model; None where it did not."""
        with self._lock:
            return self._closed.get(model)

    def _rest(self, seconds: float) -> None:
        with self._lock:
            self._rests_until = max(self._rests_until, self._clock.now() + seconds)

    def _open(self) -> GenerationError:
        status = self.breaker.status()
        if math.isinf(status.seconds):
            return status.cause(f"{self.name} needs a new key: it was refused before; set one and start again")
        what = "its quota is used up" if issubclass(status.cause, QuotaError) else "it failed several times"
        when = f"tried again in {status.seconds:.1f} s" if status.state == OPEN else "one request is trying it now"
        return status.cause(f"{self.name} is left alone, {what}; {when}")


class Lanes:
    """The lanes of a process by route; routers that share them keep each route's limits together.

    Args:
        clock: gives and waits the time.
        settings: of every lane.
    """

    def __init__(self, clock: Clock | None = None, settings: LaneSettings | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self._settings = settings or LaneSettings()
        self._lock = threading.Lock()
        self._lanes: dict[str, Lane] = {}

    def of(self, route: RouteSettings) -> Lane:
        """The lane of a route, made when first asked for.

        Raises:
            RequestError: the route is there already with other limits.
        """
        name = f"{route.provider}/{route.route}"
        with self._lock:
            if name not in self._lanes:
                self._lanes[name] = Lane(name, route.limits, self.clock, self._settings)
            lane = self._lanes[name]
        if lane.limits != route.limits:
            raise RequestError(
                f"{name} is used with {lane.limits} and with {route.limits}: give it one set of limits"
            )
        return lane

    def states(self, wall: Callable[[], float] = time) -> tuple[RouteState, ...]:
        """How all of them stand, by name."""
        with self._lock:
            lanes = [self._lanes[name] for name in sorted(self._lanes)]
        return tuple(lane.state(wall) for lane in lanes)
