"""Computes the cost of a model request in US dollars, actual or at most, from its tokens and a given price."""

from __future__ import annotations

from bridle.core.agent import Price
from bridle.core.states import Usage

MILLION = 1_000_000


def cost(price: Price | None, usage: Usage) -> float:
    """Return the US dollars for this usage; 0 if no price is known, in which case no cost limit is accepted."""
    if price is None:
        return 0.0
    price = _in_force(price, usage.input + usage.cache_read + usage.cache_write)
    cache_read = price.input if price.cache_read is None else price.cache_read
    cache_write = price.input if price.cache_write is None else price.cache_write
    return (
        usage.input * price.input
        + (usage.output + usage.reasoning) * price.output
        + usage.cache_read * cache_read
        + usage.cache_write * cache_write
    ) / MILLION


def worst_cost(price: Price | None, input_tokens: int, output_tokens: int) -> float:
    """Return the highest possible cost of a request: every input token at the highest price."""
    if price is None:
        return 0.0
    price = _in_force(price, input_tokens)
    dearest = max(price.input, price.cache_write or 0.0)
    return (input_tokens * dearest + output_tokens * price.output) / MILLION


def _in_force(price: Price, reads: int) -> Price:
    """Return the price of a request that reads this many tokens."""
    return price.beyond if price.beyond is not None and reads > price.above else price
