"""Expectations for each limit: the words of its row, and its count in a record, written without the fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bridle.core.events import CallMoved, Entry, PartPut, Recorded, RequestMoved
from bridle.core.limits import UNLIMITED, LimitName
from bridle.core.parts import Call, Changed, Part, Patch, Request, StepFinish, StepStart, TurnStart
from bridle.core.states import Done, Interrupted, Open, Repeat, Replied, Report, Running, Usage, Waiting
from support.oracle_events import History, is_part


class Row(NamedTuple):
    """One row of the table, as the tests expect it."""

    label: str
    units: str
    numbers: tuple[str, str, str, str]
    """1 exactly, 1 of 2, 0.01 of 0.05, and a limit of 1."""
    headline: str
    notice: str
    counts: Callable[[History, float], Any]
    """The amount in the events of a turn, and in its elapsed seconds."""
    help: str = ""
    extension: float = 1
    flags: frozenset[str] = frozenset()
    """The switches that are on."""


def steps(turn: History, _: float) -> float:
    return sum(is_part(event, StepStart) for _, event in turn)


def tool_calls(turn: History, _: float) -> float:
    started, repeated = 0, set()
    for _entry, event in turn:
        if isinstance(event, CallMoved):
            if isinstance(event.state, Repeat):
                repeated.add(event.id)
            elif isinstance(event.state, (Running, Waiting)):
                started += event.id not in repeated
                repeated.add(event.id)
    return started


def tokens(turn: History, _: float) -> float:
    found = 0
    for state in paid(turn):
        match state:
            case Open():
                found += state.tries[-1].usage.total
            case Report():
                found += state.spent.tokens
            case Interrupted():
                found += state.tokens
            case _:
                found += state.usage.total
    return found


def cost(turn: History, _: float) -> float:
    found = 0.0
    for state in paid(turn):
        match state:
            case Open():
                found += state.tries[-1].cost
            case Report():
                found += state.spent.cost
            case _:
                found += state.cost
    return found


def paid(turn: History) -> Iterator[Any]:
    """All states of requests and reports of subagents."""
    for _, event in turn:
        if isinstance(event, RequestMoved):
            yield event.state
        elif isinstance(event, CallMoved) and (report := getattr(event.state, "report", None)) is not None:
            yield report


EXPECTED: dict[LimitName, Row] = {
    "steps": Row(
        "steps",
        "steps",
        ("1", "1", "0", "1 step"),
        "step limit reached",
        "Step {used}/{allowed}, {counted} remaining",
        steps,
        help="; the last one answers without tools. 0 disables tools",
        extension=5,
        flags=frozenset({"last_closes"}),
    ),
    "tool_calls": Row(
        "calls",
        "tool calls",
        ("1", "1", "0", "1 tool call"),
        "tool budget exhausted",
        "Tool call {used}/{allowed}, {left} remaining",
        tool_calls,
        extension=20,
    ),
    "tokens": Row(
        "tokens",
        "tokens",
        ("1", "1", "0", "1 token"),
        "token budget exhausted",
        "{used} of {allowed} tokens used",
        tokens,
        extension=50_000,
        flags=frozenset({"thousands", "shared"}),
    ),
    "cost": Row(
        "cost",
        "US dollars",
        ("$1.0000", "$1.00", "$0.0100", "$1"),
        "cost budget exhausted",
        "{used} of {allowed} spent",
        cost,
        extension=0.5,
        flags=frozenset({"shared"}),
    ),
    "seconds": Row(
        "time",
        "seconds",
        ("1", "1 s", "0 s", "1 s"),
        "time budget exhausted",
        "{used} of {allowed} seconds used",
        lambda _, elapsed: elapsed,
        extension=120,
    ),
}


def put(*parts: Part) -> tuple[Recorded, ...]:
    return tuple(PartPut(part) for part in parts)


RECORD = [
    Entry(place, 0.0, float(place), events)
    for place, events in enumerate(
        [
            put(TurnStart("1.start", 1, "build", "scripted", 5, UNLIMITED, "deny")),
            put(StepStart("1.1.start", 1, 5), Request("1.1.1", "step", 1, 1, "scripted")),
            put(Call("c", "write", "{}", "digest"), Patch("1.1.patch", "before")),
            (RequestMoved("1.1.1", Replied(Usage(input=2), cost=0.5)),),
            put(StepFinish("1.1.1.finish", 1, 1)),
            (CallMoved("c", Running()),),
            (CallMoved("c", Done("written", "digest", files=("a",))),),
            put(Patch("1.1.patch", "before", "after", (Changed("b", "added", 1),), state="taken")),
        ],
        1,
    )
]
"""A turn that uses something of every limit."""
