"""Types of the native API's answers about a part of a session: a page of its events, and its summary."""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.core.events import SessionInfo
from bridle.core.limits import LimitName, Scope
from bridle.core.status import Status
from bridle.core.todos import Todo
from bridle.wire.events import AskEvent, Event


class LimitUse(msgspec.Struct, frozen=True, kw_only=True):
    """What is used of one limit; `allowed` is None where there is none."""

    name: LimitName
    scope: Scope
    label: str
    words: str
    """Both numbers with their unit: "3/25"."""
    used: float
    allowed: float | None
    extension: float
    """An amount by which it is usually raised."""


class PastEntry(msgspec.Struct, frozen=True):
    """The events of one journal entry, its time, and the turn that it belongs to."""

    sequence: int
    at: float
    turn: int
    events: tuple[Event, ...]


class HistoryPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the past. Follow the events after `sequence` once `newer` is false."""

    entries: tuple[PastEntry, ...]
    open: tuple[Event, ...]
    """What is not complete yet, on the newest page: text so far, and calls that have not started."""
    older: bool
    newer: bool
    sequence: int
    """The number of the session's last entry."""
    now: float
    """The server's clock, to compare with the times of entries."""


class OpenAskDetails(msgspec.Struct, frozen=True, kw_only=True):
    """An ask, with the tool call that it is about."""

    ask: AskEvent
    tool: str
    input: Any


class WaitingPrompt(msgspec.Struct, frozen=True):
    """A prompt that no turn has taken; `queue` means that it waits for a turn of its own."""

    id: str
    text: str
    files: tuple[str, ...]
    queue: bool


class SubagentState(msgspec.Struct, frozen=True, kw_only=True):
    """A subagent in the tree of a session."""

    session: str
    agent: str
    arguments: Any
    state: str
    steps: int
    cap: int
    below: tuple[SubagentState, ...]


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A session in short, as it is now."""

    info: SessionInfo
    title: str
    status: Status
    sequence: int
    turns: int
    agent: str
    model: str
    cost: float
    limits: tuple[LimitUse, ...]
    asks: tuple[OpenAskDetails, ...]
    waiting: tuple[WaitingPrompt, ...]
    todos: tuple[Todo, ...]
    subagents: tuple[SubagentState, ...]
    undone: int
    """The first turn that is undone and can be restored; 0 if none is."""
    reason: str
    """How the last turn ended; empty while one runs."""
