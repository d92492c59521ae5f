"""Simulated time: alone for one thread, and in step for many that run real code against it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class SimulatedClock:
    """For one thread: waiting moves the time on at once. Nobody could wake it, so an endless wait is an error."""

    def __init__(self, start: float = 0.0) -> None:
        self.time = start
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += seconds

    def condition(self, lock: Any = None) -> threading.Condition:
        return _Instant(self, lock)


class _Instant(threading.Condition):
    def __init__(self, clock: SimulatedClock, lock: Any) -> None:
        super().__init__(lock)
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None, "a single thread waits for another one, for ever"
        self._clock.waits.append(timeout)
        self._clock.advance(max(timeout, 0.0))
        return False


class _Sleeper:
    def __init__(self, deadline: float | None) -> None:
        self.deadline = deadline
        self.woken = threading.Lock()
        self.woken.acquire()


class ThreadedClock:
    """For many threads: when all of them wait, the time moves on to the earliest end of a wait and wakes that one."""

    def __init__(self) -> None:
        self._time = 0.0
        self._lock = threading.Lock()
        self._sleepers: list[_Sleeper] = []
        self._active = 0
        self.stuck = False

    def now(self) -> float:
        return self._time

    def condition(self, lock: Any = None) -> threading.Condition:
        return _InStep(self, lock)

    def sleep(self, seconds: float) -> None:
        condition = self.condition()
        with condition:
            condition.wait(seconds)

    def run(self, jobs: list[Callable[[], None]], seconds: float = 60.0) -> None:
        """Run every job in a thread of its own to its end; errors of jobs are raised."""
        errors: list[BaseException] = []
        self._active = len(jobs)

        def work(job: Callable[[], None]) -> None:
            try:
                job()
            except BaseException as error:  # noqa: BLE001 - raised in `run`
                errors.append(error)
            finally:
                self._idle(None)

        threads = [threading.Thread(target=work, args=(job,), daemon=True) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds)
        if errors:
            raise errors[0]
        assert not self.stuck, "all threads wait for each other"
        assert not any(thread.is_alive() for thread in threads), "threads still run"

    def _idle(self, sleeper: _Sleeper | None) -> None:
        with self._lock:
            if sleeper is not None:
                self._sleepers.append(sleeper)
            self._active -= 1
            if self._active == 0 and self._sleepers:
                timed = [one for one in self._sleepers if one.deadline is not None]
                if not timed:
                    self.stuck = True
                    return
                first = min(timed, key=lambda one: one.deadline)
                self._time = max(self._time, first.deadline)
                self._wake(first)

    def _wake(self, sleeper: _Sleeper) -> bool:
        if sleeper not in self._sleepers:
            return False
        self._sleepers.remove(sleeper)
        self._active += 1
        sleeper.woken.release()
        return True

    def wake(self, sleeper: _Sleeper) -> bool:
        with self._lock:
            return self._wake(sleeper)


class _InStep(threading.Condition):
    def __init__(self, clock: ThreadedClock, lock: Any) -> None:
        super().__init__(lock)
        self._clock = clock
        self._mine: list[_Sleeper] = []

    def wait(self, timeout: float | None = None) -> bool:
        clock = self._clock
        sleeper = _Sleeper(None if timeout is None else clock.now() + max(timeout, 0.0))
        self._mine.append(sleeper)
        self.release()
        clock._idle(sleeper)
        sleeper.woken.acquire()
        self.acquire()
        self._mine.remove(sleeper)
        return True

    def notify(self, n: int = 1) -> None:
        for sleeper in self._mine:
            if n and self._clock.wake(sleeper):
                n -= 1

    def notify_all(self) -> None:
        self.notify(len(self._mine))
