"""Events of a session: recorded ones, appended to the journal as an `Entry`, and live text deltas, never stored."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.parts import Part
from bridle.core.permission import Approvals
from bridle.core.states import CallState, RequestState


class SessionInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Facts about a session besides its parts."""

    id: str
    directory: str
    title: str = ""
    created: float = 0.0
    agent: str = ""
    model: str = ""
    """Agent and model for which it was created, unless a prompt names others; empty for the default ones."""
    parent: str = ""
    app: str = ""
    """The program whose agents the session needs; empty for the agents of the configuration."""
    place: str = ""
    """The machine with the session's files; empty if any machine may drive it. Both are inherited by subagents."""
    pinned: bool = False
    """A person wants it at the top of lists."""
    approvals: Approvals = "rules"
    archived: float = 0.0
    """When a person put it aside, so that lists leave it out; 0 if it is not archived."""
    denied: tuple[str, ...] = ()
    """Tools, by name or pattern, that no turn offers: the session was created without them."""


class PartPut(msgspec.Struct, frozen=True, tag="put", tag_field="event"):
    """A part was added."""

    part: Part


class PartGrown(msgspec.Struct, frozen=True, tag="grown", tag_field="event", omit_defaults=True):
    """Text was added at `offset`; the text before it is already recorded. A thought gets its seal when it is whole."""

    id: str
    offset: int
    text: str
    seal: str = ""


class CallMoved(msgspec.Struct, frozen=True, tag="call", tag_field="event", omit_defaults=True):
    """A call changed its state; `changed` are the arguments with which a hook replaced the model's."""

    id: str
    state: CallState
    changed: str = ""


class RequestMoved(msgspec.Struct, frozen=True, tag="request", tag_field="event"):
    """A request changed its state."""

    id: str
    state: RequestState


class PartRemoved(msgspec.Struct, frozen=True, tag="removed", tag_field="event"):
    """A part was removed from the view; the journal keeps it."""

    id: str


class SessionPut(msgspec.Struct, frozen=True, tag="session", tag_field="event"):
    """The session's own facts were set or changed."""

    info: SessionInfo


Recorded = PartPut | PartGrown | CallMoved | RequestMoved | PartRemoved | SessionPut


class Entry(msgspec.Struct, frozen=True):
    """One append: events that became true together, the wall time for people, the turn's active seconds for limits."""

    sequence: int
    at: float
    elapsed: float
    events: tuple[Recorded, ...]


def thousandths(seconds: float) -> float:
    """Return a time rounded as entries record it."""
    return int(seconds * 1_000 + 0.5) / 1_000


DeltaKind = Literal["text", "reasoning", "arguments", "output"]


class PartDelta(msgspec.Struct, frozen=True, tag="delta", tag_field="event"):
    """A piece of streamed text: never stored, and may be dropped.

    `arguments` belong to a call that is not recorded yet: `call` names its tool, and the first delta is empty.
    """

    part: str
    offset: int
    text: str
    kind: DeltaKind
    call: str = ""


Live = PartDelta
