"""What sends a prompt to a language model, what it costs, and what is wrong where none can be asked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
from generation.router.environment import Environment, current_environment
from generation.router.guard import protect
from generation.router.open import LONG_RUN, router_of, settings_for
from generation.router.routed import ANSWERED, FAILED, Attempt
from generation.router.router import Router
from generation.router.wire import Call, Message

Complete = Callable[[str], str]
INSTEAD = "Judge by hand with source=hand:<name>, or call evaluation.judge.llm.judge with a client of your own"
FINAL = (AuthError, QuotaError, SpendingCapError, RequestError, CancelledError)  # another call cannot fare better
OUTPUT_TOKENS = 1024  # of one reply: a JSON object
REQUESTS, INPUT, OUTPUT, DOLLARS = "requests", "input tokens", "output tokens", "US dollars"
UNPRICED = "requests without a known price"


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
        """Tokens of all replies so far, requests, what these cost in US dollars, and how many have no known price."""
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
            self._count(error.attempts)
            raise CallError(f"{self._name}: {error}", final=isinstance(error, FINAL)) from error
        self._count(routed.attempts, routed.reply.input_tokens, routed.reply.output_tokens)
        return routed.reply.text

    def _count(self, attempts: Sequence[Attempt], input_tokens: int = 0, output_tokens: int = 0) -> None:
        """Add a call: all its requests and their cost, those that gave no reply included, and the reply's tokens."""
        sent = [attempt for attempt in attempts if attempt.outcome in (ANSWERED, FAILED)]
        costs = [attempt.cost for attempt in sent if attempt.cost is not None]
        with self._lock:
            self._usage[REQUESTS] += len(sent)
            self._usage[INPUT] += input_tokens
            self._usage[OUTPUT] += output_tokens
            if costs:
                self._usage[DOLLARS] += sum(costs)  # type: ignore[assignment]
            if len(costs) < len(sent):
                self._usage[UNPRICED] += len(sent) - len(costs)


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
        environment = current_environment() if environment is None else environment
        settings = settings_for(router_file, None, None, model, environment, LONG_RUN)
    except GenerationError as error:
        raise GeneratorError(f"{name}: no model can be asked: {error}\n{instead}") from error
    protect(environment)
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
