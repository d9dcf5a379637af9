"""Types of the bodies that OpenCode's clients send; unknown fields are ignored."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bridle.surfaces.server.opencode.shapes import ClientRule, MessageModel, SessionModel


class SentPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a prompt: text, a file by its address, or a subagent by its name."""

    type: Literal["text", "file", "agent", "subtask"]
    id: str = ""
    text: str = ""
    synthetic: bool = False
    ignored: bool = False
    mime: str = ""
    filename: str = ""
    url: str = ""
    name: str = ""
    source: Any = None
    prompt: str = ""
    agent: str = ""


class Format(msgspec.Struct, frozen=True):
    """The form of the answer: text, or JSON of a schema."""

    type: Literal["text", "json_schema"] = "text"
    schema: dict[str, Any] | None = None


class SentPrompt(msgspec.Struct, frozen=True):
    """A prompt."""

    parts: list[SentPart]
    agent: str | None = None
    model: MessageModel | None = None
    messageID: str = ""
    noReply: bool = False
    system: str = ""
    tools: dict[str, bool] = {}
    format: Format = Format()
    variant: str | None = None


class CommandBody(msgspec.Struct, frozen=True):
    """A slash command."""

    command: str
    arguments: str = ""
    agent: str | None = None
    model: str | None = None
    messageID: str = ""
    variant: str | None = None
    parts: list[SentPart] = []


class SessionBody(msgspec.Struct, frozen=True):
    """A new session."""

    title: str | None = None
    parentID: str | None = None
    agent: str | None = None
    model: SessionModel | None = None
    permission: list[ClientRule] = []


class ArchiveTime(msgspec.Struct, frozen=True):
    """When a session was archived."""

    archived: float | None = None


class ChangeBody(msgspec.Struct, frozen=True):
    """A change of a session."""

    title: str | None = None
    time: ArchiveTime | None = None
    permission: list[ClientRule] | None = None


class RevertBody(msgspec.Struct, frozen=True):
    """The message from which on everything is undone."""

    messageID: str
    partID: str = ""


class ForkPoint(msgspec.Struct, frozen=True):
    """The message before which a fork ends; empty for all."""

    messageID: str = ""


class PermissionBody(msgspec.Struct, frozen=True):
    """An answer to a permission request; older clients call it `response`."""

    reply: Literal["once", "always", "reject", ""] = ""
    response: Literal["once", "always", "reject", ""] = ""
    message: str = ""


class AnswersBody(msgspec.Struct, frozen=True):
    """The chosen labels or own words, for each question."""

    answers: list[list[str]]
