"""What other processes see of a router: breakers, use of the last minute and sums, in one small file."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from time import time
from typing import Any

from filelock import FileLock

from generation.errors import RequestError
from generation.router.breaker import CLOSED, HALF_OPEN, OPEN
from ingestion.artifacts import write_atomic

VERSION = 1
KEPT = 86_400.0  # seconds for which what a process wrote is shown
MINUTE = 60.0

_LOG = logging.getLogger("rankproof.router")


@dataclass(frozen=True)
class RouteState:
    """One route (`provider/route`) as a process has seen it.

    `breaker` is `closed`, `open` or `half open`; `open_until` in seconds since 1970, None where it is not open or is
    open until the process ends; `last_error` the name of an error's class, never a server's text. Requests and tokens
    of the last minute, then sums since the process began: `cost` in US dollars of what has a known price, `failures`
    attempts that gave no reply. `written` in seconds since 1970.
    """

    route: str
    breaker: str = CLOSED
    open_until: float | None = None
    last_error: str = ""
    minute_requests: int = 0
    minute_input_tokens: int = 0
    minute_output_tokens: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    failures: int = 0
    written: float = 0.0


_SUMS = ("requests", "input_tokens", "output_tokens", "cost", "failures")
_MINUTE = ("minute_requests", "minute_input_tokens", "minute_output_tokens")


class StateFile:
    """Where a router leaves its state, beside that of other processes. For many threads and processes.

    Args:
        path: the file; its folder is made when first needed.
        wall: seconds since 1970.
        process: tells processes apart; None takes the process id.
        every: seconds between two writings where nothing urgent has happened.
    """

    def __init__(
        self, path: Path, wall: Callable[[], float] = time, process: str | None = None, every: float = 1.0
    ) -> None:
        self.path = path
        self.wall = wall
        self._process = process or str(os.getpid())
        self._every = every
        self._last = float("-inf")

    def due(self) -> bool:
        """Whether the last writing is long enough ago."""
        return self.wall() - self._last >= self._every

    def write(self, states: Sequence[RouteState]) -> None:
        """Replace what this process has written; what is older than a day goes.

        A broken file is reported in the log and written anew: nothing that matters is lost.
        """
        now = self.wall()
        self._last = now
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{self.path}.lock"):
            processes = self._others(now)
            processes[self._process] = tuple(replace(state, written=now) for state in states)
            content = {name: [asdict(state) for state in found] for name, found in processes.items() if found}
            text = json.dumps({"version": VERSION, "processes": content}, indent=1, sort_keys=True)
            write_atomic(self.path, text + "\n")

    def _others(self, now: float) -> dict[str, tuple[RouteState, ...]]:
        try:
            found = _processes(self.path)
        except RequestError as error:
            _LOG.warning("%s", error)
            return {}
        return {name: old for name, old in found.items() if old and now - old[0].written < KEPT}


def read_states(path: Path, now: float | None = None) -> tuple[RouteState, ...]:
    """Every route that was used within the last day, by name, over all processes.

    Sums are added up; breaker and last error are those of the process that wrote last. What has passed since the
    writing is taken into account: a minute that is over counts nothing, a cool-down that is over is half open.

    Args:
        path: the file; where it is not there, nothing was used.
        now: seconds since 1970; None is the present.

    Raises:
        RequestError: the file is broken; the message says how to go on.
    """
    now = time() if now is None else now
    merged: dict[str, RouteState] = {}
    written = [state for states in _processes(path).values() for state in states if now - state.written < KEPT]
    for state in sorted(written, key=lambda state: (state.written, state.route)):
        fresh = _aged(state, now)
        before = merged.get(state.route)
        merged[state.route] = fresh if before is None else _added(before, fresh)
    return tuple(merged[route] for route in sorted(merged))


def _aged(state: RouteState, now: float) -> RouteState:
    if now - state.written >= MINUTE:
        state = replace(state, minute_requests=0, minute_input_tokens=0, minute_output_tokens=0)
    if state.breaker == OPEN and state.open_until is not None and state.open_until <= now:
        state = replace(state, breaker=HALF_OPEN, open_until=None)
    return state


def _added(before: RouteState, newer: RouteState) -> RouteState:
    sums: dict[str, Any] = {name: getattr(before, name) + getattr(newer, name) for name in _SUMS + _MINUTE}
    return replace(newer, last_error=newer.last_error or before.last_error, **sums)


def _processes(path: Path) -> dict[str, tuple[RouteState, ...]]:
    try:
        content = json.loads(path.read_bytes())
        if content["version"] != VERSION:
            raise ValueError(f"version {content['version']}")
        return {name: tuple(_state(row) for row in rows) for name, rows in content["processes"].items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RequestError(
            f"{path} is not a router's state ({error}); remove it: only what `providers` shows of past use is lost"
        ) from error


def _state(row: dict[str, Any]) -> RouteState:
    kinds: dict[str, Any] = {"int": int, "str": str, "float": (int, float), "float | None": (int, float, type(None))}
    for field in fields(RouteState):
        if not isinstance(row[field.name], kinds[str(field.type)]):
            raise TypeError(f"{field.name} is {row[field.name]!r}")
    return RouteState(**row)
