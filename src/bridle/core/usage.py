"""Tokens of a request (`Usage`), and tokens and cost summed per model (`ModelUse`); `pricing` computes the cost."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one request in disjoint fields: no token is counted in two of them."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.input + self.output + self.reasoning + self.cache_read + self.cache_write

    def plus(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            estimated=self.estimated or other.estimated,
        )


class ModelUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """The requests to one model: their tokens and their cost in US dollars.

    `tokens` also has those of requests whose process died, which `usage` cannot tell apart.
    """

    usage: Usage = Usage()
    tokens: int = 0
    cost: float = 0.0

    def plus(self, other: ModelUse) -> ModelUse:
        return ModelUse(self.usage.plus(other.usage), self.tokens + other.tokens, self.cost + other.cost)


def add_use(models: dict[str, ModelUse], model: str, use: ModelUse) -> None:
    """Add the use of a model, by reference, to a sum."""
    known = models.get(model)
    models[model] = use if known is None else known.plus(use)


def joined_use(one: Mapping[str, ModelUse], other: Mapping[str, ModelUse]) -> dict[str, ModelUse]:
    """Return the use of every model in either, by reference."""
    both = dict(one)
    for model, use in other.items():
        add_use(both, model, use)
    return both
