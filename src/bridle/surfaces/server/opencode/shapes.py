"""Types of OpenCode 1.18's sessions, messages and parts, as its clients read them; `projection` fills them.

A field that is `UNSET` is left out. Times are whole milliseconds.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

API_VERSION = "1.18.33"
"""The version of OpenCode whose API this is."""


class CreatedTime(msgspec.Struct, frozen=True):
    """When a user message was submitted."""

    created: int


class ReplyTime(msgspec.Struct, frozen=True):
    """When an assistant message began and ended."""

    created: int
    completed: int | UnsetType = UNSET


class TimeSpan(msgspec.Struct, frozen=True):
    """When a text or a call began and ended."""

    start: int
    end: int | UnsetType = UNSET


class Cache(msgspec.Struct, frozen=True):
    """Tokens read from the provider's cache and written to it."""

    read: int = 0
    write: int = 0


class TokenCount(msgspec.Struct, frozen=True):
    """Tokens in disjoint fields."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: Cache = Cache()

    def plus(self, other: TokenCount) -> TokenCount:
        """Return the sum of both."""
        cache = Cache(self.cache.read + other.cache.read, self.cache.write + other.cache.write)
        return TokenCount(self.input + other.input, self.output + other.output, self.reasoning + other.reasoning, cache)


class MessageModel(msgspec.Struct, frozen=True):
    """A model as messages name it."""

    providerID: str
    modelID: str
    variant: str | UnsetType = UNSET


class SessionModel(msgspec.Struct, frozen=True):
    """A model as sessions name it."""

    id: str
    providerID: str
    variant: str | UnsetType = UNSET


class ErrorData(msgspec.Struct, frozen=True):
    """The sentence of an error."""

    message: str


ErrorName = Literal["MessageAbortedError", "ContextOverflowError", "UnknownError"]


class MessageError(msgspec.Struct, frozen=True):
    """Why a message ended without an answer."""

    name: ErrorName
    data: ErrorData


class User(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="user"):
    """A prompt."""

    id: str
    sessionID: str
    time: CreatedTime
    agent: str
    model: MessageModel
    system: str | UnsetType = UNSET
    tools: dict[str, bool] | UnsetType = UNSET


class Folder(msgspec.Struct, frozen=True):
    """The directory of a session."""

    cwd: str
    root: str


class Assistant(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="assistant"):
    """The reply of a step."""

    id: str
    sessionID: str
    time: ReplyTime
    parentID: str
    mode: str
    agent: str
    modelID: str
    providerID: str
    path: Folder
    cost: float = 0.0
    tokens: TokenCount = TokenCount()
    finish: str | UnsetType = UNSET
    error: MessageError | UnsetType = UNSET
    summary: bool | UnsetType = UNSET
    structured: Any = UNSET
    variant: str | UnsetType = UNSET


Message = User | Assistant


class PartOfMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """A part and the message that it belongs to."""

    id: str
    sessionID: str
    messageID: str


class TextPart(PartOfMessage, frozen=True, kw_only=True, tag="text"):
    """Text of a person, of the model, or of Bridle."""

    text: str
    synthetic: bool | UnsetType = UNSET
    ignored: bool | UnsetType = UNSET
    time: TimeSpan | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class ReasoningPart(PartOfMessage, frozen=True, kw_only=True, tag="reasoning"):
    """A thought of the model."""

    text: str
    time: TimeSpan


class FilePart(PartOfMessage, frozen=True, kw_only=True, tag="file"):
    """A file with a prompt or a result."""

    mime: str
    url: str
    filename: str | UnsetType = UNSET
    source: Any = UNSET


class AgentPart(PartOfMessage, frozen=True, kw_only=True, tag="agent"):
    """A subagent that the prompt names."""

    name: str
    source: Any = UNSET


class PendingTool(msgspec.Struct, frozen=True, kw_only=True, tag_field="status", tag="pending"):
    """A call whose arguments still come, or that has not started."""

    input: dict[str, Any]
    raw: str


class RunningTool(msgspec.Struct, frozen=True, kw_only=True, tag_field="status", tag="running"):
    """A call that runs or waits for a person."""

    input: dict[str, Any]
    title: str | UnsetType = UNSET
    metadata: dict[str, Any] = {}
    time: TimeSpan


class CompletedTool(msgspec.Struct, frozen=True, kw_only=True, tag_field="status", tag="completed"):
    """A call with its result."""

    input: dict[str, Any]
    output: str
    title: str
    metadata: dict[str, Any]
    time: TimeSpan
    attachments: tuple[FilePart, ...] | UnsetType = UNSET


class FailedTool(msgspec.Struct, frozen=True, kw_only=True, tag_field="status", tag="error"):
    """A call that failed or did not run."""

    input: dict[str, Any]
    error: str
    metadata: dict[str, Any]
    time: TimeSpan


ToolState = PendingTool | RunningTool | CompletedTool | FailedTool


class ToolPart(PartOfMessage, frozen=True, kw_only=True, tag="tool"):
    """A tool call."""

    callID: str
    tool: str
    state: ToolState


class StepStartPart(PartOfMessage, frozen=True, kw_only=True, tag="step-start"):
    """The beginning of a step."""


class StepFinishPart(PartOfMessage, frozen=True, kw_only=True, tag="step-finish"):
    """The end of a step with its use."""

    reason: str
    cost: float
    tokens: TokenCount


class CompactionPart(PartOfMessage, frozen=True, kw_only=True, tag="compaction"):
    """The context was made smaller; `auto` if no person asked for it."""

    auto: bool


Part = TextPart | ReasoningPart | FilePart | AgentPart | ToolPart | StepStartPart | StepFinishPart | CompactionPart


class MessageWithParts(msgspec.Struct, frozen=True):
    """A message as lists and answers have it."""

    info: Message
    parts: tuple[Part, ...]


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one file."""

    file: str
    additions: int
    deletions: int
    status: Literal["added", "deleted", "modified"]
    patch: str | UnsetType = UNSET


class SessionChanges(msgspec.Struct, frozen=True):
    """Sums over the changed files of a session."""

    additions: int
    deletions: int
    files: int


class SessionTime(msgspec.Struct, frozen=True):
    """When a session was made and changed last."""

    created: int
    updated: int
    archived: int | UnsetType = UNSET


class Revert(msgspec.Struct, frozen=True):
    """The message from which on everything is undone."""

    messageID: str


class ClientRule(msgspec.Struct, frozen=True):
    """A permission rule."""

    permission: str
    pattern: str
    action: Literal["allow", "deny", "ask"]


class SessionShape(msgspec.Struct, frozen=True, kw_only=True):
    """A session."""

    id: str
    slug: str
    projectID: str
    directory: str
    title: str
    version: str = API_VERSION
    time: SessionTime
    parentID: str | UnsetType = UNSET
    summary: SessionChanges | UnsetType = UNSET
    cost: float | UnsetType = UNSET
    tokens: TokenCount | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    model: SessionModel | UnsetType = UNSET
    revert: Revert | UnsetType = UNSET


class StatusShape(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a session works; a retry has its number, cause and time."""

    type: Literal["idle", "busy", "retry"]
    attempt: int | UnsetType = UNSET
    message: str | UnsetType = UNSET
    next: int | UnsetType = UNSET


class CallReference(msgspec.Struct, frozen=True):
    """The call that asks."""

    messageID: str
    callID: str


class PermissionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An open permission request."""

    id: str
    sessionID: str
    permission: str
    patterns: tuple[str, ...]
    metadata: dict[str, Any]
    always: tuple[str, ...]
    tool: CallReference


class QuestionOption(msgspec.Struct, frozen=True):
    """A choice of a question."""

    label: str
    description: str


class QuestionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One question."""

    question: str
    header: str
    options: tuple[QuestionOption, ...]
    multiple: bool | UnsetType = UNSET
    custom: bool | UnsetType = UNSET


class QuestionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Open questions of one call."""

    id: str
    sessionID: str
    questions: tuple[QuestionInfo, ...]
    tool: CallReference


class TodoShape(msgspec.Struct, frozen=True):
    """A task of the to-do list."""

    content: str
    status: str
    priority: str
