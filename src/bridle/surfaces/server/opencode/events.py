"""Types of the events of OpenCode's streams; each names its `type` and has its properties."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from bridle.surfaces.server.opencode.shapes import (
    FileDiff,
    Message,
    MessageError,
    Part,
    PermissionRequest,
    QuestionRequest,
    SessionShape,
    StatusShape,
    TodoShape,
)

Choice = Literal["once", "always", "reject"]


class Properties(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """The properties of an event; the tag is its type."""


class OfSession(Properties, frozen=True, kw_only=True):
    """An event of a session."""

    sessionID: str


class Connected(Properties, frozen=True, kw_only=True, tag="server.connected"):
    """The first event of a stream."""


class Heartbeat(Properties, frozen=True, kw_only=True, tag="server.heartbeat"):
    """Keeps a quiet stream open."""


class MessageUpdated(OfSession, frozen=True, kw_only=True, tag="message.updated"):
    """A message is new or changed."""

    info: Message


class MessageRemoved(OfSession, frozen=True, kw_only=True, tag="message.removed"):
    """A message is gone: it was undone for good."""

    messageID: str


class PartUpdated(OfSession, frozen=True, kw_only=True, tag="message.part.updated"):
    """A part is new or changed; it replaces all deltas before it."""

    part: Part
    time: int


class PartDeltaShown(OfSession, frozen=True, kw_only=True, tag="message.part.delta"):
    """More text of a known part."""

    messageID: str
    partID: str
    field: Literal["text"] = "text"
    delta: str


class PartGone(OfSession, frozen=True, kw_only=True, tag="message.part.removed"):
    """A part is gone: its reply is requested again."""

    messageID: str
    partID: str


class SessionCreated(OfSession, frozen=True, kw_only=True, tag="session.created"):
    """A session is new."""

    info: SessionShape


class SessionUpdated(OfSession, frozen=True, kw_only=True, tag="session.updated"):
    """A session is new or changed."""

    info: SessionShape


class SessionDeleted(OfSession, frozen=True, kw_only=True, tag="session.deleted"):
    """A session was deleted."""

    info: SessionShape


class StatusChanged(OfSession, frozen=True, kw_only=True, tag="session.status"):
    """A session began to work, waits for a retry, or is idle."""

    status: StatusShape


class SessionIdle(OfSession, frozen=True, kw_only=True, tag="session.idle"):
    """A session is idle; comes right after that status."""


class SessionError(OfSession, frozen=True, kw_only=True, tag="session.error"):
    """A turn ended without an answer."""

    error: MessageError


class SessionCompacted(OfSession, frozen=True, kw_only=True, tag="session.compacted"):
    """The context was made smaller."""


class SessionDiff(OfSession, frozen=True, kw_only=True, tag="session.diff"):
    """The changed files of a session."""

    diff: tuple[FileDiff, ...]


class TodoUpdated(OfSession, frozen=True, kw_only=True, tag="todo.updated"):
    """The whole to-do list."""

    todos: tuple[TodoShape, ...]


class PermissionAsked(PermissionRequest, frozen=True, kw_only=True, tag_field="type", tag="permission.asked"):
    """A person is asked for a permission."""


class PermissionReplied(OfSession, frozen=True, kw_only=True, tag="permission.replied"):
    """A permission request needs no answer any more."""

    requestID: str
    reply: Choice


class QuestionAsked(QuestionRequest, frozen=True, kw_only=True, tag_field="type", tag="question.asked"):
    """A person is asked questions."""


class QuestionReplied(OfSession, frozen=True, kw_only=True, tag="question.replied"):
    """Questions were answered."""

    requestID: str
    answers: tuple[tuple[str, ...], ...]


class QuestionRejected(OfSession, frozen=True, kw_only=True, tag="question.rejected"):
    """Questions need no answer any more."""

    requestID: str


class Toast(Properties, frozen=True, kw_only=True, tag="tui.toast.show"):
    """A message that an attached terminal application shows for a while."""

    message: str
    variant: Literal["info", "success", "warning", "error"] = "info"
    duration: int | UnsetType = UNSET
    """Milliseconds."""


class ClientEvent(Properties, frozen=True, kw_only=True, tag="tui.command"):
    """A request of a client to an attached terminal application; `name` is the type of its event."""

    name: str
    properties: dict[str, Any]


OfMessage = MessageUpdated | MessageRemoved | PartUpdated | PartDeltaShown | PartGone
Answered = PermissionReplied | QuestionReplied | QuestionRejected
OfAsk = PermissionAsked | QuestionAsked | Answered
OfState = SessionCreated | SessionUpdated | SessionDeleted | StatusChanged | SessionIdle | SessionError
Event = OfMessage | OfAsk | OfState | SessionCompacted | SessionDiff | TodoUpdated | Toast


Told = Properties | PermissionAsked | QuestionAsked
"""Anything that a stream may carry."""


def body(event: Told) -> tuple[str, dict[str, Any]]:
    """Return the type and the properties of an event as JSON data."""
    if isinstance(event, ClientEvent):
        return event.name, event.properties
    properties: dict[str, Any] = msgspec.to_builtins(event)
    return str(properties.pop("type")), properties
