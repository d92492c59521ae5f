"""Time as the router sees it: handed in, so that a test can simulate an hour within a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from generation.errors import CancelledError

POLL = 0.1  # seconds between two questions to a caller's `cancelled`: nobody notices so short a delay


class Clock(Protocol):
    """A clock and the waiting that goes by it."""

    def now(self) -> float:
        """Seconds since any fixed moment; never goes back."""

    def condition(self, lock: threading.Lock | None = None) -> threading.Condition:
        """A condition variable on `lock` (None makes one) whose `wait` takes seconds of this clock."""


class SystemClock:
    """The computer's monotonic clock."""

    def now(self) -> float:
        """Seconds since any fixed moment."""
        return time.monotonic()

    def condition(self, lock: threading.Lock | None = None) -> threading.Condition:
        """An ordinary condition variable."""
        return threading.Condition(lock)


def check_cancelled(cancelled: Callable[[], bool] | None) -> None:
    """Raise CancelledError where the caller has cancelled."""
    if cancelled is not None and cancelled():
        raise CancelledError("the request was cancelled by its caller")


def slice_of(seconds: float | None, cancelled: Callable[[], bool] | None) -> float | None:
    """How long to wait in one piece: `seconds` (None without an end), at most POLL where one may cancel."""
    if cancelled is None:
        return seconds
    return POLL if seconds is None else min(seconds, POLL)


def pause(clock: Clock, seconds: float, cancelled: Callable[[], bool] | None = None) -> None:
    """Wait so many seconds.

    Raises:
        CancelledError: `cancelled` became true meanwhile.
    """
    end = clock.now() + seconds
    condition = clock.condition()
    with condition:
        while (left := end - clock.now()) > 0:
            check_cancelled(cancelled)
            condition.wait(slice_of(left, cancelled))
    check_cancelled(cancelled)
