"""Caps on what may be spent, reserved at the worst case before a request is sent and settled afterwards."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from generation.errors import RequestError, SpendingCapError
from generation.router.clock import POLL, Clock, SystemClock, check_cancelled
from generation.router.journal import Journal
from generation.router.wire import Target

NANO = 1_000_000_000


@dataclass(frozen=True)
class Caps:
    """What may be spent at most, in US dollars and in requests; None is no cap.

    A run is the life of one `Spending`, a day is one of UTC over all processes that share its folder.
    """

    run: float | None = None
    day: float | None = None
    run_requests: int | None = None
    day_requests: int | None = None

    def __post_init__(self) -> None:
        for name in ("run", "day", "run_requests", "day_requests"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise RequestError(f"the spending cap {name} is {value}: give 0 or more, or none for no cap")

    @property
    def in_dollars(self) -> bool:
        """Whether prices must be known."""
        return self.run is not None or self.day is not None

    @property
    def daily(self) -> bool:
        """Whether a day's sum is needed."""
        return self.day is not None or self.day_requests is not None


@dataclass(frozen=True, eq=False)
class Hold:
    """What is reserved for one request of a target: nano-dollars, and where the day's part of it is written.

    `asked`: nano-dollars that its price said, before what the target has cost beyond that is added.
    """

    target: Target
    asked: int
    amount: int
    journal: Journal | None = None
    request: str = ""


def utc_day() -> str:
    """Today in UTC, such as `2026-01-31`."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def spent_on(folder: Path, day: str) -> tuple[float, int]:
    """US dollars and requests of a day, of all processes that share the folder."""
    amount, requests = Journal(folder, day).totals()
    return amount / NANO, requests


class Spending:
    """Keeps the caps, for many threads and, by the day, for several processes.

    A request is refused where what is spent and what it may cost at worst pass a cap together, so that a cap is kept
    as long as servers charge no more than was asked of them. One that does is believed to do so again: what is
    reserved for it grows by the same factor. Where only what others of this
    process have reserved stands in the way, it waits for them to be settled. What it cost without a known price, with
    no cap in dollars set, counts as nothing.

    Args:
        caps: what may be spent.
        folder: where the days' sums are; without one there are none, and no cap of a day.
        clock: for waiting.
        today: names the day.
    """

    def __init__(
        self,
        caps: Caps | None = None,
        folder: Path | None = None,
        clock: Clock | None = None,
        today: Callable[[], str] = utc_day,
    ) -> None:
        self.caps = caps or Caps()
        if self.caps.daily and folder is None:
            raise RequestError("a spending cap by day needs a folder for the day's sum: give one, or cap the run")
        self._folder = folder
        self._today = today
        self._changed = (clock or SystemClock()).condition()
        self._journal: Journal | None = None
        self._spent = self._reserved = 0
        self._sent = self._waiting = 0
        self._factors: dict[tuple[str, str], float] = {}

    @property
    def spent(self) -> float:
        """US dollars of this run that are settled."""
        with self._changed:
            return self._spent / NANO

    def reserve(self, target: Target, cost: float | None, cancelled: Callable[[], bool] | None = None) -> Hold:
        """Reserve what a request may cost at worst; it must be settled or released.

        Args:
            target: for the message.
            cost: US dollars, None where no price is known.
            cancelled: asked while waiting for others.

        Raises:
            SpendingCapError: it could pass a cap, or its price is unknown and there is a cap in dollars.
            CancelledError: cancelled while it waited.
        """
        if cost is None and self.caps.in_dollars:
            raise SpendingCapError(
                f"{target.name}: no price of model {target.model!r} is known, so the spending cap cannot be kept; "
                f"give it in US dollars per million tokens below `prices:` in the router file, such as "
                f"'{target.model}: {{input: 1, output: 4}}', or remove the cap below `spending:`"
            )
        asked = nano(cost)
        with self._changed:
            while True:
                check_cancelled(cancelled)
                amount = math.ceil(asked * self._factors.get((target.name, target.model), 1.0))
                hold = self._try(Hold(target, asked, amount))
                if hold is not None:
                    return hold
                if not self._waiting:
                    raise self._refusal(target, amount)
                self._changed.wait(POLL if cancelled else None)

    def settle(self, hold: Hold, cost: float | None) -> None:
        """Let what a request cost count instead of what was reserved."""
        amount = nano(cost)
        with self._changed:
            if hold.journal:
                hold.journal.settle(hold.request, amount)
            self._spent += amount
            self._sent += 1
            if amount > hold.asked > 0:
                place = hold.target.name, hold.target.model
                self._factors[place] = max(amount / hold.asked, self._factors.get(place, 1.0))
            self._end(hold)

    def release(self, hold: Hold) -> None:
        """Take a reservation back whose request was never sent."""
        with self._changed:
            if hold.journal:
                hold.journal.settle(hold.request, None)
            self._end(hold)

    def _end(self, hold: Hold) -> None:
        self._reserved -= hold.amount
        self._waiting -= 1
        self._changed.notify_all()

    def _try(self, wanted: Hold) -> Hold | None:
        """Take a place within all caps; None where there is none."""
        caps = self.caps
        if caps.run is not None and self._spent + self._reserved + wanted.amount > nano(caps.run):
            return None
        if caps.run_requests is not None and self._sent + self._waiting >= caps.run_requests:
            return None
        hold = self._written(wanted)
        if hold is not None:
            self._reserved += wanted.amount
            self._waiting += 1
        return hold

    def _written(self, wanted: Hold) -> Hold | None:
        if self._folder is None:
            return wanted
        journal = self._of_today(self._folder)
        cap = None if self.caps.day is None else nano(self.caps.day)
        request = journal.reserve(wanted.amount, cap, self.caps.day_requests)
        return None if request is None else replace(wanted, journal=journal, request=request)

    def _of_today(self, folder: Path) -> Journal:
        journal = Journal(folder, self._today())
        if self._journal is None or self._journal.path != journal.path:
            self._journal = journal
        return self._journal

    def _refusal(self, target: Target, amount: int) -> SpendingCapError:
        caps = self.caps
        wanted = f"{target.name}: {target.model!r} may cost up to ${amount / NANO:.6f}"
        cap = _cap(caps.run, caps.run_requests)
        spent = [f"run: ${self._spent / NANO:.6f} and {self._sent} requests spent of {cap}"]
        if self._folder is not None:
            day, requests = self._of_today(self._folder).totals()
            cap = _cap(caps.day, caps.day_requests)
            spent.append(f"day: ${day / NANO:.6f} and {requests} requests spent of {cap}")
        told = f"{wanted}, which would pass a spending cap ({'; '.join(spent)})"
        return SpendingCapError(f"{told}; raise it below `spending:` in the router file")


def nano(cost: float | None) -> int:
    """US dollars as whole nano-dollars, rounded up past a rounding error; None is nothing."""
    return 0 if cost is None else math.ceil(cost * NANO - 1e-3)


def _cap(dollars: float | None, requests: int | None) -> str:
    parts = [] if dollars is None else [f"${dollars:.6f}"]
    return " and ".join(parts + ([] if requests is None else [f"{requests} requests"])) or "no cap"
