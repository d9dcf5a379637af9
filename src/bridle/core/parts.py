"""The record types that make up a session: prompts, texts, calls, requests, notices, starts and ends of turns."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bridle.core.limits import LIMITS, UNLIMITED, LimitName, Limits, ReachedLimit, Reason, Scope, Spent
from bridle.core.messages import Message
from bridle.core.permission import Access, Rule
from bridle.core.states import CallState, Done, Failed, Open, Pending, RequestState, Usage, Waiting
from bridle.core.usage import ModelUse

Purpose = Literal["step", "closing", "compaction", "synthesis", "title"]
OUTPUT = "structured_output"
"""Name of the call by which a model gives an answer that must fit a schema."""
OnAsk = Literal["person", "pause", "deny", "allow"]


class File(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file attached to a prompt by a person: text, or an image or a document as base64 in `data`."""

    path: str
    text: str = ""
    media: str = ""
    data: str = ""


class Delegation(msgspec.Struct, frozen=True, omit_defaults=True):
    """The terms that a parent gives its subagent: for which call, at most which rights, at most how much time.

    `rules` are layers, each of which can only make the others stricter; `without` are tools that it may not have.
    """

    parent: str
    call: str
    account: str
    depth: int
    model: str = ""
    rules: tuple[tuple[Rule, ...], ...] = ()
    without: tuple[str, ...] = ()
    always: tuple[Access, ...] = ()
    seconds: float | None = None
    priced: bool = False
    """Of older versions. Whether the cost is limited is read from the accounts above."""
    reads_only: bool = False
    background: bool = False
    """The parent continues to work, so it lends its place to no subagent."""
    origin: str = ""
    """The prompt of the root turn."""
    root: str = ""
    """The account of the root turn; empty in records of older versions."""
    traceparent: str = ""
    """The span from which another program started the root turn, as its prompt's metadata name it."""
    fallbacks: tuple[str, ...] = ()
    """The fallbacks of `model`."""


class Identified(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """A part, named by an id that is unique in its session."""

    id: str


class Prompt(Identified, frozen=True, tag="prompt"):
    """The request of a person or of a parent."""

    text: str
    files: tuple[File, ...] = ()
    turn: int = 0
    wants: tuple[str, ...] = ()
    """Subagents that the person named: the turn may start them without an ask."""
    subtask: str = ""
    """The subagent that works on it."""
    metadata: dict[str, Any] = {}
    """JSON of the program that submitted it."""
    shell: str = ""
    """A command of the person, which is run without a model request."""


class Withdrawn(Identified, frozen=True, tag="withdrawn"):
    """A person took back a prompt that no turn had taken: it is never answered."""

    prompt: str


class Text(Identified, frozen=True, tag="text"):
    """Text of the model, or of Bridle where the model gave none."""

    text: str = ""
    by: Literal["model", "bridle"] = "model"


class Reasoning(Identified, frozen=True, tag="reasoning"):
    """A thought of the model; `seal` is returned to its provider with it."""

    text: str = ""
    seal: str = ""


class Call(Identified, frozen=True, tag="call"):
    """One tool call, with the arguments that the model wrote, and those `changed` by a hook, if any.

    `written` means that it came as text.
    """

    name: str
    arguments: str
    digest: str
    state: CallState = Pending()
    note: str = ""
    invalid: str = ""
    seal: str = ""
    written: bool = False
    changed: str = ""

    @property
    def given(self) -> str:
        """The arguments with which it runs."""
        return self.changed or self.arguments

    @property
    def child(self) -> str:
        """The session of the subagent that the call started; empty if there is none."""
        if isinstance(self.state, Waiting):
            return self.state.child
        report = self.state.report if isinstance(self.state, (Done, Failed)) else None
        return report.child if report is not None else ""


class StepStart(Identified, frozen=True, tag="step_start"):
    """A counted request begins."""

    number: int
    cap: int
    closing: Reason | None = None


class StepFinish(Identified, frozen=True, tag="step_finish"):
    """The end of a step's request; its calls run after this."""

    number: int
    calls: int = 0
    empty: bool = False
    cut: bool = False


class Request(Identified, frozen=True, tag="request"):
    """One request to a model, recorded before it is sent."""

    purpose: Purpose
    number: int
    attempt: int
    model: str
    state: RequestState = Open()


class Notice(Identified, frozen=True, tag="notice"):
    """A notice for the reader; `told` ones are also read by the model."""

    about: str
    text: str
    told: bool = False
    limit: LimitName | None = None
    item: str = ""
    """The inbox item that it answers."""


class ReservationRefused(Identified, frozen=True, tag="refused"):
    """The ledger had no room for a request, which `needs` at least this much of the limit."""

    limit: LimitName
    scope: Scope = "turn"
    closing: bool = False
    spent: float = 0.0
    allowed: float = 0.0
    needs: float = 0.0
    owner: str = ""
    """The name whose day or month is short; empty for the user's, and for a turn or a tree."""

    @property
    def closes(self) -> Reason:
        """The reason with which it closes the turn."""
        return "tree_budget" if self.scope == "tree" else LIMITS[self.limit].reason


CompactionCause = Literal["usage", "overflow", "manual", "prune"]


class Compaction(Identified, frozen=True, tag="compaction"):
    """A reduction of the model's view; the journal keeps everything. An open one is still to be done.

    `through` is the first message that stays. Before it stand the summary and the turn's own prompts, of which
    `shortened` are too long to stand whole. `pruned` are results whose output became a placeholder.
    """

    cause: CompactionCause
    outcome: Literal["open", "smaller", "no_progress"]
    through: str = ""
    summary: str = ""
    shortened: dict[str, str] = {}
    pruned: tuple[str, ...] = ()
    before: int = 0
    after: int = 0
    by: Literal["model", "bridle"] = "model"


class Changed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A changed file, with its added and removed lines."""

    path: str
    how: Literal["added", "changed", "deleted"]
    added: int = 0
    removed: int = 0


class Patch(Identified, frozen=True, tag="patch"):
    """The changes of a step's calls to the project's files. An open one is recorded before the first call starts.

    `before` and `after` name the stored snapshots. `unkept` files were changed but not stored, because they are too
    large or repositories of their own. `left` existed before without being stored, and is stored now. `moved` gives the
    earlier name of those that were renamed since.
    """

    before: str
    after: str = ""
    files: tuple[Changed, ...] = ()
    more: int = 0
    """Number of changed files not listed here."""
    unkept: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    moved: dict[str, str] = {}
    at: float = 0.0
    closed: float = 0.0
    background: bool = False
    """A background command was still running when this was closed."""
    state: Literal["open", "taken", "failed"] = "open"
    detail: str = ""


class History(Identified, frozen=True, tag="history"):
    """The conversation with which a session was created: the model reads it before the first prompt.

    Only words: its calls are never run, and nothing of it counts or permits anything.
    """

    messages: tuple[Message, ...]


class Undone(Identified, frozen=True, tag="undone"):
    """A person undid everything from a turn on; the next turn makes that final.

    `turns` existed at that time, `tree` is the snapshot of the files then, `files` are the restored ones.
    """

    turn: int
    turns: int
    tree: str = ""
    files: tuple[str, ...] = ()
    restored: bool = False


class Redone(Identified, frozen=True, tag="redone"):
    """A person took the last undo back."""

    undone: str
    restored: bool = False


class Extension(Identified, frozen=True, tag="extension"):
    """A person raised a limit of the running turn, with this inbox item."""

    limit: LimitName
    by: float
    item: str = ""


class Halt(Identified, frozen=True, tag="halt"):
    """The turn must end without a closing request."""

    reason: Reason
    detail: str = ""


class Sentinel(Identified, frozen=True, tag="sentinel"):
    """Why a turn ended early, for the reader."""

    reason: Reason
    text: str
    mark: str = "cap_hit"


class Fallback(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model that is asked when the one before it has failed for good, with its window; see `TurnStart`."""

    model: str
    window: int = 0
    compact_at: int = 0


class TurnStart(Identified, frozen=True, tag="turn_start"):
    """The start of a turn: everything that holds until its end, even if the configuration changes later."""

    number: int
    agent: str
    model: str
    cap: int
    limits: Limits
    on_ask: OnAsk
    tools: tuple[str, ...] = ()
    system: str = ""
    account: str = ""
    at: float = 0.0
    delegation: Delegation | None = msgspec.field(default=None, name="mandate")
    window: int = 0
    compact_at: int = 0
    """Token count above which the context is compacted; 0 disables compaction."""
    variant: str = ""
    output: dict[str, Any] | None = None
    """The JSON schema that the answer must fit."""
    asked_tools: tuple[str, ...] = ()
    """Tools that its agent does not have and that its prompt requested."""
    options: dict[str, Any] = {}
    """Options of the model from the prompt, over those of the agent."""
    owner: str = ""
    """The name that pays, by days and months. Empty for the user, and in a subagent's turn: its root's pays."""
    fallbacks: tuple[Fallback, ...] = ()
    more_system: str = ""
    """Instructions of the prompt for every agent of the turn; recorded if its agent may hand over."""
    tool_switches: dict[str, bool] = {}
    """Tools that the prompt switches on or off for every agent of the turn; recorded if its agent may hand over."""


class Handoff(Identified, frozen=True, tag="handoff"):
    """Another agent continues the turn once all calls of the step have ended: the terms that differ from its start.

    `limits` can only make those of the turn smaller. An empty `system` is the same as before.
    """

    agent: str
    model: str
    tools: tuple[str, ...] = ()
    system: str = ""
    limits: Limits = UNLIMITED
    window: int = 0
    compact_at: int = 0
    variant: str = ""
    asked_tools: tuple[str, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    options: dict[str, Any] = {}


class TurnFinish(Identified, frozen=True, tag="turn_finish"):
    """The end of a turn."""

    number: int
    reason: Reason
    spent: Spent
    usage: Usage
    answer: tuple[str, ...] = ()
    detail: str = ""
    cut: bool = False
    unasked: bool = False
    files: tuple[str, ...] = ()
    output: str = ""
    """The answer that fits the schema, as JSON."""
    models: dict[str, ModelUse] = {}
    """The use of the turn and everything below it, by reference of the model; empty in records of older versions."""
    limit: ReachedLimit | None = None
    """The limit that ended it; None in records of older versions."""


PartOfReply = Text | Reasoning | Call
PartOfStep = StepStart | StepFinish | Request | ReservationRefused | Patch
PartOfTurn = TurnStart | Handoff | Prompt | Notice | Compaction | Extension | Halt | Sentinel | TurnFinish
Part = PartOfReply | PartOfStep | PartOfTurn | History | Withdrawn | Undone | Redone
