"""`Sessions`: the protocol through which every surface creates, steers, follows and manages sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from bridle.core.budget import AccountUse, Budget
from bridle.core.events import Entry, Live
from bridle.core.inbox import PromptItem, TurnOptions
from bridle.core.ledger import Account
from bridle.core.limits import LimitName
from bridle.core.messages import Message
from bridle.core.parts import Extension, File, Notice
from bridle.core.permission import Approvals
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.core.status import Status
from bridle.journal.journal import PageMark as PageMark, SessionQuery as SessionQuery, SessionRow as SessionRow

MOST_LOOKED_AT = 50
"""Sessions that a surface looks at to find interrupted ones: it starts with every command."""


def pinned_first(rows: Iterable[SessionRow]) -> list[SessionRow]:
    """Return rows as lists show them: pinned sessions first, otherwise in their order."""
    return sorted(rows, key=lambda row: not row.info.pinned)


class Reverted(msgspec.Struct, frozen=True):
    """The outcome of an undo or a redo: the first turn affected, its files, and the text of its prompt."""

    turn: int
    files: tuple[str, ...]
    prompt: str = ""
    unknown: tuple[str, ...] = ()
    """Messages about files whose earlier state is not known."""
    finished: bool = False
    """Whether the undo or redo was already recorded and only its files were still to be restored."""


class Branch(msgspec.Struct, frozen=True):
    """A subagent in the tree of a session: the arguments of its call, its state, and its own subagents."""

    session: str
    agent: str
    arguments: str
    state: str
    steps: int
    cap: int
    below: tuple[Branch, ...] = ()


class Sessions(Protocol):
    """The sessions of one journal, in whichever process they are driven.

    `Runtime` implements it on a journal; a client implements it over HTTP. Every method with a session id raises
    `NoSuchSession` for an unknown one and `JournalRefused` for a damaged one, unless it says otherwise. Values of a
    wrong type or outside their set raise `ConfigError` before anything is written. Prompts, answers, aborts and
    extensions are durable once the method returns, and reach the turn in whichever process drives it.
    """

    def new_id(self) -> str:
        """Return an id for a new session."""

    async def create(
        self,
        id: str | None = None,
        *,
        messages: Iterable[Message] = (),
        title: str = "",
        agent: str = "",
        model: str = "",
        denied: Sequence[str] = (),
    ) -> str:
        """Create a session that begins with these messages, and return its id. Idempotent for the same id and messages.

        `agent` and `model` are those of the first turn, unless its prompt names others. No turn offers `denied` tools.
        Raises `ConfigError` for an invalid id, agent or model, for messages that no model can read, and if the session
        exists and did not begin with these messages.
        """

    async def begin(self, id: str, text: str, options: TurnOptions | None) -> str:
        """Create a session for a first prompt and return its id; idempotent. Submits no prompt.

        Raises `ConfigError`, and creates no session, if the prompt would be refused. Without options it cannot be.
        """

    async def prompt(
        self,
        session: str,
        text: str,
        *,
        id: str | None = None,
        files: Sequence[File] = (),
        queue: bool = False,
        reply: bool = True,
        options: TurnOptions | None = None,
        wants: Sequence[str] = (),
        subtask: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Submit a prompt, wake its session and return the prompt's id. Idempotent for the same id.

        A prompt to a running turn joins it, to a paused turn rejects the open asks and joins it. With `queue` it waits
        for a turn of its own. With `reply=False` it is only recorded, for the model to read with the next prompt.
        `options` hold for the turn that it opens. `metadata` is JSON for tools, dependencies and readers.
        Raises `ConfigError` if its turn could not begin (unknown agent or model, invalid limits), or if the id was used
        for another prompt.
        """

    async def check_prompt(self, session: str, text: str, options: TurnOptions) -> None:
        """Raise `ConfigError` if the turn of such a prompt could not begin; submits nothing."""

    async def withdraw(self, session: str, prompt: str) -> bool:
        """Take back a prompt that no turn has taken; return whether it was taken back. Idempotent.

        A prompt in a turn stays. A withdrawn one is never answered: those who wait for it get the result `withdrawn`.
        Raises `ConfigError` for a prompt that the session does not have, or that the session above has given.
        """

    async def shell(self, session: str, command: str, *, id: str | None = None) -> str:
        """Run a person's shell command as a recorded `bash` call without an ask, and return the prompt's id.

        It has a turn of its own, without a model request. Sandbox, protected places and rules that deny hold.
        Idempotent for the same id. Raises `LeaseLost` while a turn runs or prompts wait, and `ConfigError` for an empty
        command.
        """

    async def answer(
        self,
        session: str,
        ask: str,
        choice: Literal["once", "always", "reject"],
        feedback: str = "",
        *,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        """Answer an ask of this session or of one of its subagents; `arguments` replace those of the call.

        The first answer holds. An answer to an ask that is not open, or that does not exist, changes nothing; where the
        one that holds is known and says something else, `AlreadyAnswered` may be raised.
        `feedback` is the answer to a question, or tells the model why its call was rejected; a rejection without it
        ends the turn. `always` grants the permission for the session, and for the project where it keeps approvals.
        """

    async def supply(self, session: str, call: str, output: str, *, failed: bool = False) -> None:
        """Give the result of a deferred call. The first one holds; a call that awaits no result is left alone."""

    async def abort(self, session: str, *, turn: int = 0, detail: str = "") -> None:
        """End the running turn, in any process, within about a second. `turn` 0 means any turn.

        Changes nothing if no turn runs. May be called twice. Queued prompts behind an aborted turn wait for `resume`.
        """

    async def extend(self, session: str, limit: LimitName, by: float) -> str:
        """Raise a limit of the running turn; return the id to pass to `extended`.

        Each call raises it again. Raises `ConfigError` for an unknown limit and for an amount that is not positive.
        """

    async def extended(self, session: str, extension: str) -> Extension | Notice | None:
        """Return the `Extension` that raised the limit, the `Notice` that refused it, or None while it is pending."""

    async def compact(self, session: str) -> None:
        """Request a compaction of the context: in the running turn before its next step, or else in a separate turn."""

    async def resume(self, session: str) -> None:
        """Continue an interrupted turn, and prompts that wait behind a failed or aborted turn; returns at once.

        Changes nothing if there are none, or if another process drives the session. May be called twice.
        """

    async def wait(self, session: str, prompt: str) -> Result:
        """Return the result of a prompt once its turn has finished or the session cannot continue.

        Result reasons `paused` and `held` mean that it awaits someone; call it again after an answer or `resume`. An
        interrupted turn is taken over. Any number of callers in any process may wait; cancelling a wait ends no turn.
        """

    async def parked(self, session: str) -> None:
        """Return once neither the session nor its subagents can continue: all turns have ended or await someone."""

    def stream(self, session: str, prompt: str, after: int = 0) -> AsyncGenerator[Entry | Live, None]:
        """Yield entries after a sequence number and live deltas, until `wait` would return.

        Each entry comes once and in order, from any process. Deltas may be dropped; those of turns that other processes
        drive come only with a journal on PostgreSQL. Closing the generator ends no turn. `EventStream` makes public
        events of what it yields.
        """

    def follow(
        self, session: str, after: int = 0, *, until: asyncio.Future[Any] | None = None
    ) -> AsyncGenerator[Entry | Live, None]:
        """Yield entries after a sequence number and live deltas, endlessly or until `until` is done. See `stream`."""

    async def load(self, session: str) -> Session:
        """Return the state of a session as recorded now: its `info`, `messages`, `parts` and last `turn`.

        The caller owns it; it does not change afterwards.
        """

    async def entries(self, session: str) -> list[Entry]:
        """Return all recorded entries of a session, undone ones included."""

    async def tree_entries(self, session: str) -> dict[str, list[Entry]]:
        """Return all recorded entries of a session and of its subagents, by session id."""

    async def sessions(self, query: SessionQuery | None = None) -> list[SessionRow]:
        """Return the sessions that fit, the most recently changed first.

        Without a query these are all sessions, subagents included, that are not archived. A page has `limit` rows, and
        `before=row.mark` with the last row of a page gives the next one. A `state` is looked for only among the 500
        sessions that fit otherwise and changed last.
        """

    async def is_begun(self, row: SessionRow) -> bool:
        """Return whether a session has a prompt; lists leave empty sessions out."""

    async def interrupted(self, *, most: int | None = None) -> list[str]:
        """Return the sessions of this directory whose turn was interrupted, newest first.

        With `most`, only that number of sessions is looked at: those that changed last.
        """

    async def status(self, session: str) -> Status:
        """Return the status of a session: `idle`, `busy`, `retry`, `paused` or `interrupted`."""

    async def last_session(self, wanted: str = "") -> str:
        """Return this directory's most recently changed session with a prompt.

        Raises `ConfigError` without one, with a text that begins with `wanted`.
        """

    async def worker_notice(self, session: str) -> str:
        """Return a sentence if this session waits for a worker and no live one takes it; empty otherwise."""

    def drives(self, session: str) -> bool:
        """Return whether this program drives the session, so that its turn ends with the program."""

    async def is_driven(self, session: str) -> bool:
        """Return whether a process drives the session now; False if the session does not exist."""

    async def root(self, session: str) -> str:
        """Return the root session of the tree that a session belongs to."""

    async def waiting_prompts(self, session: str) -> list[str]:
        """Return the ids of the prompts that wait in the inbox, in the order of their submission."""

    async def pending_prompts(self, session: str) -> list[PromptItem]:
        """Return the same prompts with their texts and files."""

    async def subagents(self, session: Session, ended: dict[str, Branch]) -> tuple[Branch, ...]:
        """Return the tree of subagents of a session; `ended` caches finished branches between calls."""

    async def tree_account(self, session: Session) -> Account | None:
        """Return the account of the whole tree of turns; None if there are no subagents."""

    async def set_budget(self, account: str, budget: Budget) -> None:
        """Set the limits of each day and month of an account, for all processes; the last change holds."""

    async def account(self, account: str = "") -> AccountUse:
        """Return the use of an account today and in this month; an empty name is that of the runtime."""

    async def rename(self, session: str, title: str) -> None:
        """Give a session another title, also while a turn runs."""

    async def pin(self, session: str, pinned: bool) -> None:
        """Show a session at the top of lists, or no longer. Pinned sessions are not deleted by age or size."""

    async def archive(self, session: str, archived: bool) -> None:
        """Leave a session out of lists, or show it in them again. Nothing else changes."""

    async def set_approvals(self, session: str, approvals: Approvals) -> None:
        """Change how calls are approved, from the next call on, also of running subagents.

        `rules`: as configured. `ask`: each edit and command. `auto`: all that `on_ask="allow"` allows; protected places
        and doom loops still ask. Rules that deny hold always. Clients of a server cannot choose `auto`, which raises
        `ConfigError`, as it does inside a tool call.
        """

    async def move(self, session: str, place: str) -> list[str]:
        """Let the workers of another machine take a session with its subagents; return the ids of these sessions.

        The files of its project directory must be there. May be called again. Raises `LeaseLost` while a turn of the
        tree runs, and `ConfigError` for a subagent, which moves with its parent, and for a session that needs no files.
        """

    async def fork(self, session: str, turn: int | None = None) -> str:
        """Create a session with the same history before a turn, by default up to the running one; return its id.

        Each call creates another one. Raises `ConfigError` if there is no such turn.
        """

    async def undo(self, session: str, *, to: str = "", keep_files: bool = False, force: bool = False) -> Reverted:
        """Hide everything from a turn on, by default the last, and restore the files to their state before it.

        `to` is the number of a turn or the id of its prompt. `keep_files` leaves all files alone, `force` also reverts
        changes made by others since. Raises `ConfigError` if there is no such turn or files would be lost, and
        `LeaseLost` or `ConfigError` while a turn is open; then nothing has changed.
        """

    async def redo(self, session: str, *, keep_files: bool = False) -> Reverted:
        """Revert the last undo, with its files. Raises as `undo` does, and `ConfigError` if there is none."""

    async def diff(self, session: str, turn: int = 0) -> str:
        """Return the changes of a session, or of one turn, as a unified diff; raises `ConfigError` if unknown."""

    async def export(self, session: str, *, redact: bool = False) -> bytes:
        """Return a session with its subagents as one JSON document. `redact` replaces what looks like a secret."""

    async def import_bundle(self, raw: bytes) -> str:
        """Write an exported session with its subagents to the journal; return its id. Idempotent.

        It brings no permissions. Raises `ConfigError`, and writes nothing, for an invalid document and if another
        session has its id.
        """

    async def delete(self, session: str) -> list[str]:
        """Delete a session with its subagents; return the ids of the deleted sessions.

        Raises `LeaseLost` while a turn of the tree runs: abort it first. Prompts that wait are deleted with it.
        """
