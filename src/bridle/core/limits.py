"""Every limit is a row of one table and one comparison: what is spent against what is allowed."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal, Protocol, get_args

import msgspec

LimitName = Literal["steps", "tool_calls", "tokens", "cost", "seconds"]
LIMIT_NAMES: tuple[LimitName, ...] = get_args(LimitName)
Scope = Literal["turn", "tree", "day", "month"]
Bound = LimitName | Literal["depth", "live", "total"]
"""Everything of which a tree may have nothing left: the limits, and the bounds on its subagents."""

MAX_STEPS = 200
WARN_AT = 0.8
LOWEST_OUTPUT_TOKENS = 1024
CLOSING_SECONDS = 30.0
TIMER_SECONDS = 0.01
"""Timers fire a little early, and recorded times are rounded: with less than this left, the time is up."""
SMALL_DOLLARS = 0.1
"""Limits below this are told with four decimals."""

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


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table: everything in which one limit differs from another."""

    name: LimitName
    reason: Reason
    """The reason with which a turn ends that has reached it."""
    headline: str
    """The words for that ending."""
    notice: str
    """The words for reader and model at 80 %, with `used`, `allowed`, `left` and `counted` (left, with its noun)."""
    noun: str
    """Its name in a sentence, as in "tool call limit"."""
    help: str = ""
    """More for the help of its flag."""
    extension: float
    """The least by which one key raises it."""
    unit: Literal["count", "dollars", "seconds"] = "count"
    thousands: bool = False
    """Shown in thousands where there is little room."""
    scopes: tuple[Scope, ...] = ("turn",)
    """Where it can be set."""
    shared: bool = False
    """A turn also counts what its subagents use, and what a request may need of it is reserved."""
    last_closes: bool = False
    """The last one closes the turn, instead of a request beyond the limit."""

    @property
    def whole(self) -> bool:
        """Whether it is a whole number."""
        return self.unit == "count"

    @property
    def label(self) -> str:
        """Its name beside a number, where there is little room: "calls"."""
        return f"{self.noun.split()[-1]}s" if self.whole else self.noun

    @property
    def units(self) -> str:
        """What is counted: "tool calls", "US dollars"."""
        return {"count": f"{self.noun}s", "dollars": "US dollars", "seconds": "seconds"}[self.unit]

    def exact(self, value: float) -> str:
        """Return a number without a word for its unit."""
        return f"${value:.4f}" if self.unit == "dollars" else f"{value:.0f}"

    def amount(self, value: float, allowed: float) -> str:
        """Return a number with its unit; money in the decimals that its limit needs."""
        if self.unit == "dollars":
            return f"${value:.4f}" if allowed < SMALL_DOLLARS else f"${value:.2f}"
        return f"{value:.0f} s" if self.unit == "seconds" else f"{value:.0f}"

    def bound(self, allowed: float) -> str:
        """ "25 steps", "$0.5", "120 s"."""
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
        help="; the last one closes. 0 only talks",
        extension=5,
        scopes=("turn", "tree"),
        last_closes=True,
    ),
    Limit(
        name="tool_calls",
        reason="tool_budget",
        headline="tool budget exhausted",
        notice="Tool call {used}/{allowed}, {left} remaining",
        noun="tool call",
        extension=20,
        scopes=("turn", "tree"),
    ),
    Limit(
        name="tokens",
        reason="token_budget",
        headline="token budget exhausted",
        notice="{used} of {allowed} tokens used",
        noun="token",
        extension=50_000,
        thousands=True,
        scopes=("turn", "tree"),
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
    ),
)
LIMITS: dict[LimitName, Limit] = {row.name: row for row in ROWS}
LIMIT_OF_REASON: dict[Reason, Limit] = {row.reason: row for row in ROWS}
TREE_BOUNDS: dict[str, tuple[int, int]] = {"depth": (0, 3), "live": (1, 64), "total": (0, 1_000)}
"""The least and the most that each bound of a tree may be."""


class Spent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was used up, or is asked for: one number for each limit, in the order of the table."""

    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    def plus(self, other: Spent) -> Spent:
        if other is NOTHING or self is NOTHING:
            return other if self is NOTHING else self
        # Several times a step, so not in a loop; a test sees to it that no limit is left out.
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

    def with_subagents(self, below: Spent) -> Spent:
        """Return a turn's own use with that of its subagents: what a tree counts and a turn does not count already."""
        rows = (row for row in ROWS if "tree" in row.scopes and not row.shared)
        added = {row.name: self.of(row.name) + below.of(row.name) for row in rows}
        return msgspec.structs.replace(self, **added)

    def without_subagents(self, below: Spent) -> Spent:
        """Return what a turn has used itself, of what it counts with its subagents."""
        own = {row.name: max(0, self.of(row.name) - below.of(row.name)) for row in ROWS if row.shared}
        return msgspec.structs.replace(self, **own)

    def of(self, name: LimitName) -> float:
        value: float = getattr(self, name)
        return value


NOTHING = Spent()


class Counters(Protocol):
    """What a turn keeps count of."""

    @property
    def steps(self) -> int: ...
    @property
    def tool_calls(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def cost(self) -> float: ...


def spent_by(turn: Counters, elapsed: float) -> Spent:
    """Return what a turn has used by this time."""
    return Spent(turn.steps, turn.tool_calls, turn.tokens, turn.cost, elapsed)


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is allowed, in the order of the table; None means that this counter is not bounded here."""

    steps: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def of(self, name: LimitName) -> float | None:
        value: float | None = getattr(self, name)
        return value

    def reached(self, spent: Spent) -> LimitName | None:
        """Return the first limit of which nothing is left, but for one whose last closes the turn."""
        for name, end in _ends(self):
            if getattr(spent, name) >= end:
                return name
        return None

    def nearly_reached(self, spent: Spent, known: frozenset[LimitName]) -> tuple[LimitName, ...]:
        """Return the limits of which 80 % are spent and that are not known to be near."""
        near: tuple[LimitName, ...] = ()
        for name, mark in _marks(self):
            if getattr(spent, name) >= mark and name not in known:
                near += (name,)
        return near

    def at_most(self, other: Limits) -> Limits:
        """Return the smaller of both, limit by limit."""
        both = {name: (self.of(name), other.of(name)) for name in LIMIT_NAMES}
        least = {name: min((each for each in pair if each is not None), default=None) for name, pair in both.items()}
        return msgspec.structs.replace(self, **least)

    def over(self, other: Limits) -> Limits:
        """Return these limits, and the other's where these say nothing."""
        silent = {name: other.of(name) for name in LIMIT_NAMES if self.of(name) is None}
        return msgspec.structs.replace(self, **silent)

    def raised(self, name: LimitName, by: float) -> Limits:
        """Return the limits with one of them raised; one that is not set stays so."""
        allowed = self.of(name)
        if allowed is None:
            return self
        return msgspec.structs.replace(self, **{name: int(allowed + by) if LIMITS[name].whole else allowed + by})


UNLIMITED = Limits()


@lru_cache(maxsize=1_000)
def _ends(limits: Limits) -> tuple[tuple[LimitName, float], ...]:
    """Return for each limit that is set how much may be used before the turn closes. Asked at every step."""
    rows = (row for row in ROWS if not row.last_closes)
    return tuple((row.name, _end(row, allowed)) for row in rows if (allowed := limits.of(row.name)) is not None)


def _end(row: Limit, allowed: float) -> float:
    return allowed - closing_seconds(allowed) - TIMER_SECONDS if row.unit == "seconds" else allowed


@lru_cache(maxsize=1_000)
def _marks(limits: Limits) -> tuple[tuple[LimitName, float], ...]:
    """Return for each limit that is set how much of it may be used without a word. Asked at every step."""
    return tuple((name, WARN_AT * allowed) for name in LIMIT_NAMES if (allowed := limits.of(name)))


def limits_in(given: Any) -> Limits:
    """Return the limits that settings of any kind have among their fields."""
    return Limits(**{name: getattr(given, name) for name in LIMIT_NAMES if hasattr(given, name)})


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
    row = LIMITS.get(name)
    if row is None:
        # Programs pass any name.
        return f"is no limit (known: {', '.join(LIMIT_NAMES)})"
    if isinstance(value, bool) or not isinstance(value, (int,) if row.whole else (int, float)):
        return f"must be a {'whole ' if row.whole else ''}number, not {value!r}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be finite, not {value!r}"
    if value > MOST:
        return f"must be at most {MOST}"
    if value < 0:
        return f"must not be negative, not {value!r}"
    # What every request needs some of cannot be nothing.
    if value == 0 and (row.shared or not row.whole):
        return "must be more than 0: leave it out for no limit"
    return None


def wrong_bound(name: str, value: object) -> str | None:
    """Why this value cannot be a bound of a tree, as `wrong_limit` says it."""
    least, most = TREE_BOUNDS[name]
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        return f"must be a whole number from {least} to {most}, not {value!r}"
    return None


def effective_cap(steps: int | None, ceiling: int) -> int:
    """The number of steps that a turn may take."""
    return ceiling if steps is None else min(steps, ceiling)


def counted(number: int, noun: str) -> str:
    """ "1 step", "2 steps"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
