"""Structs of the Agent Client Protocol, version 1, that Bridle sends: answers, updates of a session, requests."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
ToolStatus = Literal["pending", "in_progress", "completed", "failed"]
StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
OptionKind = Literal["allow_once", "allow_always", "reject_once"]


class ToClient(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """A part of a message to a client. Defaults are left out."""


class TextContent(ToClient, frozen=True, tag_field="type", tag="text"):
    """Text as content."""

    text: str


class Image(ToClient, frozen=True, tag_field="type", tag="image"):
    """An image as content, in base64."""

    data: str
    mime_type: str


class Content(ToClient, frozen=True, tag_field="type", tag="content"):
    """Output of a call."""

    content: TextContent | Image


class TextChange(ToClient, frozen=True, tag_field="type", tag="diff"):
    """A change of a file; `old_text` None means a new file."""

    path: str
    old_text: str | None
    new_text: str


class Location(ToClient, frozen=True):
    """A file that a call works on, so that the editor can follow."""

    path: str
    line: int | None = None


ToolContent = Content | TextChange


class Update(ToClient, frozen=True, tag_field="sessionUpdate"):
    """One change of a session, for `session/update`."""


class UserChunk(Update, frozen=True, tag="user_message_chunk"):
    """A prompt, while a session is loaded."""

    content: TextContent | Image
    message_id: str


class MessageChunk(Update, frozen=True, tag="agent_message_chunk"):
    """More text of the model, or a sentence of Bridle."""

    content: TextContent
    message_id: str


class ThoughtChunk(Update, frozen=True, tag="agent_thought_chunk"):
    """More of a thought of the model."""

    content: TextContent
    message_id: str


class CallFields(Update, frozen=True):
    """The fields of a call."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    raw_input: Any = None
    locations: tuple[Location, ...] = ()
    content: tuple[ToolContent, ...] = ()


class NewCall(CallFields, frozen=True, tag="tool_call"):
    """A call of the model."""


class ToolCallUpdate(CallFields, frozen=True, tag="tool_call_update"):
    """A call that has changed; `content` replaces what was shown."""


class ToolOutput(Update, frozen=True, tag="tool_call_update"):
    """Output of a call that still runs; it replaces what was shown."""

    tool_call_id: str
    content: tuple[ToolContent, ...]


class PlanEntry(ToClient, frozen=True):
    """A task of the model's to-do list."""

    content: str
    priority: Literal["high", "medium", "low"]
    status: Literal["pending", "in_progress", "completed"]


class Plan(Update, frozen=True, tag="plan"):
    """The whole to-do list."""

    entries: tuple[PlanEntry, ...]


class CommandInput(ToClient, frozen=True):
    """A hint for the text after a slash command."""

    hint: str


class CommandShown(ToClient, frozen=True):
    """A slash command."""

    name: str
    description: str
    input: CommandInput | None = None


class Commands(Update, frozen=True, tag="available_commands_update"):
    """All slash commands."""

    available_commands: tuple[CommandShown, ...]


class ModeUpdate(Update, frozen=True, tag="current_mode_update"):
    """The agent was changed. Some clients read the second name."""

    current_mode_id: str
    mode_id: str


class OptionValue(ToClient, frozen=True):
    """A value of an option."""

    value: str
    name: str
    description: str | None = None


class SessionOption(ToClient, frozen=True):
    """An option of a session with its values."""

    id: str
    name: str
    category: str
    current_value: str
    options: tuple[OptionValue, ...]
    type: str
    description: str | None = None


class OptionsUpdate(Update, frozen=True, tag="config_option_update"):
    """All options, after one was changed elsewhere."""

    config_options: tuple[SessionOption, ...]


class InfoUpdate(Update, frozen=True, tag="session_info_update"):
    """The session has another title."""

    title: str


class Cost(ToClient, frozen=True):
    """Money spent."""

    amount: float
    currency: str


class UsageUpdate(Update, frozen=True, tag="usage_update"):
    """Tokens in the context, the size of the window, and the cost of the session so far."""

    used: int
    size: int
    cost: Cost | None = None


class Mode(ToClient, frozen=True):
    """An agent that can answer."""

    id: str
    name: str
    description: str | None = None


class Modes(ToClient, frozen=True):
    """The agents that can answer, and the chosen one."""

    current_mode_id: str
    available_modes: tuple[Mode, ...]


class Opened(ToClient, frozen=True):
    """The answer to `session/load` and `session/resume`."""

    modes: Modes
    config_options: tuple[SessionOption, ...]


class SessionOpened(Opened, frozen=True):
    """The answer to `session/new`."""

    session_id: str


class SessionEntry(ToClient, frozen=True):
    """A session in a list."""

    session_id: str
    cwd: str
    title: str | None = None
    updated_at: str | None = None


class SessionPage(ToClient, frozen=True):
    """A page of sessions."""

    sessions: tuple[SessionEntry, ...]
    next_cursor: str | None = None


class OptionsAnswer(ToClient, frozen=True):
    """All options, after one was set."""

    config_options: tuple[SessionOption, ...]


class Ending(ToClient, frozen=True):
    """How a turn has ended, in Bridle's words and numbers."""

    reason: str
    steps: int
    cap: int
    tool_calls: int
    tokens: int
    cost: float
    seconds: float


class Meta(ToClient, frozen=True):
    """Fields beyond the protocol."""

    bridle: Ending


class PromptAnswer(ToClient, frozen=True):
    """The answer to `session/prompt`, at the end of its turn."""

    stop_reason: StopReason
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class AuthMethod(ToClient, frozen=True):
    """A way to give a key: the editor runs the agent's command with these arguments in a terminal."""

    id: str
    name: str
    description: str
    type: str | None = None
    args: tuple[str, ...] = ()


class Supported(ToClient, frozen=True):
    """An empty object: the feature is there."""


class SessionCapabilities(ToClient, frozen=True):
    """The optional methods about sessions."""

    list: Supported
    resume: Supported
    close: Supported
    delete: Supported


class McpCapabilities(ToClient, frozen=True):
    """The MCP transports besides commands."""

    http: bool
    sse: bool


class PromptCapabilities(ToClient, frozen=True):
    """The content that prompts may have besides text and links."""

    embedded_context: bool
    image: bool


class Capabilities(ToClient, frozen=True):
    """What Bridle can do besides the minimum."""

    load_session: bool
    mcp_capabilities: McpCapabilities
    prompt_capabilities: PromptCapabilities
    session_capabilities: SessionCapabilities


class AgentInfo(ToClient, frozen=True):
    """The name and the version of this program."""

    name: str
    title: str
    version: str


class Initialized(ToClient, frozen=True):
    """The answer to `initialize`."""

    protocol_version: int
    agent_capabilities: Capabilities
    agent_info: AgentInfo
    auth_methods: tuple[AuthMethod, ...]


class PermissionOption(ToClient, frozen=True):
    """An answer that a person may choose."""

    option_id: str
    name: str
    kind: OptionKind


class AskedCall(ToClient, frozen=True):
    """The call that a permission is about. Clients draw the question from it alone."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    raw_input: Any
    locations: tuple[Location, ...] = ()
    content: tuple[ToolContent, ...] = ()


class PermissionQuestion(ToClient, frozen=True):
    """The parameters of `session/request_permission`."""

    session_id: str
    tool_call: AskedCall
    options: tuple[PermissionOption, ...]


class FormQuestion(ToClient, frozen=True):
    """The parameters of `elicitation/create`: one question with suggested answers."""

    session_id: str
    mode: str
    message: str
    requested_schema: dict[str, Any]


class SessionUpdate(ToClient, frozen=True):
    """The parameters of `session/update`."""

    session_id: str
    update: Update
