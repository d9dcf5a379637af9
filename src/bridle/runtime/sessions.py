"""`Sessions`: the protocol through which every surface creates, steers, follows and manages sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from bridle.core.events import Entry, Live
from bridle.core.inbox import TurnOptions
from bridle.core.ledger import Account
from bridle.core.limits import LimitName
from bridle.core.parts import Extension, File, Notice
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.core.status import Status
from bridle.journal.journal import SessionRow as SessionRow


class Reverted(NamedTuple):
    """The outcome of an undo or a redo: the first turn affected, its files, and the text of its prompt."""

    turn: int
    files: tuple[str, ...]
    prompt: str = ""
    unknown: tuple[str, ...] = ()
    """Messages about files whose earlier state is not known."""
    finished: bool = False
    """Whether the undo or redo was already recorded and only its files were still to be restored."""


class Branch(NamedTuple):
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

    `Runtime` implements it on a journal; a client implements it over HTTP. Methods raise `JournalError`, and
    `ConfigError` for invalid values. Submitted items are durable once the method returns.
    """

    def new_id(self) -> str:
        """Return an id for a new session."""

    async def create(self, id: str | None = None) -> str:
        """Create a session and return its id. Idempotent for the same id."""

    async def begin(self, id: str, text: str, options: TurnOptions | None) -> str:
        """Create a session for a first prompt; create none if that prompt would be refused."""

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
        """Submit a prompt, wake its session and return the prompt's id. Idempotent for the same id."""

    async def answer(
        self,
        session: str,
        ask: str,
        choice: Literal["once", "always", "reject"],
        feedback: str = "",
        *,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        """Answer a permission request of this session or of one of its subagents; `arguments` replace the call's."""

    async def supply(self, session: str, call: str, output: str, *, failed: bool = False) -> None:
        """Give the result of a deferred call."""

    async def abort(self, session: str, *, turn: int = 0, detail: str = "") -> None:
        """End the running turn, in any process."""

    async def extend(self, session: str, limit: LimitName, by: float) -> str:
        """Raise a limit of the running turn; return the id to pass to `extended`."""

    async def extended(self, session: str, extension: str) -> Extension | Notice | None:
        """Return the outcome of an extension, or None while it is pending."""

    async def compact(self, session: str) -> None:
        """Request a compaction of the session's context."""

    async def resume(self, session: str) -> None:
        """Continue an interrupted turn, and prompts that were held back after a failed turn."""

    async def wait(self, session: str, prompt: str) -> Result:
        """Return the result of a prompt once its turn has finished or the session cannot continue."""

    async def parked(self, session: str) -> None:
        """Return once neither the session nor its subagents can continue."""

    def stream(self, session: str, prompt: str, after: int = 0) -> AsyncGenerator[Entry | Live, None]:
        """Yield entries after a sequence number and live deltas, until `wait` would return."""

    def follow(
        self, session: str, after: int = 0, *, until: asyncio.Future[Any] | None = None
    ) -> AsyncGenerator[Entry | Live, None]:
        """Yield entries after a sequence number and live deltas, endlessly or until `until` is done."""

    async def load(self, session: str) -> Session:
        """Return the current state of a session from the journal."""

    async def entries(self, session: str) -> list[Entry]:
        """Return all recorded entries of a session, undone ones included."""

    async def tree_entries(self, session: str) -> dict[str, list[Entry]]:
        """Return all recorded entries of a session and of its subagents, by session id."""

    async def sessions(self) -> list[SessionRow]:
        """Return all sessions, the most recently changed first."""

    async def is_begun(self, row: SessionRow) -> bool:
        """Return whether a session has a prompt; lists leave empty sessions out."""

    async def interrupted(self) -> list[str]:
        """Return the sessions of this directory whose turn was interrupted, newest first."""

    async def status(self, session: str) -> Status:
        """Return the status of a session."""

    async def is_driven(self, session: str) -> bool:
        """Return whether a process drives the session now."""

    async def root(self, session: str) -> str:
        """Return the root session of the tree that a session belongs to."""

    async def waiting_prompts(self, session: str) -> list[str]:
        """Return the ids of the prompts that wait in the inbox."""

    async def subagents(self, session: Session, ended: dict[str, Branch]) -> tuple[Branch, ...]:
        """Return the tree of subagents of a session; `ended` caches finished branches between calls."""

    async def tree_account(self, session: Session) -> Account | None:
        """Return the account of the whole tree of turns; None if there are no subagents."""

    async def rename(self, session: str, title: str) -> None:
        """Give a session another title."""

    async def fork(self, session: str, turn: int | None = None) -> str:
        """Create a session with the same history, up to a turn; return its id."""

    async def undo(self, session: str, *, to: str = "", keep_files: bool = False, force: bool = False) -> Reverted:
        """Hide everything from a turn on, and restore the files to their state before it."""

    async def redo(self, session: str, *, keep_files: bool = False) -> Reverted:
        """Revert the last undo."""

    async def diff(self, session: str, turn: int = 0) -> str:
        """Return the changes of a session, or of one turn, as a unified diff."""

    async def export(self, session: str, *, redact: bool = False) -> bytes:
        """Return a session with its subagents as one JSON document."""

    async def import_bundle(self, raw: bytes) -> str:
        """Write an exported session to the journal; return its id."""

    async def delete(self, session: str) -> list[str]:
        """Delete a session with its subagents; return the ids of the deleted sessions."""
