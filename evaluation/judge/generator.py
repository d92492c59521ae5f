"""What sends a prompt to a language model, what it costs, and what is wrong where none can be asked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from evaluation.errors import EvaluationError
from evaluation.options import RefusedError
from generation.errors import (
    AuthError,
    CancelledError,
    GenerationError,
    QuotaError,
    RequestError,
    SpendingCapError,
)
from generation.router.environment import Environment
from generation.router.guard import install
from generation.router.open import present_environment, router_of, settings_for
from generation.router.routed import ANSWERED, FAILED, Routed
from generation.router.router import Router
from generation.router.secrets import Redactor
from generation.router.wire import Call, Message

Complete = Callable[[str], str]
INSTEAD = "Judge by hand with source=hand:<name>, or call evaluation.judge.llm.judge with a client of your own"
FINAL = (AuthError, QuotaError, SpendingCapError, RequestError, CancelledError)  # another call cannot fare better
OUTPUT_TOKENS = 1024  # of one reply: a JSON object
REQUESTS, INPUT, OUTPUT, DOLLARS = "requests", "input tokens", "output tokens", "US dollars"
UNPRICED = "replies without a known price"


class GeneratorError(EvaluationError):
    """No language model can be asked; the message says how to configure one."""


class CallError(GeneratorError, RefusedError):
    """A model was asked and did not answer. `final`: no other call can succeed either (key, quota, spending cap)."""

    def __init__(self, message: str, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


@runtime_checkable
class Metered(Protocol):
    """A `complete` that counts what it costs, such as tokens and money, by name."""

    @property
    def usage(self) -> Mapping[str, float]:
        """Sums over all calls so far."""


class RoutedGenerator:
    """Sends prompts through a router and counts what they cost; for any number of threads.

    Args:
        router: over the routes to one model.
        name: what errors call it, such as `by=llm:claude-sonnet-5`.
        timeout: seconds for a whole reply.
    """

    def __init__(self, router: Router, name: str, timeout: float) -> None:
        self._router = router
        self._name = name
        self._timeout = timeout
        self._lock = threading.Lock()
        self._usage: Counter[str] = Counter()

    @property
    def usage(self) -> Mapping[str, float]:
        """Requests, tokens and US dollars of all replies so far, and how many of them have no known price."""
        with self._lock:
            return dict(self._usage)

    def __call__(self, prompt: str) -> str:
        """The model's reply.

        Raises:
            CallError: there is none; the message lists each route with its reason and its remedy.
        """
        call = Call((Message("user", prompt),), OUTPUT_TOKENS, timeout=self._timeout)
        try:
            routed = self._router.ask(call)
        except GenerationError as error:
            raise CallError(f"{self._name}: {error}", final=isinstance(error, FINAL)) from error
        self._count(routed)
        return routed.reply.text

    def _count(self, routed: Routed) -> None:
        sent = sum(attempt.outcome in (ANSWERED, FAILED) for attempt in routed.attempts)
        with self._lock:
            self._usage[REQUESTS] += sent
            self._usage[INPUT] += routed.reply.input_tokens
            self._usage[OUTPUT] += routed.reply.output_tokens
            if routed.cost is None:
                self._usage[UNPRICED] += 1
            else:
                self._usage[DOLLARS] += routed.cost  # type: ignore[assignment]


def configured_generator(
    model: str,
    instead: str = INSTEAD,
    router_file: str | Path | None = None,
    environment: Environment | None = None,
) -> Complete:
    """What sends a prompt to a configured model, and counts what it costs (`Metered`).

    No reply comes from the cache: whoever asks again wants another one, since the first could not be read or since
    repeats are compared. Keys are kept out of logs and tracebacks of this process from now on.

    Args:
        model: as its route lists it, or exactly, `provider/route:model`. No other model answers for it.
        instead: what can be done without one, as the error says it.
        router_file: a router file or its name; None is the default.
        environment: keys by the names of their variables; None takes those of the process and of `.env`.

    Raises:
        GeneratorError: no configured route serves this model; the message names what to set.
    """
    name = f"by=llm:{model}"
    try:
        environment = present_environment() if environment is None else environment
        settings = settings_for(router_file, None, None, model, environment)
    except GenerationError as error:
        raise GeneratorError(f"{name}: no model can be asked: {error}\n{instead}") from error
    install(Redactor(environment.secrets()))
    return RoutedGenerator(router_of(settings, environment, cached=False), name, settings.timeout)


def usage_of(complete: Complete) -> dict[str, float]:
    """What a `complete` has cost so far; empty where it does not count."""
    return dict(complete.usage) if isinstance(complete, Metered) else {}


def spent(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What was spent between two counts."""
    return {name: value - before.get(name, 0.0) for name, value in after.items()}


def spent_text(usage: Mapping[str, float]) -> str:
    """What was spent, to be put behind a sentence: `, 0.0123 US dollars, 1200 input tokens`; nothing for 0."""
    return "".join(f", {_number(value)} {name}" for name, value in sorted(usage.items()) if value)


def _number(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.4g}"
