"""Every limit is one comparison: what is spent against what is allowed."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

LimitName = Literal["steps", "tool_calls", "tokens", "cost", "seconds"]
LIMIT_NAMES: tuple[LimitName, ...] = ("steps", "tool_calls", "tokens", "cost", "seconds")

MAX_STEPS = 200
WARN_AT = 0.8
LOWEST_OUTPUT_TOKENS = 1024
CLOSING_SECONDS = 30.0
TIMER_SECONDS = 0.01
"""Timers fire a little early, and recorded times are rounded: with less than this left, the time is up."""

Reason = Literal[
    "answered",
    "synthesized",
    "step_cap",
    "tool_budget",
    "token_budget",
    "cost_budget",
    "time_budget",
    "tree_budget",
    "doom_loop",
    "context_full",
    "denied",
    "empty",
    "error",
    "aborted",
]

REASON_OF_LIMIT: dict[LimitName, Reason] = {
    "steps": "step_cap",
    "tool_calls": "tool_budget",
    "tokens": "token_budget",
    "cost": "cost_budget",
    "seconds": "time_budget",
}
LIMIT_REASONS: frozenset[Reason] = frozenset({*REASON_OF_LIMIT.values(), "tree_budget"})


class Spent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was used up, or is asked for: one number for each limit."""

    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    def plus(self, other: Spent) -> Spent:
        if other is NOTHING or self is NOTHING:
            return other if self is NOTHING else self
        return Spent(
            self.steps + other.steps,
            self.tool_calls + other.tool_calls,
            self.tokens + other.tokens,
            self.cost + other.cost,
            self.seconds + other.seconds,
        )

    def minus(self, other: Spent) -> Spent:
        if other is NOTHING:
            return self
        return Spent(
            self.steps - other.steps,
            self.tool_calls - other.tool_calls,
            self.tokens - other.tokens,
            # Sums of prices drift in the last digits; a balance of nothing must read as nothing.
            max(0.0, round(self.cost - other.cost, 12)),
            self.seconds - other.seconds,
        )


NOTHING = Spent()


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is allowed; None means that this counter is not bounded here."""

    steps: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def of(self, name: LimitName) -> float | None:
        value: float | None = getattr(self, name)
        return value

    def reached(self, spent: Spent) -> LimitName | None:
        """The first limit of which nothing is left. Steps are not asked here: their last one closes the turn."""
        if self.tool_calls is not None and spent.tool_calls >= self.tool_calls:
            return "tool_calls"
        if self.tokens is not None and spent.tokens >= self.tokens:
            return "tokens"
        if self.cost is not None and spent.cost >= self.cost:
            return "cost"
        if self.seconds is not None and spent.seconds >= self.seconds - closing_seconds(self.seconds) - TIMER_SECONDS:
            return "seconds"
        return None

    def nearly_reached(self, spent: Spent, known: frozenset[LimitName]) -> tuple[LimitName, ...]:
        """The limits of which 80 % are spent and of which nobody was told yet."""
        near: tuple[LimitName, ...] = ()
        for name in LIMIT_NAMES:
            allowed = getattr(self, name)
            if allowed and name not in known and getattr(spent, name) >= WARN_AT * allowed:
                near += (name,)
        return near

    def at_most(self, other: Limits) -> Limits:
        """The smaller of both, limit by limit."""
        return msgspec.structs.replace(self, **{name: _smaller(self.of(name), other.of(name)) for name in LIMIT_NAMES})

    def over(self, other: Limits) -> Limits:
        """These limits, and the other's where these say nothing."""
        silent = {name: other.of(name) for name in LIMIT_NAMES if self.of(name) is None}
        return msgspec.structs.replace(self, **silent)

    def raised(self, name: LimitName, by: float) -> Limits:
        """The limits with one of them raised; one that is not set stays so."""
        allowed = self.of(name)
        if allowed is None:
            return self
        whole = name in ("steps", "tool_calls", "tokens")
        return msgspec.structs.replace(self, **{name: int(allowed + by) if whole else allowed + by})


UNLIMITED = Limits()


def _smaller(left: float | None, right: float | None) -> float | None:
    if left is None:
        return right
    if right is None:
        return left
    return min(left, right)


def closing_seconds(seconds: float) -> float:
    """The time that is held back for the closing request."""
    return min(CLOSING_SECONDS, seconds / 10)


def seconds_left(seconds: float, elapsed: float) -> float:
    """The time that is left before the closing request; never none at all, since a limit of nothing is no limit."""
    return max(TIMER_SECONDS, seconds - closing_seconds(seconds) - elapsed)


MOST = 10**15
"""More than anything that is counted here."""


def wrong_limit(name: LimitName, value: object) -> str | None:
    """Why this value cannot be a limit, as the end of a sentence that began with its key; None if it can."""
    whole = name in ("steps", "tool_calls", "tokens")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"must be a {'whole ' if whole else ''}number, not {value!r}"
    if whole and not isinstance(value, int):
        return f"must be a whole number, not {value!r}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be finite, not {value!r}"
    if value > MOST:
        return f"must be at most {MOST}"
    if value < 0:
        return f"must not be negative, not {value!r}"
    if value == 0 and name in ("tokens", "cost", "seconds"):
        return "must be more than 0: leave it out for no limit"
    return None


def effective_cap(steps: int | None, ceiling: int) -> int:
    """The number of steps that a turn may take."""
    return ceiling if steps is None else min(steps, ceiling)
