"""Types of the bodies and parameters of the native HTTP API, which its server reads and its client writes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from bridle.core.limits import LimitName
from bridle.core.messages import Message

State = Literal["idle", "busy", "retry", "paused", "interrupted", "damaged"]
LONGEST_TITLE = 100
MOST_LISTED = 1_000
MOST_ENTRIES = 500
LONGEST_WAIT = 300.0


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of requests: unknown fields are refused."""


class NoQuery(Strict, frozen=True):
    """No parameters."""


class DirectoryQuery(Strict, frozen=True):
    """The directory that a request is about."""

    directory: str = ""
    """A served directory or a folder below it; by default the first served."""


class CreateBody(Strict, frozen=True):
    """A new session. The same id again changes nothing."""

    id: str | None = None
    directory: str = ""
    """A served directory or a folder below it; by default the first served."""
    messages: tuple[Message, ...] = ()
    """The conversation that it begins with, for the model to read before the first prompt."""
    title: Annotated[str, msgspec.Meta(max_length=LONGEST_TITLE)] = ""
    agent: str = ""
    model: str = ""
    """Agent and model of its first turn, unless the first prompt names others."""
    denied: tuple[str, ...] = ()
    """Tools that no turn of it offers, by name or pattern."""
    first: FirstPrompt | None = None
    """The first prompt: no session is created if its turn could not begin. Submit it afterwards."""


class DescribeBody(Strict, frozen=True):
    """What to change of a session; omitted facts stay."""

    title: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TITLE)] | None = None
    pinned: bool | None = None
    archived: bool | None = None
    approvals: Literal["rules", "ask"] | None = None
    """Whether the next calls are approved by the rules, or each edit and command asks."""


class MoveBody(Strict, frozen=True):
    """The machine whose workers may take a session from now on."""

    place: str


class QueryBody(Strict, frozen=True):
    """The sessions to return; a default leaves none out, except archived ones."""

    text: str = ""
    """Text that the title contains, in any case."""
    directory: str = ""
    state: Literal["", "idle", "busy", "retry", "paused", "interrupted"] = ""
    roots: bool = False
    """Leave out sessions of subagents."""
    pinned: bool = False
    archived: Literal["without", "with", "only"] = "without"
    before: tuple[float, str] | None = None
    """Time of the last change and id of the last row of the page before."""
    limit: Annotated[int, msgspec.Meta(ge=0)] = 0
    """The most rows; 0 means all."""


class InterruptedQuery(DirectoryQuery, frozen=True):
    """The directory of interrupted sessions."""

    most: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Look only at that number of sessions, those that changed last; 0 means all."""


class ForkBody(Strict, frozen=True):
    """The turn before which the history ends; by default the running one."""

    turn: Annotated[int, msgspec.Meta(ge=1)] | None = None


class UndoBody(Strict, frozen=True):
    """The turn to undo with all later ones, by its number or the id of its prompt; by default the last."""

    to: str = ""
    keep_files: bool = False
    force: bool = False
    """Also revert changes that others made since."""


class RedoBody(Strict, frozen=True):
    """How to redo."""

    keep_files: bool = False


class ListQuery(Strict, frozen=True):
    """Which sessions to list."""

    directory: str = ""
    """Only those of this directory and of folders below it."""
    text: str = ""
    """Only those whose title contains this text, in any case."""
    state: State | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_LISTED)] = 100
    before: str = ""
    """The `next` of the page before."""


class EntriesQuery(Strict, frozen=True):
    """Which entries to return."""

    after: Annotated[int, msgspec.Meta(ge=0)] = 0


class TurnQuery(Strict, frozen=True):
    """A turn; 0 means the whole session."""

    turn: Annotated[int, msgspec.Meta(ge=0)] = 0


class ExportQuery(Strict, frozen=True):
    """How to export."""

    redact: bool = False


class AttachedFile(Strict, frozen=True):
    """A file that comes with a prompt: text, or an image or a document as base64 in `data`."""

    path: str
    text: str = ""
    media: str = ""
    data: str = ""


class PromptOptions(Strict, frozen=True):
    """Options of a prompt for the turn that it opens; omitted ones keep their values."""

    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    system: str = ""
    """Additional instructions of this turn."""
    on_ask: Literal["person", "pause", "deny"] = "pause"
    """What an ask does: the turn pauses for an answer, or the call is denied. With `person`, one is there to answer."""
    tools: dict[str, bool] = msgspec.field(default_factory=dict)
    """Tools to switch off, by name or pattern; clients cannot switch tools on."""
    limits: dict[LimitName, Annotated[float, msgspec.Meta(ge=0)]] = msgspec.field(default_factory=dict)
    output: dict[str, Any] | None = None
    """JSON schema of the answer."""
    account: str = ""
    """The name that pays."""
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    """Options of the model, over those of the agent."""
    fallbacks: tuple[str, ...] = ()
    """Models to ask, in this order, when `model` has failed for good."""


class FirstPrompt(Strict, frozen=True):
    """The words of a prompt, and its options."""

    text: str
    options: PromptOptions = PromptOptions()


class PromptBody(Strict, frozen=True):
    """A prompt. The same id again changes nothing."""

    text: str
    id: str | None = None
    files: tuple[AttachedFile, ...] = ()
    queue: bool = False
    """Wait for a turn of its own instead of joining the running one."""
    reply: bool = True
    """Start a turn; else the prompt is only recorded for the model to read with the next one."""
    options: PromptOptions = PromptOptions()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    wants: tuple[str, ...] = ()
    """Subagents that the person named, which start without an ask."""
    subtask: str = ""
    """The subagent that works on the prompt."""


class ShellBody(Strict, frozen=True):
    """A person's shell command. The same id again changes nothing."""

    command: Annotated[str, msgspec.Meta(min_length=1)]
    id: str | None = None


class AnswerBody(Strict, frozen=True):
    """The answer to an ask."""

    ask: str
    choice: Literal["once", "always", "reject"]
    feedback: str = ""
    arguments: dict[str, Any] | None = None
    """Arguments with which the call runs instead of the model's."""


class SupplyBody(Strict, frozen=True):
    """The result of a deferred call."""

    call: str
    output: str
    failed: bool = False


class AbortBody(Strict, frozen=True):
    """Which turn to end: 0 means any that runs."""

    turn: int = 0
    detail: str = ""


class ExtendBody(Strict, frozen=True):
    """A limit of the running turn, and by how much to raise it."""

    limit: LimitName
    by: float


class EmptyBody(Strict, frozen=True):
    """No fields."""


class WaitQuery(Strict, frozen=True):
    """How long to wait for the result."""

    wait: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_WAIT)] = 0.0


class ExpandBody(Strict, frozen=True):
    """A prompt as a person wrote it, with slash commands and @files."""

    text: str
    typed: str = ""
    """The part that the person typed: only this names subagents."""
    agent: str | None = None
    directory: str = ""
    allowed: tuple[str, ...] = ()
    """Commands of the template that the person has allowed."""


class StatsQuery(DirectoryQuery, frozen=True):
    """The days to count, today included."""

    days: Annotated[int, msgspec.Meta(ge=1)] = 7
    projects: tuple[str, ...] = ()
    """Only sessions of these directories, one parameter for each; by default those of all served ones."""


class ApprovalQuery(DirectoryQuery, frozen=True, kw_only=True):
    """A permanent approval."""

    number: Annotated[int, msgspec.Meta(ge=1)]
    """Its place in the list, from 1."""
    words: str
    """The approval as the list has it; another one is not revoked."""


class FindQuery(DirectoryQuery, frozen=True):
    """Fragments of a path."""

    text: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1)] = 50


class PathQuery(DirectoryQuery, frozen=True):
    """A path in the project."""

    path: str = "."


class FollowQuery(Strict, frozen=True):
    """Where to begin; the header `Last-Event-ID` counts more."""

    after: Annotated[int, msgspec.Meta(ge=0)] = 0
    """The sequence number of the last entry that the reader knows."""


class HistoryQuery(Strict, frozen=True):
    """Which page: the newest entries before a number, or the oldest after one."""

    after: Annotated[int, msgspec.Meta(ge=0)] | None = None
    before: Annotated[int, msgspec.Meta(ge=1)] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_ENTRIES)] = 150


class ExchangeBody(Strict, frozen=True):
    """The code of a link, from the fragment of its address."""

    code: str
