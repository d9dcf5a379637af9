"""The table of limits (steps, tool calls, tokens, cost, seconds); `Limits` and `Spent`, with comparison and words."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal, get_args

import msgspec

LimitName = Literal["steps", "tool_calls", "tokens", "cost", "seconds"]
LIMIT_NAMES: tuple[LimitName, ...] = get_args(LimitName)
Scope = Literal["turn", "tree", "day", "month"]
Bound = LimitName | Literal["depth", "live", "total"]
"""Everything that a tree can run out of: the limits, and the bounds on its subagents."""

MAX_STEPS = 200
WARN_AT = 0.8
LOWEST_OUTPUT_TOKENS = 1024
CLOSING_SECONDS = 30.0
TIMER_SECONDS = 0.01
"""With less than this left, the time is up: timers fire a little early, and recorded times are rounded."""
SMALL_DOLLARS = 0.1
"""Limits below this are shown with four decimals."""

LimitReason = Literal["step_cap", "tool_budget", "token_budget", "cost_budget", "time_budget"]
OtherReason = Literal["tree_budget", "doom_loop", "context_full", "denied", "empty", "error", "aborted"]
Reason = Literal["answered", "synthesized", LimitReason, OtherReason]
"""Why a turn ended."""


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table: all properties in which limits differ."""

    name: LimitName
    reason: LimitReason
    """The reason with which a turn ends when it reaches this limit."""
    headline: str
    """The text for that ending."""
    notice: str
    """The text for reader and model at 80 %, with `used`, `allowed`, `left` and `counted` (left, with its noun)."""
    noun: str
    """Its name in a sentence, as in "tool call limit"."""
    help: str = ""
    """Additional text for the help of its flag."""
    extension: float
    """The smallest amount by which one key press raises it."""
    unit: Literal["count", "dollars", "seconds"] = "count"
    thousands: bool = False
    """Shown in thousands where space is short."""
    scopes: tuple[Scope, ...] = ("turn", "tree")
    """Where it can be set."""
    shared: bool = False
    """A turn also counts the use of its subagents, and requests reserve their share of it."""
    last_closes: bool = False
    """The last unit closes the turn, instead of a request beyond the limit."""
    since_start: bool = True
    """Every recorded ending has its amount. False for a limit that was added later: older records do not count it."""

    @property
    def whole(self) -> bool:
        """Whether it is a whole number."""
        return self.unit == "count"

    @property
    def label(self) -> str:
        """Its name beside a number where space is short: "calls"."""
        return f"{self.noun.split()[-1]}s" if self.whole else self.noun

    @property
    def units(self) -> str:
        """The counted unit: "tool calls", "US dollars"."""
        return {"count": f"{self.noun}s", "dollars": "US dollars", "seconds": "seconds"}[self.unit]

    def exact(self, value: float) -> str:
        """Return a number without its unit."""
        return f"${value:.4f}" if self.unit == "dollars" else f"{value:.0f}"

    def amount(self, value: float, allowed: float) -> str:
        """Return a number with its unit; money has the decimals that its limit needs."""
        if self.unit == "dollars":
            return f"${value:.4f}" if allowed < SMALL_DOLLARS else f"${value:.2f}"
        return f"{value:.0f} s" if self.unit == "seconds" else f"{value:.0f}"

    def bound(self, allowed: float) -> str:
        """Return a limit with its unit: "25 steps", "$0.5", "120 s"."""
        if self.unit == "dollars":
            return f"${allowed}"
        return f"{allowed:g} s" if self.unit == "seconds" else counted(int(allowed), self.noun)


ROWS = (
    Limit(
        name="steps",
        reason="step_cap",
        headline="step limit reached",
        notice="Step {used}/{allowed}, {counted} remaining",
        noun="step",
        help="; the last one answers without tools. 0 disables tools",
        extension=5,
        last_closes=True,
    ),
    Limit(
        name="tool_calls",
        reason="tool_budget",
        headline="tool budget exhausted",
        notice="Tool call {used}/{allowed}, {left} remaining",
        noun="tool call",
        extension=20,
    ),
    Limit(
        name="tokens",
        reason="token_budget",
        headline="token budget exhausted",
        notice="{used} of {allowed} tokens used",
        noun="token",
        extension=50_000,
        thousands=True,
        scopes=("turn", "tree", "day", "month"),
        shared=True,
    ),
    Limit(
        name="cost",
        reason="cost_budget",
        headline="cost budget exhausted",
        notice="{used} of {allowed} spent",
        noun="cost",
        extension=0.5,
        unit="dollars",
        scopes=("turn", "tree", "day", "month"),
        shared=True,
    ),
    Limit(
        name="seconds",
        reason="time_budget",
        headline="time budget exhausted",
        notice="{used} of {allowed} seconds used",
        noun="time",
        extension=120,
        unit="seconds",
        scopes=("turn",),
    ),
)
LIMITS: dict[LimitName, Limit] = {row.name: row for row in ROWS}
LIMIT_OF_REASON: dict[Reason, Limit] = {row.reason: row for row in ROWS}
TREE_BOUNDS: dict[str, tuple[int, int]] = {"depth": (0, 3), "live": (1, 64), "total": (0, 1_000)}
"""The smallest and the largest allowed value of each bound of a tree."""


class Spent(msgspec.Struct, frozen=True, omit_defaults=True):
    """Amounts used or requested: one number per limit, in the order of the table."""

    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    def plus(self, other: Spent) -> Spent:
        if other is NOTHING or self is NOTHING:
            return other if self is NOTHING else self
        # Not a loop, because it runs several times per step; a test checks that no limit is missing.
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
            # Sums of prices drift in the last digits; a balance of zero must read as zero.
            max(0.0, round(self.cost - other.cost, 12)),
            self.seconds - other.seconds,
        )

    def with_subagents(self, below: Spent) -> Spent:
        """Return a turn's own use plus the use of its subagents that the tree counts and the turn does not yet."""
        rows = (row for row in ROWS if "tree" in row.scopes and not row.shared)
        added = {row.name: self.of(row.name) + below.of(row.name) for row in rows}
        return msgspec.structs.replace(self, **added)

    def without_subagents(self, below: Spent) -> Spent:
        """Return a turn's own use, without the share of its subagents."""
        own = {row.name: max(0, self.of(row.name) - below.of(row.name)) for row in ROWS if row.shared}
        return msgspec.structs.replace(self, **own)

    @property
    def shared(self) -> Spent:
        """The amounts that a turn counts for its subagents too."""
        return Spent(**{row.name: getattr(self, row.name) for row in ROWS if row.shared})

    def of(self, name: LimitName) -> float:
        value: float = getattr(self, name)
        return value


NOTHING = Spent()


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The allowed amounts, in the order of the table; None means not limited here."""

    steps: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def of(self, name: LimitName) -> float | None:
        value: float | None = getattr(self, name)
        return value

    @property
    def given(self) -> dict[LimitName, float]:
        """The limits that are set, by name."""
        return {name: value for name in LIMIT_NAMES if (value := self.of(name)) is not None}

    def reached(self, spent: Spent) -> LimitName | None:
        """Return the first exhausted limit, except one whose last unit closes the turn."""
        for name, end in _ends(self):
            if getattr(spent, name) >= end:
                return name
        return None

    def nearly_reached(self, spent: Spent, known: frozenset[LimitName]) -> tuple[LimitName, ...]:
        """Return the limits of which 80 % are spent and that are not in `known`."""
        near: tuple[LimitName, ...] = ()
        for name, mark in _marks(self):
            if getattr(spent, name) >= mark and name not in known:
                near += (name,)
        return near

    def at_most(self, other: Limits) -> Limits:
        """Return the smaller value of each limit."""
        both = {name: (self.of(name), other.of(name)) for name in LIMIT_NAMES}
        least = {name: min((each for each in pair if each is not None), default=None) for name, pair in both.items()}
        return msgspec.structs.replace(self, **least)

    def counted_from(self, spent: Spent) -> Limits:
        """Return the limits of a turn that has used this much, if these count from now on."""
        return msgspec.structs.replace(self, **{name: spent.of(name) + value for name, value in self.given.items()})

    def over(self, other: Limits) -> Limits:
        """Return these limits, with the other's where these are not set."""
        silent = {name: other.of(name) for name in LIMIT_NAMES if self.of(name) is None}
        return msgspec.structs.replace(self, **silent)

    def raised(self, name: LimitName, by: float) -> Limits:
        """Return the limits with one of them raised; a limit that is not set stays unset."""
        allowed = self.of(name)
        if allowed is None:
            return self
        return msgspec.structs.replace(self, **{name: int(allowed + by) if LIMITS[name].whole else allowed + by})


UNLIMITED = Limits()


class ReachedLimit(msgspec.Struct, frozen=True, omit_defaults=True):
    """The limit that ended a turn: where it is set, the spent and the allowed amount.

    `account` is the name of the account whose day or month it is; empty for the user's own.
    """

    name: LimitName
    scope: Scope
    spent: float
    allowed: float
    account: str = ""


class AgentLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits that settings can set for a turn, except steps, which have a key of their own."""

    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


class LimitsOfTree(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The limits that settings can set for a turn and its subagents together."""

    steps: int | None = 1_000
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None


class Allowance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits that settings can set for a day or a month."""

    tokens: int | None = None
    cost: float | None = None


@lru_cache(maxsize=1_000)
def _ends(limits: Limits) -> tuple[tuple[LimitName, float], ...]:
    """Return for each limit that is set the amount at which the turn closes. Called at every step."""
    rows = (row for row in ROWS if not row.last_closes)
    return tuple((row.name, _end(row, allowed)) for row in rows if (allowed := limits.of(row.name)) is not None)


def _end(row: Limit, allowed: float) -> float:
    return allowed - closing_seconds(allowed) - TIMER_SECONDS if row.unit == "seconds" else allowed


@lru_cache(maxsize=1_000)
def _marks(limits: Limits) -> tuple[tuple[LimitName, float], ...]:
    """Return for each limit that is set the amount above which a notice is due. Called at every step."""
    return tuple((name, WARN_AT * allowed) for name in LIMIT_NAMES if (allowed := limits.of(name)))


def limits_in(given: Any) -> Limits:
    """Return the limits found among the fields of any settings object."""
    return Limits(**{name: getattr(given, name) for name in LIMIT_NAMES if hasattr(given, name)})


def closing_seconds(seconds: float) -> float:
    """Return the seconds held back for the closing request."""
    return min(CLOSING_SECONDS, seconds / 10)


def seconds_left(seconds: float, elapsed: float) -> float:
    """Return the seconds left before the closing request; never 0, because a limit of 0 means no limit."""
    return max(TIMER_SECONDS, seconds - closing_seconds(seconds) - elapsed)


MOST = 10**15
"""More than any amount counted here."""


def wrong_limit(name: LimitName, value: object) -> str | None:
    """Return why this value cannot be a limit, as the end of a sentence that began with its key; None if it can."""
    row = LIMITS.get(name)
    if row is None:
        # Programs may pass any name.
        return f"is no limit (known: {', '.join(LIMIT_NAMES)})"
    if isinstance(value, bool) or not isinstance(value, (int,) if row.whole else (int, float)):
        return f"must be a {'whole ' if row.whole else ''}number, not {value!r}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be finite, not {value!r}"
    if value > MOST:
        return f"must be at most {MOST}"
    if value < 0:
        return f"must not be negative, not {value!r}"
    # Every request needs some of it, so it cannot be 0.
    if value == 0 and (row.shared or not row.whole):
        return "must be more than 0: leave it out for no limit"
    return None


def wrong_bound(name: str, value: object) -> str | None:
    """Return why this value cannot be a bound of a tree, in the form of `wrong_limit`."""
    least, most = TREE_BOUNDS[name]
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        return f"must be a whole number from {least} to {most}, not {value!r}"
    return None


def effective_cap(steps: int | None, ceiling: int) -> int:
    """Return the number of steps that a turn may take."""
    return ceiling if steps is None else min(steps, ceiling)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 step", "2 steps"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
