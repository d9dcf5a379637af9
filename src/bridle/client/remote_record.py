"""`RemoteRecord`: base class of `ServerClient` that reads, waits for and follows sessions of a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from bridle.client.connection import ServerConnection, segment, session_path
from bridle.client.record_stream import entries_after, follow_record
from bridle.core.budget import AccountUse
from bridle.core.events import Entry, Live
from bridle.core.inbox import PromptItem
from bridle.core.ledger import Account
from bridle.core.limits import NOTHING
from bridle.core.parts import Extension, Notice, Prompt
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.core.status import Status
from bridle.errors import ConfigError, JournalRefused
from bridle.journal.journal import folded
from bridle.runtime.argument_checks import fitting
from bridle.runtime.session_reader import FEW_ENTRIES, parts_put
from bridle.runtime.sessions import Branch, SessionQuery, SessionRow
from bridle.seams import begin
from bridle.wire.native_answers import (
    Accepted,
    Created,
    Diff,
    Driven,
    ExtensionState,
    PendingPrompts,
    SessionIds,
    TreeAccount,
    TreeEntries,
    WorkerNotice,
)
from bridle.wire.native_requests import DirectoryQuery, InterruptedQuery, QueryBody, TurnQuery, WaitQuery

WAIT_SECONDS = 25.0
"""How long one request waits: proxies end longer ones."""


class RemoteRecord:
    """The queries of `Sessions`, over HTTP."""

    _connection: ServerConnection
    directory: Path

    async def wait(self, session: str, prompt: str) -> Result:
        path = session_path(session, f"/prompts/{segment(prompt)}/wait")
        found = await self._connection.ask_again(path, Result, query=WaitQuery(wait=WAIT_SECONDS))
        # Only a program has the whole conversation beside its result.
        return msgspec.structs.replace(found, messages=())

    async def parked(self, session: str) -> None:
        await self._connection.ask_again(session_path(session, "/parked"), Accepted, query=WaitQuery(wait=WAIT_SECONDS))

    async def stream(self, session: str, prompt: str, after: int = 0) -> AsyncGenerator[Entry | Live, None]:
        waiting = begin(self.wait(session, prompt))
        try:
            async with aclosing(self.follow(session, after, until=waiting)) as events:
                async for event in events:
                    yield event
            waiting.result()
        finally:
            waiting.cancel()

    def follow(
        self, session: str, after: int = 0, *, until: asyncio.Future[Any] | None = None
    ) -> AsyncGenerator[Entry | Live, None]:
        return follow_record(self._connection, session, after, until)

    async def load(self, session: str) -> Session:
        return folded(session, await entries_after(self._connection, session), Session())

    async def entries(self, session: str) -> list[Entry]:
        return list(await entries_after(self._connection, session))

    async def tree_entries(self, session: str) -> dict[str, list[Entry]]:
        found = await self._connection.ask("GET", session_path(session, "/tree"), TreeEntries)
        return {id: list(entries) for id, entries in found.sessions.items()}

    async def sessions(self, query: SessionQuery | None = None) -> list[SessionRow]:
        given = fitting("query", query, SessionQuery) if query is not None else SessionQuery()
        body = msgspec.convert(given, QueryBody, from_attributes=True)
        return await self._connection.ask("POST", "/sessions/query", list[SessionRow], body=body)

    async def is_begun(self, row: SessionRow) -> bool:
        if row.sequence > FEW_ENTRIES:
            return True
        try:
            entries = await self.entries(row.info.id)
        except JournalRefused:
            # The session is damaged; opening it reports that.
            return True
        prompted = any(isinstance(part, Prompt) for part in parts_put(entries))
        return prompted or bool(await self.waiting_prompts(row.info.id))

    async def last_session(self, wanted: str = "") -> str:
        for row in await self.sessions(SessionQuery(directory=str(self.directory), roots=True)):
            if await self.is_begun(row):
                return row.info.id
        raise ConfigError(f"{wanted}there is no session in {self.directory} yet")

    async def interrupted(self, *, most: int | None = None) -> list[str]:
        query = InterruptedQuery(directory=str(self.directory), most=most or 0)
        return list((await self._connection.ask("GET", "/interrupted", SessionIds, query=query)).sessions)

    async def status(self, session: str) -> Status:
        return await self._connection.ask("GET", session_path(session, "/status"), Status)

    def drives(self, session: str) -> bool:
        return False

    async def is_driven(self, session: str) -> bool:
        return (await self._connection.ask("GET", session_path(session, "/driven"), Driven)).driven

    async def worker_notice(self, session: str) -> str:
        return (await self._connection.ask("GET", session_path(session, "/worker"), WorkerNotice)).text

    async def root(self, session: str) -> str:
        return (await self._connection.ask("GET", session_path(session, "/root"), Created)).id

    async def waiting_prompts(self, session: str) -> list[str]:
        return [item.id for item in await self.pending_prompts(session)]

    async def pending_prompts(self, session: str) -> list[PromptItem]:
        found = await self._connection.ask("GET", session_path(session, "/prompts"), PendingPrompts)
        return list(found.prompts)

    async def extended(self, session: str, extension: str) -> Extension | Notice | None:
        path = session_path(session, f"/extensions/{segment(extension)}")
        return (await self._connection.ask("GET", path, ExtensionState)).part

    async def subagents(self, session: Session, ended: dict[str, Branch]) -> tuple[Branch, ...]:
        assert session.info is not None
        path = session_path(session.info.id, "/subagents")
        return await self._connection.ask("GET", path, tuple[Branch, ...])

    async def tree_account(self, session: Session) -> Account | None:
        turn = session.turn
        if session.info is None or turn is None or (not turn.children and turn.below is NOTHING):
            # This is asked for every displayed entry.
            return None
        return (await self._connection.ask("GET", session_path(session.info.id, "/account"), TreeAccount)).account

    async def account(self, account: str = "") -> AccountUse:
        path = f"/accounts/{segment(account)}" if account else "/account"
        return await self._connection.ask("GET", path, AccountUse, query=DirectoryQuery(directory=str(self.directory)))

    async def diff(self, session: str, turn: int = 0) -> str:
        query = TurnQuery(turn=turn)
        return (await self._connection.ask("GET", session_path(session, "/diff"), Diff, query=query)).diff
