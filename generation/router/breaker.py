"""A circuit breaker: a route that fails is left alone for a while, then tried by exactly one request."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

from generation.errors import CapacityError, GenerationError
from generation.router.clock import Clock

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half open"


@dataclass(frozen=True)
class Status:
    """How a breaker stands: its state, the seconds it stays open (inf: for good), the error that opened it."""

    state: str
    seconds: float = 0.0
    cause: type[GenerationError] = CapacityError


@dataclass(frozen=True, eq=False)
class Admission:
    """The right to send one request; `period` counts how often the breaker has changed before it."""

    period: int


class Breaker:
    """Closed lets all through; open lets none; half open, after the cool-down, lets one probe through at a time.

    What comes of an admission is told once, by `succeed`, `fail` or `release`. What comes late, from a request that
    was admitted before the breaker last changed, does not count. For many threads.

    Args:
        clock: gives the time.
        failures: so many in a row open it.
        cooldown: seconds for which it is then open.
    """

    def __init__(self, clock: Clock, failures: int = 3, cooldown: float = 60.0) -> None:
        self._clock = clock
        self._most = failures
        self._cooldown = cooldown
        self._lock = threading.Lock()
        self._failures = 0
        self._period = 0
        self._until: float | None = None
        self._cause: type[GenerationError] = CapacityError
        self._probe: Admission | None = None

    def status(self) -> Status:
        """How it stands now."""
        with self._lock:
            return self._status()

    def refuses(self) -> bool:
        """Whether `admit` would refuse now."""
        with self._lock:
            return self._refuses()

    def admit(self) -> Admission | None:
        """The right to send one request; None where it is open, or half open and the probe is on its way."""
        with self._lock:
            if self._refuses():
                return None
            admission = Admission(self._period)
            if self._until is not None:
                self._probe = admission
            return admission

    def succeed(self, admission: Admission) -> None:
        """The server answered: closed again, and no failure counts any more."""
        with self._lock:
            if admission.period == self._period:
                self._failures = 0
                if self._until is not None:
                    self._change(None)

    def fail(self, admission: Admission, cause: type[GenerationError] = CapacityError) -> bool:
        """The server failed; returns whether that opened the breaker."""
        with self._lock:
            if admission.period != self._period:
                return False
            self._failures += 1
            if admission is not self._probe and self._failures < self._most:
                return False
            self._cause = cause
            self._change(self._clock.now() + self._cooldown)
            return True

    def release(self, admission: Admission) -> None:
        """Nothing is known about the server, such as after a cancellation: a probe gives its place back."""
        with self._lock:
            if admission is self._probe:
                self._probe = None

    def open_for(self, seconds: float, cause: type[GenerationError]) -> None:
        """Open at once, for so long (`math.inf`: for good), unless it is open for longer already."""
        with self._lock:
            until = self._clock.now() + seconds
            if self._until is None or until > self._until:
                self._cause = cause
                self._change(until)

    def _change(self, until: float | None) -> None:
        self._until = until
        self._failures = 0
        self._probe = None
        self._period += 1

    def _refuses(self) -> bool:
        state = self._status().state
        return state == OPEN or (state == HALF_OPEN and self._probe is not None)

    def _status(self) -> Status:
        if self._until is None:
            return Status(CLOSED)
        left = self._until - self._clock.now()
        if left > 0:
            return Status(OPEN, math.inf if math.isinf(left) else left, self._cause)
        return Status(HALF_OPEN, 0.0, self._cause)
