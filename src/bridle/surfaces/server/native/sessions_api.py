"""`SessionsApi`: operations that create, read, list, copy, change and delete sessions."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from bridle.errors import ConfigError
from bridle.runtime.project import Backend
from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.native.operation import Operation, get, post
from bridle.surfaces.server.native.turns_api import turn_options
from bridle.surfaces.server.problems import RequestRefused
from bridle.surfaces.server.session_rows import SessionRows, cost_of
from bridle.wire.native_answers import (
    Created,
    DeletedSessions,
    Diff,
    Entries,
    Listed,
    RevertedTurns,
    Row,
    SessionIds,
    SessionState,
)
from bridle.wire.native_requests import (
    CreateBody,
    DescribeBody,
    DirectoryQuery,
    EntriesQuery,
    ExportQuery,
    ForkBody,
    ListQuery,
    MoveBody,
    NoQuery,
    RedoBody,
    TurnQuery,
    UndoBody,
)

MakeReport = Callable[[Backend, str], Awaitable[str]]
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "sandbox allow-scripts; frame-ancestors 'none'"
)
"""A report is a page of its own: it may run its script, and reaches neither cookies nor any address."""


class SessionsApi:
    """Reads and manages the sessions of the served directories."""

    def __init__(self, server: HttpServer, rows: SessionRows, report: MakeReport) -> None:
        self._server = server
        self._rows = rows
        self._report = report

    async def _found(self, request: Request) -> tuple[Backend, str]:
        session = request.path_params["session"]
        return await self._server.directories.of_session(session, request.method), session

    async def list(self, request: Request, query: ListQuery, body: None) -> object:
        directories = self._server.directories
        wanted = directories.resolve(query.directory) if query.directory else None
        before = _read_mark(query.before) if query.before else None
        rows = sorted((await self._rows.current()).sessions, key=_place, reverse=True)
        found = [
            row
            for row in rows
            if (before is None or _place(row) < before)
            and (query.state is None or row.state == query.state)
            and query.text.casefold() in row.title.casefold()
            and (wanted is None or directories.is_within(row.directory, wanted))
        ]
        page = found[: query.limit]
        return Listed(tuple(page), _mark(page[-1]) if len(found) > len(page) else "")

    async def create(self, request: Request, query: NoQuery, body: CreateBody) -> object:
        self._server.refuse_when_leaving()
        backend = await self._server.directories.backend(body.directory)
        if body.first is not None:
            options = turn_options(body.first.options)
            id = await backend.begin(body.id or backend.new_id(), body.first.text, options)
        else:
            title = " ".join(body.title.split())
            id = await backend.create(
                body.id,
                messages=body.messages,
                title=title,
                agent=body.agent,
                model=body.model,
                denied=body.denied,
            )
        if body.id is not None:
            # The id may belong to a session elsewhere, which does not exist here.
            await self._server.directories.of_session(id)
        return Created(id)

    async def load(self, request: Request, query: NoQuery, body: None) -> object:
        backend, session = await self._found(request)
        state = await backend.load(session)
        assert state.info is not None
        turn = state.running
        return SessionState(
            info=state.info,
            sequence=state.sequence,
            status=await backend.status(session),
            turns=state.turns,
            cost=cost_of(state),
            asks=turn.asks if turn is not None else (),
            waiting=tuple(await backend.waiting_prompts(session)),
            todos=state.todos,
            parts=tuple(state.parts.values()),
        )

    async def entries(self, request: Request, query: EntriesQuery, body: None) -> object:
        backend, session = await self._found(request)
        return Entries(tuple(entry for entry in await backend.entries(session) if entry.sequence > query.after))

    async def describe(self, request: Request, query: NoQuery, body: DescribeBody) -> object:
        backend, session = await self._found(request)
        if body.title is not None:
            await backend.rename(session, " ".join(body.title.split()))
        if body.pinned is not None:
            await backend.pin(session, body.pinned)
        if body.archived is not None:
            await backend.archive(session, body.archived)
        if body.approvals is not None:
            await backend.set_approvals(session, body.approvals)
        return Created(session)

    async def move(self, request: Request, query: NoQuery, body: MoveBody) -> object:
        backend, session = await self._found(request)
        return SessionIds(tuple(await backend.move(session, body.place)))

    async def take_in(self, request: Request, query: DirectoryQuery, body: None) -> object:
        self._server.refuse_when_leaving()
        backend = await self._server.directories.backend(query.directory)
        return Created(await backend.import_bundle(await request.body()))

    async def delete(self, request: Request, query: NoQuery, body: None) -> object:
        backend, session = await self._found(request)
        gone = await backend.delete(session)
        self._server.directories.forget(gone)
        return DeletedSessions(tuple(gone))

    async def fork(self, request: Request, query: NoQuery, body: ForkBody) -> object:
        backend, session = await self._found(request)
        return Created(await backend.fork(session, body.turn))

    async def undo(self, request: Request, query: NoQuery, body: UndoBody) -> object:
        backend, session = await self._found(request)
        try:
            done = await backend.undo(session, to=body.to, keep_files=body.keep_files, force=body.force)
        except ConfigError as error:
            raise RequestRefused(409, "to" if body.to else "", str(error)) from error
        return msgspec.convert(done, RevertedTurns, from_attributes=True)

    async def redo(self, request: Request, query: NoQuery, body: RedoBody) -> object:
        backend, session = await self._found(request)
        try:
            done = await backend.redo(session, keep_files=body.keep_files)
        except ConfigError as error:
            raise RequestRefused(409, "", str(error)) from error
        return msgspec.convert(done, RevertedTurns, from_attributes=True)

    async def diff(self, request: Request, query: TurnQuery, body: None) -> object:
        backend, session = await self._found(request)
        return Diff(await backend.diff(session, query.turn))

    async def export(self, request: Request, query: ExportQuery, body: None) -> Response:
        backend, session = await self._found(request)
        raw = await backend.export(session, redact=query.redact)
        return Response(raw, media_type="application/json", headers=_download(session, "json"))

    async def report(self, request: Request, query: NoQuery, body: None) -> Response:
        backend, session = await self._found(request)
        page = await self._report(backend, session)
        headers = {**_download(session, "html"), "Content-Security-Policy": REPORT_POLICY}
        return Response(page, media_type="text/html", headers=headers)

    def operations(self) -> Sequence[Operation]:
        """Return the operations of this part of the API."""
        listed = "List sessions, without subagents and those without a prompt."
        imported = "Import an exported session, which is the body, with its subagents; it brings no permissions."
        return [
            get("list_sessions", "/sessions", listed, self.list, Listed, query=ListQuery),
            post(
                "create_session",
                "/sessions",
                "Create a session.",
                self.create,
                CreateBody,
                answer=Created,
                status=201,
            ),
            Operation(
                name="describe_session",
                method="PATCH",
                path="/sessions/{session}",
                right="drive",
                summary="Give a session another title, pin it, or put it aside.",
                run=self.describe,
                body=DescribeBody,
                answer=Created,
            ),
            Operation(
                name="delete_session",
                method="DELETE",
                path="/sessions/{session}",
                right="drive",
                summary="Delete a session with its subagents; 409 while a turn runs.",
                run=self.delete,
                answer=DeletedSessions,
            ),
            Operation(
                name="import_session",
                method="POST",
                path="/imports",
                right="drive",
                summary=imported,
                run=self.take_in,
                query=DirectoryQuery,
                answer=Created,
                status=201,
            ),
            *self._reads(),
            *self._changes(),
        ]

    def _reads(self) -> Sequence[Operation]:
        document, page = "Return it as one JSON document.", "Return it as one HTML page."
        entries = "Return its journal entries."
        return [
            get("load_session", "/sessions/{session}", "Return a session as recorded now.", self.load, SessionState),
            get("list_entries", "/sessions/{session}/entries", entries, self.entries, Entries, query=EntriesQuery),
            get(
                "diff_session", "/sessions/{session}/diff", "Return its file changes.", self.diff, Diff, query=TurnQuery
            ),
            get("export_session", "/sessions/{session}/export", document, self.export, None, query=ExportQuery),
            get("report_session", "/sessions/{session}/report", page, self.report, None, media="text/html"),
        ]

    def _changes(self) -> Sequence[Operation]:
        copied = "Copy the history into a new session."
        undone = "Hide turns and restore their files; 409 if that would lose changes, or while a turn runs."
        restored = "Take the last undo back."
        moved = "Let the workers of another machine take it."
        return [
            post("fork_session", "/sessions/{session}/fork", copied, self.fork, ForkBody, answer=Created),
            post("undo_session", "/sessions/{session}/undo", undone, self.undo, UndoBody, answer=RevertedTurns),
            post("redo_session", "/sessions/{session}/redo", restored, self.redo, RedoBody, answer=RevertedTurns),
            post("move_session", "/sessions/{session}/move", moved, self.move, MoveBody, answer=SessionIds),
        ]


def _place(row: Row) -> tuple[float, str]:
    """Return the place of a row in a list: several may have changed at the same time."""
    return row.updated, row.session


def _mark(row: Row) -> str:
    return f"{row.updated!r}:{row.session}"


def _read_mark(mark: str) -> tuple[float, str]:
    """Return the place of the last row of a page; raises `RequestRefused` (400)."""
    time, colon, session = mark.partition(":")
    try:
        found = float(time)
    except ValueError:
        found = math.nan
    if not colon or not math.isfinite(found):
        raise RequestRefused(400, "before", "must be the `next` of the page before")
    return found, session


def _download(name: str, kind: str) -> dict[str, str]:
    """Return the header that makes browsers save an answer instead of showing it."""
    safe = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
    return {"Content-Disposition": f'attachment; filename="{safe}.{kind}"'}
