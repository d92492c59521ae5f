"""Simulated traffic over the six routes with their default limits, and an independent count of what was sent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from generation.errors import CapacityError, GenerationError, RateLimitError
from generation.router.environment import Environment
from generation.router.lanes import Lanes, LaneSettings
from generation.router.router import Router
from generation.router.router_file import read_router_file
from generation.router.routes import RouteSettings, read_routes
from generation.router.wire import Call, Message, Reply, Target
from tests.clocks import ThreadedClock

WINDOW = 60.0
RESOURCES = ("rpm", "input_tpm", "output_tpm")


@dataclass(frozen=True)
class Load:
    """What one route is asked: its share of 10,000 requests, and from what ranges tokens are drawn (uniformly)."""

    share: int
    inputs: tuple[int, int]
    outputs: tuple[int, int]
    workers: int


# Sizes are such that on two routes each of the three limits binds; shares such that all are busy for 20 minutes.
LOADS = {
    "anthropic/direct": Load(800, (200, 1_800), (50, 400), 12),
    "anthropic/bedrock": Load(840, (50, 550), (20, 60), 12),
    "openai/direct": Load(4_000, (200, 1_800), (100, 800), 32),
    "openai/azure": Load(2_860, (50, 550), (600, 1_000), 32),
    "gemini/direct": Load(300, (100, 900), (50, 500), 8),
    "gemini/vertex": Load(1_200, (200, 1_800), (100, 800), 12),
}


@dataclass(frozen=True)
class Sent:
    """One request as a server would count it."""

    at: float
    tokens: tuple[int, int]


@dataclass
class FakeServers:
    """A client whose servers answer after 1 to 3 s, with the tokens that the prompt names; it keeps the log.

    `fault` draws an error for a request, or none. Input is estimated a fifth too high, as estimates are.
    """

    clock: ThreadedClock
    fault: Callable[[np.random.Generator], GenerationError | None]
    log: dict[str, list[Sent]] = field(default_factory=lambda: {name: [] for name in LOADS})
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count_tokens(self, target: Target, call: Call) -> int:
        prompt = call.messages[0].content.split()
        return int(prompt[0]) * 6 // 5 if prompt else 0  # the text of a reply is left empty

    def price(self, target: Target, input_tokens: int, output_tokens: int) -> float | None:
        return None

    def complete(self, target, call, on_text=None, cancelled=None):
        inputs, outputs, seed = (int(word) for word in call.messages[0].content.split())
        with self.lock:
            rng = np.random.default_rng([seed, len(self.log[target.name])])
            error = self.fault(rng)
            produced = 0 if isinstance(error, RateLimitError) else outputs  # who refuses writes nothing
            self.log[target.name].append(Sent(self.clock.now(), (inputs, produced)))
        self.clock.sleep(float(rng.uniform(1.0, 3.0)))
        if error is not None:
            raise error
        return Reply("", inputs, outputs)


def default_routes() -> dict[str, RouteSettings]:
    """The six routes with the limits of the default router file, as if all were configured."""
    routes = {route.name: route for route in read_routes(read_router_file(None), Environment({}))}
    return {name: replace(routes[name], configured=True, models=("m",)) for name in LOADS}


def no_fault(rng: np.random.Generator) -> None:
    """A server that always answers."""


def some_faults(rng: np.random.Generator) -> GenerationError | None:
    """A server that fails twice in a hundred, and asks to wait once in a hundred."""
    drawn = rng.random()
    if drawn < 0.02:
        return CapacityError("503")
    return RateLimitError("429", 2.0) if drawn < 0.03 else None


def simulate(fault: Callable[[np.random.Generator], GenerationError | None], part: float = 1.0, seed: int = 13):
    """Send 10,000 requests (or a part) by 108 threads through routers that share their lanes.

    Returns:
        The servers' log by route, the replies that were got, and the errors.
    """
    clock = ThreadedClock()
    servers = FakeServers(clock, fault)
    lanes = Lanes(clock, LaneSettings())
    replies, errors, jobs = [], [], []
    for number, (name, route) in enumerate(default_routes().items()):
        router = Router((route,), servers, lanes)
        load = LOADS[name]
        rng = np.random.default_rng([seed, number])
        count = round(load.share * part)
        sizes = list(zip(rng.integers(*load.inputs, count), rng.integers(*load.outputs, count), strict=True))
        jobs += [_worker(router, sizes, load, clock, [seed, number, w], replies, errors) for w in range(load.workers)]
    clock.run(jobs, seconds=120.0)
    return servers.log, replies, errors


def _worker(router, sizes, load, clock, seed, replies, errors):
    rng = np.random.default_rng(seed)

    def job():
        while True:
            try:
                inputs, outputs = sizes.pop()
            except IndexError:
                return
            clock.sleep(float(rng.exponential(0.2)))
            content = f"{inputs} {outputs} {rng.integers(1 << 30)}"
            call = Call((Message("user", content),), max_output_tokens=load.outputs[1])
            try:
                replies.append(router.ask(call))
            except GenerationError as error:
                errors.append(error)

    return job


def fullest(log: list[Sent], route: RouteSettings) -> dict[str, float]:
    """The most of each resource in any window of 60 s, by two pointers over the log; output with its weight."""
    most = dict.fromkeys(RESOURCES, 0.0)
    log, first = sorted(log, key=lambda sent: sent.at), 0
    held = np.zeros(3)
    for sent in log:
        held += _amounts(sent, route)
        while log[first].at <= sent.at - WINDOW:
            held -= _amounts(log[first], route)
            first += 1
        for name, value in zip(RESOURCES, held, strict=True):
            most[name] = max(most[name], float(value))
    return most


def use(log: list[Sent], route: RouteSettings) -> dict[str, float]:
    """The share of each limit that was used, over all whole minutes in which the route was busy.

    Within n whole minutes no more than n times the limit can be sent; so 1 is all that a limit allows, and the
    largest share is that of the limit that binds.
    """
    minutes = int(max(sent.at for sent in log) // WINDOW)
    total = sum(_amounts(sent, route) for sent in log if sent.at < minutes * WINDOW)
    limits = [getattr(route.limits, name) for name in RESOURCES]
    return {name: float(t) / (limit * minutes) for name, t, limit in zip(RESOURCES, total, limits, strict=True)}


def _amounts(sent: Sent, route: RouteSettings) -> np.ndarray:
    return np.array([1.0, sent.tokens[0], sent.tokens[1] * route.limits.output_weight])
