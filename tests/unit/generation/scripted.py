"""A router over a client that follows a script."""

from __future__ import annotations

from dataclasses import dataclass, field

from generation.router.lanes import Lanes
from generation.router.router import Router
from generation.router.routes import RouteSettings
from generation.router.wire import Call, Message, Reply
from tests.clocks import SimulatedClock

CALL = Call((Message("user", "PROMPT: what is a window?"),), max_output_tokens=100)
OK = Reply("sixty seconds", 10, 3)
A = RouteSettings("anthropic", "direct", ("big", "small"))
B = RouteSettings("openai", "azure", ("other",))


@dataclass
class Scripted:
    """A client that does what the script says for `provider/route:model`; the last behaviour repeats."""

    clock: object
    script: dict
    seconds: float = 0.0
    sent: list = field(default_factory=list)
    price_of_one: float | None = 0.0

    def count_tokens(self, target, call):
        return sum(len(message.content.split()) for message in call.messages)

    def price(self, target, input_tokens, output_tokens):
        return self.price_of_one

    def complete(self, target, call, on_text=None, cancelled=None):
        name = f"{target.name}:{target.model}"
        self.sent.append((name, self.clock.now()))
        if self.seconds:
            self.clock.sleep(self.seconds)
        steps = self.script[name]
        step = steps.pop(0) if len(steps) > 1 else steps[0]
        for piece in step[:-1] if isinstance(step, tuple) else ():
            on_text(piece)
        end = step[-1] if isinstance(step, tuple) else step
        if isinstance(end, Reply):
            return end
        raise end

    @property
    def names(self):
        return [name for name, _ in self.sent]


BIG, SMALL, OTHER = "anthropic/direct:big", "anthropic/direct:small", "openai/azure:other"


def build(script, chain=(A, B), clock=None, settings=None, **options):
    clock = clock or SimulatedClock()
    client = Scripted(clock, script, **{k: options.pop(k) for k in ("seconds", "price_of_one") if k in options})
    return Router(chain, client, Lanes(clock, settings), **options), client, clock


def outcomes(routed):
    return [(one.target.model, one.outcome, one.error) for one in routed.attempts]
