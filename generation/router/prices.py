"""What tokens cost: LiteLLM's price table, and prices of one's own before it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from generation.router.wire import Target

PER_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens, input and output apart."""

    input: float
    output: float

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """US dollars for so many tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / PER_MILLION


def own_price(target: Target, prices: Mapping[str, Price]) -> Price | None:
    """The price that the user gave for a target; the most exact name counts.

    Names are `provider/route/model`, `model`, `provider/route`.
    """
    names = (f"{target.name}/{target.model}", target.model, target.name)
    return next((prices[name] for name in names if name in prices), None)


def listed_price(
    entries: Mapping[str, Any], names: Iterator[str] | tuple[str, ...], input_tokens: int
) -> Price | None:
    """The price of the first of these names that the table has, for a prompt of this length; None where none has one.

    The table has prices per token, and for long prompts higher ones under `..._above_200k_tokens`.
    """
    entry = next((entries[name] for name in names if name in entries), None)
    if entry is None:
        return None
    given = _at(entry, "input_cost_per_token", input_tokens), _at(entry, "output_cost_per_token", input_tokens)
    if any(price is None or not math.isfinite(price) or price < 0 for price in given):
        return None
    return Price(*(float(price or 0.0) * PER_MILLION for price in given))


def _at(entry: Mapping[str, Any], name: str, input_tokens: int) -> float | None:
    """The price per token that holds for a prompt of this length."""
    price, above = entry.get(name), 0
    for key, value in entry.items():
        if not (key.startswith(f"{name}_above_") and key.endswith("k_tokens")):
            continue
        limit = int(key.removeprefix(f"{name}_above_").removesuffix("k_tokens")) * 1_000
        if above < limit < input_tokens:
            price, above = value, limit
    return price
