"""Two unions: what is recorded in the journal, and what is only shown live."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.limits import LimitName
from bridle.core.parts import CallState, File, OnAsk, Part, RequestState


class SessionInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a session besides its parts."""

    id: str
    directory: str
    title: str = ""
    created: float = 0.0
    agent: str = ""
    model: str = ""


class PartPut(msgspec.Struct, frozen=True, tag="put", tag_field="event"):
    """A part is new."""

    part: Part


class PartGrown(msgspec.Struct, frozen=True, tag="grown", tag_field="event"):
    """Text was added at `offset`; what lies before it stands already."""

    id: str
    offset: int
    text: str


class CallMoved(msgspec.Struct, frozen=True, tag="call", tag_field="event"):
    """A call went into another state."""

    id: str
    state: CallState


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


class PartDelta(msgspec.Struct, frozen=True, tag="delta", tag_field="event"):
    """Text on its way: never stored, may be dropped."""

    part: str
    offset: int
    text: str
    reasoning: bool = False


Live = PartDelta


class PromptItem(msgspec.Struct, frozen=True, tag="prompt", omit_defaults=True):
    """A prompt on its way into a session, with what it overrides."""

    id: str
    text: str
    files: tuple[File, ...] = ()
    queue: bool = False
    reply: bool = True
    options: TurnOptions | None = None


class TurnOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one prompt asks of the turn that it opens; what it leaves out stays as it was."""

    agent: str | None = None
    model: str | None = None
    on_ask: OnAsk | None = None
    system: str = ""
    tools: dict[str, bool] = {}
    limits: dict[LimitName, int | float] = {}


class AnswerItem(msgspec.Struct, frozen=True, tag="answer", omit_defaults=True):
    """What a person said to an ask."""

    id: str
    ask: str
    choice: Literal["once", "always", "reject"]
    feedback: str = ""


class AbortItem(msgspec.Struct, frozen=True, tag="abort", omit_defaults=True):
    """A person wants the running turn to end; `turn` 0 means whichever runs."""

    id: str
    turn: int = 0
    detail: str = ""


class ExtendItem(msgspec.Struct, frozen=True, tag="extend"):
    """A person raises a limit of the running turn."""

    id: str
    limit: LimitName
    by: int | float


InboxItem = PromptItem | AnswerItem | AbortItem | ExtendItem
