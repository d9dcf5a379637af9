"""`RecordApi`: operations that send a session's record as it is written, wait for its end, and show its tree."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import aclosing
from typing import TypeVar

import msgspec
from starlette.requests import Request

from bridle.core.events import Entry, Live
from bridle.core.result import Result
from bridle.errors import NoSuchSession
from bridle.runtime.project import Backend, BackgroundCommand
from bridle.runtime.sessions import Branch, PageMark, SessionQuery, SessionRow
from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.native.events_api import last_event, refuse_unknown
from bridle.surfaces.server.native.operation import Operation, get, post
from bridle.surfaces.server.problems import Json, RequestRefused
from bridle.surfaces.server.routes import client_of
from bridle.surfaces.server.streams import EventResponse, Outlet, sse
from bridle.wire.native_answers import (
    Accepted,
    Created,
    Driven,
    PendingPrompts,
    RecordEvent,
    SessionIds,
    TreeAccount,
    TreeEntries,
    WorkerNotice,
)
from bridle.wire.native_requests import (
    EmptyBody,
    FollowQuery,
    InterruptedQuery,
    NoQuery,
    QueryBody,
    WaitQuery,
)

Waited = TypeVar("Waited")


class RecordApi:
    """Sends the record as it is written, and answers queries about running turns and their trees."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server

    async def _found(self, request: Request) -> tuple[Backend, str]:
        session = request.path_params["session"]
        return await self._server.directories.of_session(session, request.method), session

    async def record(self, request: Request, query: FollowQuery, body: None) -> object:
        backend, session = await self._found(request)
        after, past = last_event(request, query), await backend.entries(session)
        refuse_unknown(session, past, after)

        async def produce(outlet: Outlet) -> None:
            last = past[-1].sequence
            # The existing record may be long: it is sent at the reader's pace.
            for entry in past:
                if entry.sequence > after:
                    await outlet.put(recorded(entry))
            past.clear()
            async with aclosing(backend.follow(session, last)) as following:
                async for seen in following:
                    outlet.put_nowait(recorded(seen))

        return EventResponse(produce, self._server, client_of(request))

    async def wait(self, request: Request, query: WaitQuery, body: EmptyBody) -> object:
        backend, session = await self._found(request)
        waited = await _within(backend.wait(session, request.path_params["prompt"]), query.wait)
        return waited if waited is not None else Json(await backend.status(session), 202)

    async def parked(self, request: Request, query: WaitQuery, body: EmptyBody) -> object:
        backend, session = await self._found(request)

        async def parked() -> Accepted:
            await backend.parked(session)
            return Accepted(session)

        waited = await _within(parked(), query.wait)
        return waited if waited is not None else Json(await backend.status(session), 202)

    async def query(self, request: Request, query: NoQuery, body: QueryBody) -> object:
        directories = self._server.directories
        if body.directory:
            directories.resolve(body.directory)
        mark = PageMark(*body.before) if body.before is not None else None
        wanted = SessionQuery(**{**msgspec.structs.asdict(body), "before": mark, "limit": 0})
        rows = await (await directories.backend(body.directory)).sessions(wanted)
        found = [row for row in rows if directories.is_served(row.info.directory)]
        return found[: body.limit or None]

    async def interrupted(self, request: Request, query: InterruptedQuery, body: None) -> object:
        backend = await self._server.directories.backend(query.directory)
        return SessionIds(tuple(await backend.interrupted(most=query.most or None)))

    async def driven(self, request: Request, query: NoQuery, body: None) -> object:
        try:
            backend, session = await self._found(request)
        except NoSuchSession:
            return Driven(driven=False)
        return Driven(await backend.is_driven(session))

    async def root(self, request: Request, query: NoQuery, body: None) -> object:
        backend, session = await self._found(request)
        return Created(await backend.root(session))

    async def tree(self, request: Request, query: NoQuery, body: None) -> object:
        backend, session = await self._found(request)
        return TreeEntries({id: tuple(entries) for id, entries in (await backend.tree_entries(session)).items()})

    async def pending(self, request: Request, query: NoQuery, body: None) -> object:
        backend, session = await self._found(request)
        return PendingPrompts(tuple(await backend.pending_prompts(session)))

    async def subagents(self, request: Request, query: NoQuery, body: None) -> object:
        backend, session = await self._found(request)
        return await backend.subagents(await backend.load(session), {})

    async def account(self, request: Request, query: NoQuery, body: None) -> object:
        backend, session = await self._found(request)
        return TreeAccount(await backend.tree_account(await backend.load(session)))

    async def worker(self, request: Request, query: NoQuery, body: None) -> object:
        backend, session = await self._found(request)
        return WorkerNotice(await backend.worker_notice(session))

    async def background(self, request: Request, query: NoQuery, body: None) -> object:
        backend, session = await self._found(request)
        return await backend.background_commands(session)

    async def end_background(self, request: Request, query: NoQuery, body: EmptyBody) -> object:
        backend, session = await self._found(request)
        id = request.path_params["command"]
        if all(each.id != id for each in await backend.background_commands(session)):
            raise RequestRefused(404, "command", f"session {session} has no background command {id}")
        await backend.end_background_command(session, id)
        return Accepted(id)

    def operations(self) -> Sequence[Operation]:
        """Return the operations of this part of the API."""
        followed = "Follow the journal's entries and streamed text; `Last-Event-ID` or `after` resumes exactly."
        listed = "List the sessions of a directory whose turn was interrupted."
        return [
            get(
                "follow_record",
                "/sessions/{session}/record",
                followed,
                self.record,
                RecordEvent,
                query=FollowQuery,
                media="text/event-stream",
            ),
            Operation(
                name="query_sessions",
                method="POST",
                path="/sessions/query",
                right="view",
                summary="List sessions that fit, subagents and empty ones included.",
                run=self.query,
                body=QueryBody,
                answer=list[SessionRow],
            ),
            get("list_interrupted", "/interrupted", listed, self.interrupted, SessionIds, query=InterruptedQuery),
            *self._reads(),
            *self._waits(),
        ]

    def _reads(self) -> Sequence[Operation]:
        commands = list[BackgroundCommand]
        subagents = "Return the tree of its subagents."
        entries = "Return the entries of it and of its subagents."
        return [
            get(
                "is_driven", "/sessions/{session}/driven", "Tell whether a process drives it now.", self.driven, Driven
            ),
            get("root_session", "/sessions/{session}/root", "Return the root of its tree.", self.root, Created),
            get("list_tree", "/sessions/{session}/tree", entries, self.tree, TreeEntries),
            get(
                "list_prompts",
                "/sessions/{session}/prompts",
                "List the prompts that wait.",
                self.pending,
                PendingPrompts,
            ),
            get("list_subagents", "/sessions/{session}/subagents", subagents, self.subagents, tuple[Branch, ...]),
            get(
                "tree_account",
                "/sessions/{session}/account",
                "Return the account of its tree.",
                self.account,
                TreeAccount,
            ),
            get(
                "worker_notice",
                "/sessions/{session}/worker",
                "Tell whether a worker is missing.",
                self.worker,
                WorkerNotice,
            ),
            get(
                "list_background",
                "/sessions/{session}/background",
                "List its background commands.",
                self.background,
                commands,
            ),
        ]

    def _waits(self) -> Sequence[Operation]:
        result = "Wait for the result of a prompt, and take over an interrupted turn; 202 while it runs."
        parked = "Wait until it cannot continue; 202 while it can."
        ended = "End a background command."
        return [
            post(
                "wait",
                "/sessions/{session}/prompts/{prompt}/wait",
                result,
                self.wait,
                EmptyBody,
                query=WaitQuery,
                answer=Result,
            ),
            post("parked", "/sessions/{session}/parked", parked, self.parked, EmptyBody, query=WaitQuery),
            post(
                "end_background", "/sessions/{session}/background/{command}/end", ended, self.end_background, EmptyBody
            ),
        ]


def recorded(seen: Entry | Live) -> bytes:
    """Return an entry, with its number as id, or a delta as an event of a stream."""
    if isinstance(seen, Entry):
        return sse("entry", msgspec.json.encode(RecordEvent(entry=seen)), seen.sequence)
    return sse("delta", msgspec.json.encode(RecordEvent(delta=seen)))


async def _within(work: Awaitable[Waited], seconds: float) -> Waited | None:
    """Return the awaited result, or None after this time; cancelling a wait ends no turn."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        return None
