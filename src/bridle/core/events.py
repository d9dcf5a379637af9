"""Two unions: what is recorded in the journal, and what is only shown live."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.parts import Part
from bridle.core.states import CallState, RequestState


class SessionInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a session besides its parts."""

    id: str
    directory: str
    title: str = ""
    created: float = 0.0
    agent: str = ""
    model: str = ""
    parent: str = ""


class PartPut(msgspec.Struct, frozen=True, tag="put", tag_field="event"):
    """A part is new."""

    part: Part


class PartGrown(msgspec.Struct, frozen=True, tag="grown", tag_field="event", omit_defaults=True):
    """Text was added at `offset`; what lies before it stands already. A thought is sealed when it is whole."""

    id: str
    offset: int
    text: str
    seal: str = ""


class CallMoved(msgspec.Struct, frozen=True, tag="call", tag_field="event", omit_defaults=True):
    """A call went into another state; `changed` are the arguments that a hook has put in place of the model's."""

    id: str
    state: CallState
    changed: str = ""


class RequestMoved(msgspec.Struct, frozen=True, tag="request", tag_field="event"):
    """A request went into another state."""

    id: str
    state: RequestState


class PartRemoved(msgspec.Struct, frozen=True, tag="removed", tag_field="event"):
    """A part left the view; the journal keeps it."""

    id: str


class SessionPut(msgspec.Struct, frozen=True, tag="session", tag_field="event"):
    """The session's own facts are new or changed."""

    info: SessionInfo


Recorded = PartPut | PartGrown | CallMoved | RequestMoved | PartRemoved | SessionPut


class Entry(msgspec.Struct, frozen=True):
    """One append: events that became true together, the wall time for people, the turn's active seconds for limits."""

    sequence: int
    at: float
    elapsed: float
    events: tuple[Recorded, ...]


def thousandths(seconds: float) -> float:
    """A time as entries have it."""
    return int(seconds * 1_000 + 0.5) / 1_000


DeltaKind = Literal["text", "reasoning", "arguments", "output"]


class PartDelta(msgspec.Struct, frozen=True, tag="delta", tag_field="event"):
    """Text on its way: never stored, may be dropped.

    `arguments` belong to a call that is not recorded yet: `call` names its tool, and the first delta is empty.
    """

    part: str
    offset: int
    text: str
    kind: DeltaKind
    call: str = ""


Live = PartDelta
