"""Endpoints for sessions: lists, creation, messages, prompts, aborts, undo and redo, forks, deletion."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bridle.core.events import SessionInfo
from bridle.errors import ConfigError, LeaseLost, NoSuchSession
from bridle.runtime.project import Backend
from bridle.runtime.sessions import SessionRow
from bridle.surfaces.server.opencode import events, ids, shapes
from bridle.surfaces.server.opencode.failures import BUSY, INVALID, ClientFailure, JsonAnswer, read_body
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.opencode.projection import IDLE, Projection
from bridle.surfaces.server.opencode.prompts import (
    answered,
    command_draft,
    denied_by,
    draft,
    reference,
    send,
    turn_of,
)
from bridle.surfaces.server.opencode.requests import (
    ChangeBody,
    CommandBody,
    ForkPoint,
    RevertBody,
    SentPrompt,
    SessionBody,
)
from bridle.surfaces.server.opencode.session_facts import milliseconds, session_of
from bridle.surfaces.server.opencode.tracker import Tracker, diff_of

MOST_LISTED = 100


def asked_directory(request: Request) -> str | None:
    """Return the directory that a request names, in its address or its header."""
    return request.query_params.get("directory") or unquote(request.headers.get("x-opencode-directory", "")) or None


class SessionEndpoints:
    """Answers requests about sessions from the hub's projections and the backends of their directories."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub

    async def list(self, request: Request) -> Response:
        """List the sessions of a directory, the last changed first; those without a prompt are left out."""
        query = request.query_params
        backend = await self.hub.served.backend(asked_directory(request))
        wanted = query.get("search", "").lower()
        start, limit = number_of(query.get("start"), 0), number_of(query.get("limit"), MOST_LISTED)
        found: list[shapes.SessionShape] = []
        for row in await self.hub.served.rows():
            is_elsewhere = row.info.directory != str(backend.directory)
            is_left_out = is_elsewhere or milliseconds(row.updated) < start or bool(row.info.archived)
            if is_left_out or (query.get("roots") == "true" and row.info.parent):
                continue
            if wanted in row.info.title.lower() and await backend.is_begun(row):
                found.append(self._shown(row))
            if len(found) >= limit:
                break
        return JsonAnswer(found)

    def _shown(self, row: SessionRow) -> shapes.SessionShape:
        tracker = self.hub.tracked(row.info.id)
        if tracker is not None:
            return tracker.projection.shown()
        return session_of(row.info, milliseconds(row.updated))

    async def create(self, request: Request) -> Response:
        """Create a session."""
        try:
            given = await read_body(request, SessionBody)
            backend = await self.hub.served.backend(asked_directory(request))
            session = await backend.create(
                title=given.title or "",
                agent=given.agent or "",
                model=reference(given.model) if given.model is not None else "",
                denied=denied_by(given.permission),
            )
        except (ClientFailure, ConfigError) as error:
            # This path alone publishes errors of this shape, and answers with them.
            raise ClientFailure(400, INVALID, str(error)) from error
        tracker = await self.hub.track(session, 0)
        return JsonAnswer(tracker.projection.shown())

    async def get(self, request: Request) -> Response:
        """Return a session."""
        return JsonAnswer((await self._view(request)).shown())

    async def change(self, request: Request) -> Response:
        """Rename a session, or archive it."""
        given = await read_body(request, ChangeBody)
        session = self._session(request)
        backend = await self.hub.served.of_session(session, request.method)
        if given.permission is not None:
            raise ClientFailure(403, "ForbiddenError", "the rules of a session can only be set when it is created")
        tracker = await self.hub.track(session)
        if given.title:
            await backend.rename(session, given.title)
        if given.time is not None:
            await backend.archive(session, bool(given.time.archived))
        await self._current(tracker)
        return JsonAnswer(tracker.projection.shown())

    async def delete(self, request: Request) -> Response:
        """Delete a session with its subagents; a running turn is aborted first."""
        session = self._session(request)
        projection = await self.hub.view(session)
        backend = await self.hub.served.of_session(session, request.method)
        if projection.status != IDLE:
            await backend.abort(session)
            await backend.parked(session)
        gone = await backend.delete(session)
        await self.hub.forget([SessionInfo(id, projection.info.directory) for id in gone])
        for id in gone:
            info = session_of(SessionInfo(id, projection.info.directory, created=projection.info.created), 0)
            shown = projection.shown() if id == session else info
            self.hub.publish(
                projection.info.directory, [events.SessionDeleted(sessionID=ids.shown_session(id), info=shown)]
            )
        return JsonAnswer(content=True)

    async def status(self, request: Request) -> Response:
        """Return the sessions that are not idle."""
        backend = await self.hub.served.backend(asked_directory(request))
        found = {
            projection.name: projection.status
            for projection in await self.hub.active()
            if projection.status != IDLE and projection.info.directory == str(backend.directory)
        }
        return JsonAnswer(found)

    async def children(self, request: Request) -> Response:
        """Return the subagents of a session."""
        session = self._session(request)
        await self.hub.served.of_session(session, request.method)
        rows = await self.hub.served.rows()
        return JsonAnswer([self._shown(row) for row in reversed(rows) if row.info.parent == session])

    async def todos(self, request: Request) -> Response:
        """Return the to-do list."""
        return JsonAnswer((await self._view(request)).todos)

    async def diff(self, request: Request) -> Response:
        """Return the changed files of a session, or of the turn of one message."""
        projection = await self._view(request)
        backend = await self.hub.served.of_session(projection.session)
        message = request.query_params.get("messageID")
        turn = turn_of(projection, message) if message else 0
        return JsonAnswer(await diff_of(backend, projection.session, turn))

    async def messages(self, request: Request) -> Response:
        """Return the messages of a session, oldest first; with `limit` the newest, and how to ask for those before."""
        listed = (await self._view(request)).talk.listed()
        query = request.query_params
        if before := query.get("before"):
            listed = [each for each in listed if _mark(each) < before]
        limit = number_of(query.get("limit"), 0)
        headers = {"Access-Control-Expose-Headers": "Link, X-Next-Cursor"}
        if 0 < limit < len(listed):
            listed = listed[-limit:]
            cursor = _mark(listed[0])
            headers["X-Next-Cursor"] = cursor
            headers["Link"] = f'<{request.url.include_query_params(before=cursor)}>; rel="next"'
        return JsonAnswer(listed, headers=headers)

    async def message(self, request: Request) -> Response:
        """Return one message."""
        projection = await self._view(request)
        turn_of(projection, request.path_params["message"])
        return JsonAnswer(projection.talk.messages[request.path_params["message"]].whole)

    async def take_back(self, request: Request) -> Response:
        """Take back a prompt that waits; any other message stays, because the record keeps everything."""
        tracker = await self.hub.track(self._session(request))
        message = request.path_params["message"]
        turn_of(tracker.projection, message)
        waits = await tracker.backend.waiting_prompts(tracker.session)
        if message not in waits or not await tracker.backend.withdraw(tracker.session, message):
            raise ClientFailure(409, BUSY, "the record keeps this message: undo its turn with a revert instead")
        tracker.tell(tracker.projection.withdrawn(message))
        return JsonAnswer(content=True)

    async def prompt(self, request: Request) -> Response:
        """Submit a prompt and answer with the last reply to it."""
        given = await read_body(request, SentPrompt)
        session = self._session(request)
        backend = await self.hub.served.of_session(session, request.method)
        sent = await send(self.hub, session, given.messageID, await draft(backend, given))
        return StreamingResponse(answered(self.hub, sent), media_type="application/json")

    async def prompt_later(self, request: Request) -> Response:
        """Submit a prompt and answer at once."""
        given = await read_body(request, SentPrompt)
        session = self._session(request)
        backend = await self.hub.served.of_session(session, request.method)
        await send(self.hub, session, given.messageID, await draft(backend, given))
        return Response(status_code=204)

    async def command(self, request: Request) -> Response:
        """Run a slash command and answer with the last reply to it."""
        given = await read_body(request, CommandBody)
        session = self._session(request)
        backend = await self.hub.served.of_session(session, request.method)
        sent = await send(self.hub, session, given.messageID, await command_draft(backend, given))
        return StreamingResponse(answered(self.hub, sent), media_type="application/json")

    async def abort(self, request: Request) -> Response:
        """Abort the running turn; changes nothing if none runs, or for an unknown session."""
        session = self._session(request)
        try:
            backend = await self.hub.served.of_session(session, request.method)
            await backend.abort(session)
        except NoSuchSession:
            return JsonAnswer(content=True)
        return JsonAnswer(content=True)

    async def revert(self, request: Request) -> Response:
        """Undo everything from the turn of a message on, with its files."""
        given = await read_body(request, RevertBody)
        tracker = await self.hub.track(self._session(request))
        projection, backend, session = tracker.projection, tracker.backend, tracker.session
        turn = turn_of(projection, given.messageID)
        if not turn:
            raise ClientFailure(409, BUSY, "what was said before the first turn cannot be undone")
        try:
            hidden = projection.first_hidden_turn
            while hidden and hidden < turn:
                # The client wants a part of what is undone back.
                await backend.redo(session)
                await self._current(tracker)
                hidden = projection.first_hidden_turn
            if hidden != turn:
                await backend.undo(session, to=str(turn))
                await self._current(tracker)
        except (ConfigError, LeaseLost) as error:
            raise ClientFailure(409, BUSY, str(error)) from error
        return JsonAnswer(projection.shown())

    async def unrevert(self, request: Request) -> Response:
        """Reverse an undo, as long as no prompt has made it final."""
        tracker = await self.hub.track(self._session(request))
        if tracker.projection.turn is not None:
            text = f"session {tracker.session} has an open turn: wait for it, or abort it"
            raise ClientFailure(409, BUSY, text)
        try:
            while tracker.projection.first_hidden_turn:
                await tracker.backend.redo(tracker.session)
                await self._current(tracker)
        except (ConfigError, LeaseLost) as error:
            raise ClientFailure(409, BUSY, str(error)) from error
        return JsonAnswer(tracker.projection.shown())

    async def fork(self, request: Request) -> Response:
        """Create a session with the same history before a message."""
        given = await read_body(request, ForkPoint)
        projection = await self._view(request)
        backend = await self.hub.served.of_session(projection.session)
        turn = turn_of(projection, given.messageID) if given.messageID else None
        forked = await self.hub.track(await backend.fork(projection.session, turn), 0)
        return JsonAnswer(forked.projection.shown())

    async def summarize(self, request: Request) -> Response:
        """Make the context smaller."""
        session = self._session(request)
        backend: Backend = await self.hub.served.of_session(session, request.method)
        tracker = await self.hub.track(session)
        await backend.compact(session)
        await backend.parked(session)
        await self._current(tracker)
        return JsonAnswer(content=True)

    async def _current(self, tracker: Tracker) -> None:
        """Wait until everything recorded so far has been told."""
        await tracker.reach((await tracker.backend.load(tracker.session)).sequence)

    async def _view(self, request: Request) -> Projection:
        return await self.hub.view(self._session(request))

    def _session(self, request: Request) -> str:
        return ids.read_session(request.path_params["session"])


def number_of(text: str | None, default: int) -> int:
    """Return a number of a query; raises `ClientFailure` (400)."""
    if not text:
        return default
    try:
        return int(float(text))
    except (ValueError, OverflowError) as error:
        raise ClientFailure(400, "BadRequest", f"{text!r} is not a number") from error


def _mark(message: shapes.MessageWithParts) -> str:
    """Return the place of a message in the order of its session, for the next page."""
    return f"{message.info.time.created}-{message.info.id}"
