"""Structs of the Agent Client Protocol, version 1, that a client sends. Unknown fields are ignored."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

PROTOCOL_VERSION = 1

Params = TypeVar("Params", bound="FromClient")


class FromClient(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a message from a client."""


class Elicitation(FromClient, frozen=True):
    """The kinds of questions that a client can show; an empty object means that it can."""

    form: dict[str, Any] | None = None


class TerminalLogin(FromClient, frozen=True):
    """Whether a client can run a command in a terminal, so that a person enters a key there."""

    terminal: bool = False


class ClientCapabilities(FromClient, frozen=True):
    """What a client can do besides the minimum."""

    elicitation: Elicitation | None = None
    auth: TerminalLogin | None = None


class ClientInfo(FromClient, frozen=True):
    """The name of a client."""

    name: str = ""


class Initialize(FromClient, frozen=True):
    """The first request of a connection."""

    protocol_version: int
    client_capabilities: ClientCapabilities | None = None
    client_info: ClientInfo | None = None


class Authenticate(FromClient, frozen=True):
    """The person has used a method of login."""

    method_id: str


class NameValue(FromClient, frozen=True):
    """An environment variable or a header."""

    name: str
    value: str


class EditorServer(FromClient, frozen=True):
    """An MCP server that the editor is configured with: a command, or an address."""

    name: str
    type: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[NameValue, ...] = ()
    url: str = ""
    headers: tuple[NameValue, ...] = ()


class NewSession(FromClient, frozen=True):
    """Begin a session in a directory."""

    cwd: str
    mcp_servers: tuple[EditorServer, ...] = ()


class LoadSession(FromClient, frozen=True):
    """Open an existing session, with its history (`session/load`) or without it (`session/resume`)."""

    session_id: str
    cwd: str
    mcp_servers: tuple[EditorServer, ...] = ()


class ListSessions(FromClient, frozen=True):
    """List sessions, page by page."""

    cwd: str | None = None
    cursor: str | None = None


class SessionOnly(FromClient, frozen=True):
    """A request with only a session id."""

    session_id: str


class SetMode(FromClient, frozen=True):
    """Choose the agent of the next prompts."""

    session_id: str
    mode_id: str


class SetOption(FromClient, frozen=True):
    """Choose the agent, the model or its variant."""

    session_id: str
    config_id: str
    value: str


class TextBlock(FromClient, frozen=True, tag_field="type", tag="text"):
    """Words of the person."""

    text: str


class ImageBlock(FromClient, frozen=True, tag_field="type", tag="image"):
    """An image as base64."""

    data: str
    mime_type: str


class AudioBlock(FromClient, frozen=True, tag_field="type", tag="audio"):
    """Audio, which Bridle does not accept."""

    data: str
    mime_type: str


class LinkBlock(FromClient, frozen=True, tag_field="type", tag="resource_link"):
    """A file that the person has mentioned."""

    uri: str
    name: str = ""


class EmbeddedFile(FromClient, frozen=True):
    """The content of a mentioned file: text, or base64 in `blob`."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class ResourceBlock(FromClient, frozen=True, tag_field="type", tag="resource"):
    """A file that the person has mentioned, with its content."""

    resource: EmbeddedFile


Block = TextBlock | ImageBlock | AudioBlock | LinkBlock | ResourceBlock


class PromptRequest(FromClient, frozen=True):
    """A prompt of the person."""

    session_id: str
    prompt: tuple[Block, ...]


class Outcome(FromClient, frozen=True):
    """The choice of a person who was asked for a permission."""

    outcome: Literal["selected", "cancelled"]
    option_id: str = ""


class PermissionAnswer(FromClient, frozen=True):
    """The answer to `session/request_permission`."""

    outcome: Outcome


class ElicitationAnswer(FromClient, frozen=True):
    """The answer to `elicitation/create`."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None
