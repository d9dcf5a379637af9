"""Types of a session's public events, for JSON lines, the library's stream and hooks; `projection` makes the events.

`wire/projection.py` builds them from recorded entries and live deltas. A field that is `UNSET` does not apply to the
event and is left out of its JSON.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from bridle.core.events import DeltaKind
from bridle.core.limits import Bound, ReachedLimit, Reason, Spent
from bridle.core.parts import Changed, CompactionCause
from bridle.core.result import Result
from bridle.core.states import RefusalName, Usage
from bridle.core.todos import Todo

ToolState = Literal["pending", "waiting", "done", "failed", "refused"]
EndReason = Reason | Literal["paused", "held", "recorded", "withdrawn", "interrupted"]


class PublicEvent(msgspec.Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    """An event and its session."""

    session: str


class EntryEvent(PublicEvent, frozen=True, kw_only=True):
    """An event for a journal entry or a delta.

    The last event of an entry has its sequence number in the journal of the session that is followed.
    """

    sequence: int | UnsetType = UNSET


class SessionEvent(PublicEvent, frozen=True, kw_only=True, tag="session"):
    """The session in which everything happens."""


class StatusEvent(EntryEvent, frozen=True, kw_only=True, tag="status"):
    """The current status of the session."""

    state: Literal["idle", "busy", "retry", "paused", "interrupted"]
    attempt: int | UnsetType = UNSET
    message: str | UnsetType = UNSET
    next: float | UnsetType = UNSET


class StepStartEvent(EntryEvent, frozen=True, kw_only=True, tag="step_start"):
    """A counted request begins; `closing` says why it is the last."""

    number: int
    cap: int
    closing: Reason | None


class TextEvent(EntryEvent, frozen=True, kw_only=True, tag="text"):
    """Text of the model once it is whole, or of Bridle where the model gave none. It replaces the part's deltas."""

    part: str
    text: str
    by: Literal["model", "bridle"]


class ReasoningEvent(EntryEvent, frozen=True, kw_only=True, tag="reasoning"):
    """A thought of the model, once it is whole. It replaces the part's deltas."""

    part: str
    text: str


class ToolUseEvent(EntryEvent, frozen=True, kw_only=True, tag="tool_use"):
    """A call that has ended, that waits for its subagent, or whose arguments the model still writes."""

    id: str
    tool: str
    input: Any
    state: ToolState
    refusal: RefusalName | UnsetType = UNSET
    limit: Bound | UnsetType | None = UNSET
    output: str | UnsetType = UNSET
    child: str | UnsetType = UNSET


class AskEvent(EntryEvent, frozen=True, kw_only=True, tag="ask"):
    """A person is awaited: answer it with `bridle answer SESSION ID CHOICE`."""

    id: str
    call: str
    kind: Literal["permission", "question", "deferred"]
    text: str
    choices: tuple[str, ...]
    always: tuple[str, ...] | UnsetType = UNSET
    diff: str | UnsetType = UNSET


class NoticeEvent(EntryEvent, frozen=True, kw_only=True, tag="notice"):
    """Something that the reader should know."""

    about: str
    text: str


class RetryEvent(EntryEvent, frozen=True, kw_only=True, tag="retry"):
    """A request failed and is asked again at `next`, in active seconds of the turn.

    `model` is set if another model is asked instead of the one that failed for good.
    """

    attempt: int
    message: str
    status: int | None
    next: float
    model: str | UnsetType = UNSET


class StepFinishEvent(EntryEvent, frozen=True, kw_only=True, tag="step_finish"):
    """The end of a step's request; its calls run after it."""

    number: int
    calls: int
    usage: Usage | None
    cost: float
    finish: str


class SentinelEvent(EntryEvent, frozen=True, kw_only=True, tag="sentinel"):
    """Why the turn ended early."""

    kind: str
    reason: Reason
    text: str


class ErrorEvent(PublicEvent, frozen=True, kw_only=True, tag="error"):
    """The error that kept the turn from starting or from ending well."""

    message: str


class ResultEvent(PublicEvent, frozen=True, kw_only=True, tag="result"):
    """The outcome of the prompt; always the last event."""

    reason: EndReason
    text: str
    output: Any
    steps: int
    tool_calls: int
    tokens: int
    cost: float
    seconds: float
    files: tuple[str, ...]
    denied: bool
    cut: bool
    detail: str
    limit: ReachedLimit | None = None
    """The limit that ended the turn."""


class DeltaEvent(EntryEvent, frozen=True, kw_only=True, tag="delta"):
    """More of a part: text or reasoning of the model, arguments of a call, or output of a call that runs.

    The deltas of text and reasoning have no gaps. `offset` counts characters.
    """

    part: str
    kind: DeltaKind
    offset: int
    text: str


class RemovedEvent(EntryEvent, frozen=True, kw_only=True, tag="removed"):
    """Parts that were shown and do not count. A retried reply starts anew, with other parts."""

    parts: tuple[str, ...]


class PromptEvent(EntryEvent, frozen=True, kw_only=True, tag="prompt"):
    """A prompt was taken into a turn; turn 0 means that it was only recorded."""

    id: str
    turn: int
    text: str
    files: tuple[str, ...]


class WithdrawnEvent(EntryEvent, frozen=True, kw_only=True, tag="withdrawn"):
    """A prompt that waited was taken back: no turn answers it."""

    prompt: str


class TurnStartEvent(EntryEvent, frozen=True, kw_only=True, tag="turn_start"):
    """A turn begins."""

    number: int
    agent: str
    model: str
    cap: int


class TurnFinishEvent(EntryEvent, frozen=True, kw_only=True, tag="turn_finish"):
    """A turn has ended."""

    number: int
    reason: Reason
    detail: str
    spent: Spent


class ToolStartEvent(EntryEvent, frozen=True, kw_only=True, tag="tool_start"):
    """A call starts to run; `tool_use` tells how it ended."""

    id: str
    tool: str
    input: Any


class AskEndEvent(EntryEvent, frozen=True, kw_only=True, tag="ask_end"):
    """An ask needs no answer any more: it was answered, or its call has ended."""

    id: str
    call: str


class SubagentEvent(EntryEvent, frozen=True, kw_only=True, tag="subagent"):
    """A call has started a subagent in the session `child`, or the subagent has ended."""

    call: str
    child: str
    state: Literal["started", "ended"]
    background: bool | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    spent: Spent | UnsetType = UNSET


class TodosEvent(EntryEvent, frozen=True, kw_only=True, tag="todos"):
    """The whole list of tasks, as the model wrote it last."""

    todos: tuple[Todo, ...]


class CompactionEvent(EntryEvent, frozen=True, kw_only=True, tag="compaction"):
    """The context is about to be made smaller (`open`), or was; `before` and `after` are tokens."""

    cause: CompactionCause
    outcome: Literal["open", "smaller", "no_progress"]
    before: int
    after: int


class PatchEvent(EntryEvent, frozen=True, kw_only=True, tag="patch"):
    """Files of the project that calls of a step have changed, and the number of files not named here."""

    files: tuple[Changed, ...]
    more: int


class TitleEvent(EntryEvent, frozen=True, kw_only=True, tag="title"):
    """The session has a new title."""

    title: str


class UndoEvent(EntryEvent, frozen=True, kw_only=True, tag="undo"):
    """A turn and everything after it were undone; `restored` once the files have followed."""

    turn: int
    restored: bool


class RedoEvent(EntryEvent, frozen=True, kw_only=True, tag="redo"):
    """The last undo was taken back; `restored` once the files have followed."""

    restored: bool


ReplyEvent = TextEvent | ReasoningEvent
StepEvent = StepStartEvent | ReplyEvent | ToolUseEvent | AskEvent | NoticeEvent | RetryEvent | StepFinishEvent
LineEvent = SessionEvent | StatusEvent | StepEvent | SentinelEvent | ErrorEvent | ResultEvent
"""The events that `--format json` writes."""

TurnEvent = PromptEvent | WithdrawnEvent | TurnStartEvent | TurnFinishEvent | CompactionEvent | PatchEvent | TodosEvent
CallEvent = ToolStartEvent | AskEndEvent | SubagentEvent
Event = LineEvent | TurnEvent | CallEvent | DeltaEvent | RemovedEvent | TitleEvent | UndoEvent | RedoEvent
"""Every public event."""


def result_event(result: Result, reason: EndReason) -> ResultEvent:
    """Return the last event of a run; `reason` differs from the result's if the run was interrupted."""
    return msgspec.structs.replace(msgspec.convert(result, ResultEvent, from_attributes=True), reason=reason)


def json_schema(events: Any) -> dict[str, Any]:
    """Return the JSON schema of these events: of `LineEvent`, one line of `--format json`, or of any `Event`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(events)}
