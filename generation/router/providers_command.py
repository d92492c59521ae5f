"""`python -m generation providers`: which routes are configured, what limits them, how they stand; never a key."""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from generation.errors import GenerationError, RequestError
from generation.router.breaker import OPEN
from generation.router.environment import Environment, current_environment
from generation.router.routes import FROM_DEFAULT, NUMBERS, OFF, OFFLINE, RouteSettings
from generation.router.secrets import Redactor
from generation.router.settings import RouterSettings, read_settings
from generation.router.spending import spent_on, utc_day
from generation.router.state import RouteState, read_states
from ingestion.config import nearest

USAGE = """\
python -m generation providers [router=<file>] [--json]

Lists the routes to language models: whether each is configured or what to set, its models, its limits (requests,
input and output tokens a minute; x5: an output token counts five times) and where they come from (without a note:
conf/router/default.yaml), how its breaker stands, and what was spent today. It asks nothing over the network.

  router=<file>   a router file, or the name of one in conf/router
  --json          the same as JSON

Keys come from the environment or from .env in the current folder or the project (names: .env.example). Limits:
<PROVIDER>_<ROUTE>_RPM, _INPUT_TPM, _OUTPUT_TPM, such as ANTHROPIC_DIRECT_RPM=20; `off` is no limit.
"""
HEADER = ("provider", "route", "status", "models", "rpm", "input tpm", "output tpm", "breaker")


@dataclass(frozen=True)
class Overview:
    """What is shown. `spent` in US dollars and `requests` today (UTC), over all processes."""

    settings: RouterSettings
    states: Mapping[str, RouteState]
    spent: float
    requests: int

    def as_json(self) -> dict[str, Any]:
        """Plain dicts and lists."""
        caps = self.settings.caps
        return {
            "auto": _auto(self.settings),
            "routes": [self._route(route) for route in self.settings.routes],
            "spending": {
                "today": self.spent,
                "requests_today": self.requests,
                "per_day": caps.day,
                "per_run": caps.run,
                "requests_per_day": caps.day_requests,
                "requests_per_run": caps.run_requests,
            },
        }

    def _route(self, route: RouteSettings) -> dict[str, Any]:
        state = self.states.get(route.name)
        seen = None if state is None else {
            "breaker": state.breaker,
            "open_until": None if state.open_until is None else _time(state.open_until),
            "last_error": state.last_error,
            "seen": _time(state.written),
            "requests_last_minute": state.minute_requests,
        }  # fmt: skip
        return {
            "provider": route.provider,
            "route": route.route,
            "configured": route.configured,
            "missing": route.missing,
            "models": {"value": list(route.models), "from": route.origins["models"]},
            "limits": {
                name: {"value": getattr(route.limits, name), "from": route.origins[name]} for name in NUMBERS
            },
            "output_weight": route.limits.output_weight,
            "settings": {
                name: {"value": value, "from": route.origins[name]} for name, value in sorted(route.settings.items())
            },
            "state": seen,
        }  # fmt: skip

    def as_text(self) -> str:
        """A table and what to know beside it."""
        rows = [HEADER, *(_row(route, self.states.get(route.name)) for route in self.settings.routes)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
        padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
        lines = ["  ".join(row).rstrip() for row in padded]
        missing = [route for route in self.settings.routes if not route.configured]
        if missing:
            lines += ["", "not configured (set it in the environment or in .env):"]
            lines += [f"  {route.name}: {route.missing}" for route in missing]
        return "\n".join([*lines, "", self._auto(), self._spent()])

    def _auto(self) -> str:
        auto = _auto(self.settings)
        if auto["provider"] == OFFLINE:
            return "provider=auto: offline, the generator that needs no key"
        names = ", ".join(route.name for route in self.settings.chosen)
        return f"provider=auto: {auto['provider']}, {auto['model']}; in order: {names}"

    def _spent(self) -> str:
        caps = self.settings.caps
        day = [f"${caps.day:.2f}"] if caps.day is not None else []
        day += [f"{caps.day_requests} requests"] if caps.day_requests is not None else []
        run = [f"${caps.run:.2f}"] if caps.run is not None else []
        run += [f"{caps.run_requests} requests"] if caps.run_requests is not None else []
        spent = f"spent today (UTC): ${self.spent:.4f} in {self.requests} requests"
        return f"{spent}; cap per day: {' and '.join(day) or 'none'}, per run: {' and '.join(run) or 'none'}"


def overview(file: str | None, environment: Environment, now: float) -> Overview:
    """What is known about all routes; nothing is asked over the network.

    Args:
        file: a router file or its name; None is the default.
        environment: where keys and limits come from.
        now: seconds since 1970.

    Raises:
        RequestError: the file or a variable is wrong, or what a router left behind is broken.
    """
    settings = read_settings(file, None, None, environment)
    spent, requests = spent_on(settings.spending, utc_day())
    return Overview(settings, {state.route: state for state in read_states(settings.state, now)}, spent, requests)


def main(arguments: Sequence[str], environment: Environment | None = None) -> int:
    """Run the command; returns the exit code: 0 done, 2 the request is wrong."""
    if {"-h", "--help"} & set(arguments):
        print(USAGE, end="")
        return 0
    known: Mapping[str, str] = {}
    try:
        file, as_json = _options(arguments)
        environment = current_environment() if environment is None else environment
        known = environment.secrets()
        shown = overview(file, environment, time.time())
    except GenerationError as error:
        print(Redactor(known).redact(f"generation: {error}"), file=sys.stderr)
        return 2
    text = json.dumps(shown.as_json(), indent=2) if as_json else shown.as_text()
    print(Redactor(known).redact(text))
    return 0


def _options(arguments: Sequence[str]) -> tuple[str | None, bool]:
    """The router file, and whether JSON is wanted."""
    file, as_json = None, False
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if argument == "--json":
            as_json = True
        elif key == "router" and value:
            file = value
        else:
            raise RequestError(f"unknown argument {argument!r}{nearest(key + sign, ['router=', '--json', '--help'])}")
    return file, as_json


def _auto(settings: RouterSettings) -> dict[str, str]:
    first = next(iter(settings.chosen), None)
    if first is None:
        return {"provider": OFFLINE, "route": "", "model": ""}
    return {"provider": first.provider, "route": first.route, "model": first.models[0]}


def _row(route: RouteSettings, state: RouteState | None) -> tuple[str, ...]:
    models = _noted(", ".join(route.models) or "-", route.origins["models"])
    limits = [_limit(route, name) for name in NUMBERS]
    return route.provider, route.route, "ready" if route.configured else "not set", models, *limits, _breaker(state)


def _limit(route: RouteSettings, name: str) -> str:
    value = getattr(route.limits, name)
    text = OFF if value is None else f"{value:,}"
    if name == "output_tpm" and route.limits.output_weight != 1:
        text += f" x{route.limits.output_weight:g}"
    return _noted(text, route.origins[name])


def _noted(text: str, origin: str) -> str:
    return text if origin == FROM_DEFAULT else f"{text} ({origin})"


def _breaker(state: RouteState | None) -> str:
    if state is None:
        return "not used"
    if state.breaker != OPEN:
        return f"{state.breaker} (seen {_time(state.written)})"
    until = "until restarted" if state.open_until is None else f"until {_time(state.open_until)}"
    return f"open {until}, since {_time(state.written)} at the latest: {state.last_error}"


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
