"""What tokens cost."""

from __future__ import annotations

import math

import pytest

from generation.router.prices import Price, listed_price, own_price
from generation.router.wire import Target

TABLE = {
    "m": {"input_cost_per_token": 2e-6, "output_cost_per_token": 1e-5},
    "long": {
        "input_cost_per_token": 1e-6,
        "output_cost_per_token": 4e-6,
        "input_cost_per_token_above_200k_tokens": 2e-6,
        "output_cost_per_token_above_200k_tokens": 6e-6,
        "input_cost_per_token_above_200k_tokens_batches": 9.0,
        "input_cost_per_token_above_272k_tokens": 3e-6,
    },
    "no output": {"input_cost_per_token": 1e-6},
    "broken": {"input_cost_per_token": math.nan, "output_cost_per_token": 1.0},
}


def test_the_price_of_a_call_by_hand() -> None:
    price = listed_price(TABLE, ("route/m", "m"), 1_000)
    assert price is not None
    assert price.cost(1_000, 100) == pytest.approx(1_000 * 2e-6 + 100 * 1e-5)


@pytest.mark.parametrize(("tokens", "given", "made"), [(200_000, 1, 4), (200_001, 2, 6), (300_000, 3, 6)])
def test_long_prompts_cost_more(tokens: int, given: float, made: float) -> None:
    assert listed_price(TABLE, ("long",), tokens) == Price(pytest.approx(given), pytest.approx(made))


@pytest.mark.parametrize("name", ["unknown", "no output", "broken"])
def test_no_price_is_better_than_a_wrong_one(name: str) -> None:
    assert listed_price(TABLE, (name,), 10) is None


def test_the_most_exact_name_counts() -> None:
    target = Target("compatible", "any", "m")
    prices = {"compatible/any": Price(1, 1), "m": Price(2, 2), "compatible/any/m": Price(3, 3)}
    assert own_price(target, prices) == Price(3, 3)
    assert own_price(Target("compatible", "any", "n"), prices) == Price(1, 1)
    assert own_price(Target("openai", "direct", "m"), prices) == Price(2, 2)
    assert own_price(Target("openai", "direct", "n"), prices) is None
