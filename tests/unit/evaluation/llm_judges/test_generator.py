"""The bridge from `by=llm:<model>` to the router: one model, no cache, costs counted, errors told apart."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from evaluation.judge.generator import (
    CallError,
    GeneratorError,
    Metered,
    RoutedGenerator,
    configured_generator,
    spent_text,
)
from generation.errors import AuthError, CapacityError, GenerationError, ProviderError, QuotaError
from generation.router.environment import Environment
from generation.router.retry import RetryPolicy
from generation.router.router import Router
from generation.router.routes import RouteSettings
from generation.router.wire import Call, Reply, Target


class Fake:
    """A client that answers with the last word of the prompt; `fail` may raise instead."""

    def __init__(self, fail: Callable[[Target], GenerationError | None] = lambda _: None, price: float | None = 1e-6):
        self.fail, self.rate = fail, price
        self.calls: list[tuple[Target, Call]] = []

    def complete(self, target, call, on_text=None, cancelled=None) -> Reply:
        self.calls.append((target, call))
        error = self.fail(target)
        if error is not None:
            raise error
        text = call.messages[-1].content.split()[-1]
        return Reply(text, 100, 7)

    def count_tokens(self, target, call) -> int:
        return 10

    def most_output(self, target, call) -> int:
        return call.max_output_tokens

    def price(self, target, input_tokens, output_tokens) -> float | None:
        return None if self.rate is None else self.rate * (input_tokens + output_tokens)


ROUTE = RouteSettings("anthropic", "direct", ("m",))


def generator(client: Fake, *chain: RouteSettings) -> RoutedGenerator:
    router = Router(chain or (ROUTE,), client, policy=RetryPolicy(attempts=1, base=0.0))
    return RoutedGenerator(router, "by=llm:m", 9.0)


def test_prompts_go_out_and_costs_are_summed():
    client = Fake()
    complete = generator(client)
    assert isinstance(complete, Metered)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(complete, [f"say {at}" for at in range(40)])) == [str(at) for at in range(40)]
    usage = complete.usage
    assert usage.pop("US dollars") == pytest.approx(40 * 107e-6)
    assert usage == {"requests": 40, "input tokens": 4000, "output tokens": 280}
    call = client.calls[0][1]
    assert [message.role for message in call.messages] == ["user"]
    assert (call.temperature, call.timeout) == (0.0, 9.0)


def test_a_second_route_to_the_model_answers_and_both_requests_count():
    def down(target: Target) -> GenerationError | None:
        return CapacityError("down") if target.route == "direct" else None

    complete = generator(Fake(down), ROUTE, replace(ROUTE, route="bedrock"))
    assert complete("say yes") == "yes"
    usage = complete.usage
    assert (usage["requests"], usage["input tokens"]) == (2, 100)
    # the one that broke off is paid for in full: 10 tokens of prompt and the 1,024 that it might have produced
    assert usage["US dollars"] == pytest.approx((107 + 10 + 1_024) * 1e-6)


def test_calls_that_fail_cost_too():
    complete = generator(Fake(lambda _: ProviderError("no")))
    with pytest.raises(CallError):
        complete("say yes")
    assert complete.usage["requests"] == 2  # a broken reply is asked for once more
    assert complete.usage["US dollars"] == pytest.approx(2 * (10 + 1_024) * 1e-6)


def test_an_unknown_price_is_counted_and_not_taken_for_nothing():
    complete = generator(Fake(price=None))
    complete("say yes")
    assert complete.usage["requests without a known price"] == 1
    assert "US dollars" not in complete.usage


@pytest.mark.parametrize(
    ("error", "final"),
    [(AuthError("no"), True), (QuotaError("no"), True), (CapacityError("no"), False), (ProviderError("no"), False)],
)
def test_errors_say_whether_another_call_may_fare_better(error, final):
    with pytest.raises(CallError, match=r"by=llm:m: .*\n- anthropic/direct, m: .*Remedy") as raised:
        generator(Fake(lambda _: error))("say yes")
    assert raised.value.final is final


def test_without_a_configured_route_the_error_says_what_to_set_and_what_else_can_be_done():
    with pytest.raises(GeneratorError) as raised:
        configured_generator("claude-sonnet-5", environment=Environment({}))
    said = str(raised.value)
    assert said.startswith(
        "by=llm:claude-sonnet-5: no model can be asked: no route to 'claude-sonnet-5' is configured"
    )
    assert "- anthropic/direct: set ANTHROPIC_API_KEY" in said
    assert said.endswith("Judge by hand with source=hand:<name>, or call evaluation.judge.llm.judge with a client of"
                         " your own")  # fmt: skip


def test_what_was_spent_as_text():
    usage = {"requests": 3, "input tokens": 1234567, "US dollars": 0.0123456, "requests without a known price": 0}
    assert spent_text(usage) == ", 0.01235 US dollars, 1234567 input tokens, 3 requests"
    assert spent_text({}) == ""
