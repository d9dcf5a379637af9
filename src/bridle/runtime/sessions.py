"""`Sessions`: the protocol by which every surface creates, steers, follows and keeps sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
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
    """The outcome of an undo or a redo: the first turn concerned, its files, and the text of its prompt."""

    turn: int
    files: tuple[str, ...]
    prompt: str = ""
    unknown: tuple[str, ...] = ()
    """Files whose earlier state is not known, in words."""
    finished: bool = False
    """Whether it was recorded before, and only the files had not followed."""


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
    """Sessions of one journal, wherever they are driven.

    `Runtime` implements it on a journal; a client implements it over HTTP. Methods raise `JournalError` and, for values
    that make no sense, `ConfigError`. Items that are submitted are safe once the method returns.
    """

    def new_id(self) -> str:
        """Return the id of a session that is yet to be made."""

    async def create(self, id: str | None = None) -> str:
        """Make a session and return its id; again with the same id does nothing."""

    async def begin(self, id: str, text: str, options: TurnOptions | None) -> str:
        """Make a session for a first prompt; makes none if that prompt would be refused."""

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
    ) -> str:
        """Submit a prompt, wake its session and return the prompt's id. The same id twice is one prompt."""

    async def answer(
        self, session: str, ask: str, choice: Literal["once", "always", "reject"], feedback: str = ""
    ) -> None:
        """Answer an ask of this session or of one below it."""

    async def abort(self, session: str, *, turn: int = 0, detail: str = "") -> None:
        """End the running turn, wherever it runs."""

    async def extend(self, session: str, limit: LimitName, by: float) -> str:
        """Raise a limit of the running turn; return the id by which `extended` knows it."""

    async def extended(self, session: str, extension: str) -> Extension | Notice | None:
        """Return the outcome of an extension, or None while there is none."""

    async def compact(self, session: str) -> None:
        """Have the context of a session made smaller."""

    async def resume(self, session: str) -> None:
        """Go on with an interrupted turn, and with prompts that a failed one left for the person."""

    async def wait(self, session: str, prompt: str) -> Result:
        """Return the result of a prompt, once its turn has finished or nothing can go on."""

    async def parked(self, session: str) -> None:
        """Return once nothing can go on in the session and below it."""

    def stream(self, session: str, prompt: str, after: int = 0) -> AsyncGenerator[Entry | Live, None]:
        """Yield entries after a sequence number and live deltas, until `wait` would return."""

    def follow(
        self, session: str, after: int = 0, *, until: asyncio.Future[Any] | None = None
    ) -> AsyncGenerator[Entry | Live, None]:
        """Yield entries after a sequence number and live deltas, without end or until this is done."""

    async def load(self, session: str) -> Session:
        """Return a session as the journal has it now."""

    async def entries(self, session: str) -> list[Entry]:
        """Return everything that was recorded of a session, undone or not."""

    async def tree_entries(self, session: str) -> dict[str, list[Entry]]:
        """Return everything that was recorded of a session and of its subagents, by their ids."""

    async def sessions(self) -> list[SessionRow]:
        """Return all sessions, the one that changed last first."""

    async def is_begun(self, row: SessionRow) -> bool:
        """Return whether a session has a prompt; lists leave empty sessions out."""

    async def interrupted(self) -> list[str]:
        """Return the sessions of this directory whose turn was interrupted, the newest first."""

    async def status(self, session: str) -> Status:
        """Return what a session is doing."""

    async def is_driven(self, session: str) -> bool:
        """Return whether a process drives the session now."""

    async def root(self, session: str) -> str:
        """Return the session at the top of the tree that a session works in."""

    async def waiting_prompts(self, session: str) -> list[str]:
        """Return the ids of prompts that no turn has taken."""

    async def subagents(self, session: Session, ended: dict[str, Branch]) -> tuple[Branch, ...]:
        """Return the subagents of a session with theirs; `ended` keeps those that need no second look."""

    async def tree_account(self, session: Session) -> Account | None:
        """Return the account of a whole tree of turns; None where there are no subagents."""

    async def rename(self, session: str, title: str) -> None:
        """Give a session another title."""

    async def fork(self, session: str, turn: int | None = None) -> str:
        """Make a new session with the same history, up to a turn; return its id."""

    async def undo(self, session: str, *, to: str = "", keep_files: bool = False, force: bool = False) -> Reverted:
        """Hide everything from a turn on, and bring the files back to their state before it."""

    async def redo(self, session: str, *, keep_files: bool = False) -> Reverted:
        """Take the last undo back."""

    async def diff(self, session: str, turn: int = 0) -> str:
        """Return the changes of a session, or of one turn, as a unified diff."""

    async def export(self, session: str, *, redact: bool = False) -> bytes:
        """Return a session with its subagents as one JSON document."""

    async def import_bundle(self, raw: bytes) -> str:
        """Take an exported session into the journal; return its id."""

    async def delete(self, session: str) -> list[str]:
        """Delete a session with everything below it; return the ids of what was deleted."""
