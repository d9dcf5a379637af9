"""Types of the native HTTP API's answers, which its server writes and its client reads."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.access import Right
from bridle.core.events import Entry, PartDelta, SessionInfo
from bridle.core.inbox import PromptItem
from bridle.core.ledger import Account
from bridle.core.limits import Limits
from bridle.core.parts import Extension, File, Notice, Part
from bridle.core.states import Ask
from bridle.core.status import Status
from bridle.core.todos import Todo
from bridle.wire.native_history import LimitUse
from bridle.wire.native_requests import AnswerBody, State


class ErrorBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of every error."""

    error: str
    """What is wrong, and what to do."""
    key: str = ""
    """The field, parameter or header at fault."""
    kind: str = ""
    """The class of the error in `bridle.errors`; empty if the server itself refuses the request."""


class OpenAsk(msgspec.Struct, frozen=True):
    """A request that awaits a person; answer it in this session or in that of the row."""

    id: str
    session: str
    kind: Literal["permission", "question", "deferred"]
    text: str
    choices: tuple[str, ...]
    always: tuple[str, ...] = ()
    """What `always` would cover."""
    diff: str = ""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A session in a list."""

    session: str
    directory: str
    title: str
    state: State
    cost: float
    """US dollars, subagents included."""
    asks: tuple[OpenAsk, ...]
    sequence: int
    created: float
    updated: float
    agent: str = ""
    """The agent and the model of the last turn."""
    model: str = ""
    pinned: bool = False
    limit: LimitUse | None = None
    """The limit of the last turn of which the largest share is used."""
    reason: str = ""
    """How the last turn ended; empty while one runs."""


class RowSnapshot(msgspec.Struct, frozen=True):
    """All rows, the session that changed last first."""

    sessions: tuple[Row, ...]


class Gone(msgspec.Struct, frozen=True):
    """A session that was deleted."""

    session: str


class Created(msgspec.Struct, frozen=True):
    """The id of a session."""

    id: str


class Listed(msgspec.Struct, frozen=True):
    """Sessions, the one that changed last first."""

    sessions: tuple[Row, ...]
    next: str = ""
    """Give this as `before` to get the next page; empty on the last one."""


class SessionState(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it is recorded now."""

    info: SessionInfo
    sequence: int
    """The number of its last entry: follow its events after this one."""
    status: Status
    turns: int
    cost: float
    asks: tuple[Ask, ...]
    waiting: tuple[str, ...]
    """Ids of prompts that no turn has taken yet."""
    todos: tuple[Todo, ...]
    parts: tuple[Part, ...]


class Entries(msgspec.Struct, frozen=True):
    """Journal entries, undone ones included."""

    entries: tuple[Entry, ...]


class Diff(msgspec.Struct, frozen=True):
    """File changes as a unified diff."""

    diff: str


class RevertedTurns(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an undo or a redo."""

    turn: int
    files: tuple[str, ...]
    prompt: str
    unknown: tuple[str, ...]
    """Messages about files whose earlier state is not known."""
    finished: bool = False
    """Whether it was already recorded, and only its files were still to be restored."""


class DeletedSessions(msgspec.Struct, frozen=True):
    """Ids of deleted sessions."""

    deleted: tuple[str, ...]


class Accepted(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was submitted is recorded."""

    id: str = ""


class ExtensionState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of an extension."""

    state: Literal["pending", "extended", "refused"]
    text: str = ""
    part: Extension | Notice | None = None
    """The part that raised the limit, or the notice that refused it."""


class Removed(msgspec.Struct, frozen=True):
    """Whether a prompt that waited was taken back."""

    withdrawn: bool


class Driven(msgspec.Struct, frozen=True):
    """Whether a process drives a session now."""

    driven: bool


class PendingPrompts(msgspec.Struct, frozen=True):
    """The prompts that no turn has taken yet, in the order of their submission."""

    prompts: tuple[PromptItem, ...]


class TreeEntries(msgspec.Struct, frozen=True):
    """Journal entries of a session and of its subagents, by session id."""

    sessions: dict[str, tuple[Entry, ...]]


class TreeAccount(msgspec.Struct, frozen=True):
    """The account of the whole tree of turns; none without subagents."""

    account: Account | None


class SessionIds(msgspec.Struct, frozen=True):
    """Ids of sessions."""

    sessions: tuple[str, ...]


class WorkerNotice(msgspec.Struct, frozen=True):
    """Why no worker takes a session; empty if one does, or none is needed."""

    text: str


class RecordEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the stream of a record sends: a journal entry, or text that is not recorded yet."""

    entry: Entry | None = None
    delta: PartDelta | None = None


class ExpandedPrompt(msgspec.Struct, frozen=True, omit_defaults=True):
    """A prompt with slash commands expanded and files attached; or a command of its template to allow first."""

    text: str = ""
    files: tuple[File, ...] = ()
    agent: str | None = None
    model: str | None = None
    wants: tuple[str, ...] = ()
    subtask: str = ""
    question: str = ""
    """The command: ask the person, and send it again as `allowed`."""


class WinningAnswer(msgspec.Struct, frozen=True):
    """The body of 409: why an answer does not count, and the one that did, if a person gave one."""

    error: str
    key: str
    answer: AnswerBody | None


class AgentState(msgspec.Struct, frozen=True, kw_only=True):
    """An agent, with its limits as a primary agent and as a subagent."""

    name: str
    description: str
    mode: Literal["primary", "subagent", "all"]
    model: str
    limits: Limits
    below: Limits
    hidden: bool = False


class AgentList(msgspec.Struct, frozen=True):
    """The agents of a directory, and the one that prompts get by default."""

    agents: tuple[AgentState, ...]
    default: str


class ProjectState(msgspec.Struct, frozen=True, kw_only=True):
    """A directory with the settings that surfaces use, and what a person should know about them."""

    directory: str
    agent: str
    model: str
    theme: str
    models: tuple[str, ...]
    """References of configured models."""
    commands: tuple[str, ...]
    """Names of slash commands."""
    notices: tuple[str, ...]


class ModelList(msgspec.Struct, frozen=True):
    """The models that are reachable now, the default one, and why it was chosen."""

    models: tuple[str, ...]
    default: str
    why: str


class ServerState(msgspec.Struct, frozen=True, kw_only=True):
    """A running server."""

    version: str
    process: int
    address: str
    directories: tuple[str, ...]
    sessions: int
    """Sessions that it drives now."""
    followers: int
    """Open event streams."""
    right: Right
    """The right of the client that asks."""
    sandbox: str = ""
    """Why commands run without a sandbox; empty if they run in one, or if the user's settings turn it off."""


class Login(msgspec.Struct, frozen=True):
    """A code with which a page logs in once, within two minutes."""

    code: str


class PageKey(msgspec.Struct, frozen=True):
    """The value that a page sends as header `X-Bridle-Page` with each request, beside its cookie."""

    header: str
    right: Right
