"""`HistoryApi`: returns pages and a summary of a session's public events, so that clients need not read all of it."""

from __future__ import annotations

from base64 import b64decode
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from bridle.core import parts, states
from bridle.core.events import DeltaKind, Entry
from bridle.core.limits import counted
from bridle.core.session import OpenTurn, Session
from bridle.runtime.sessions import Branch
from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.limit_uses import limit_uses
from bridle.surfaces.server.native.operation import Operation, get
from bridle.surfaces.server.problems import RequestRefused
from bridle.surfaces.server.session_rows import cost_of, title_of
from bridle.wire.events import DeltaEvent, Event, ReasoningEvent, TextEvent, ToolUseEvent
from bridle.wire.native_history import (
    HistoryPage,
    OpenAskDetails,
    PastEntry,
    SessionSummary,
    SubagentState,
    WaitingPrompt,
)
from bridle.wire.native_requests import HistoryQuery, NoQuery
from bridle.wire.projection import EventStream

BYTES = "application/octet-stream"


class HistoryApi:
    """Reads sessions for clients that show a part of them."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server

    async def history(self, request: Request, query: HistoryQuery, body: None) -> object:
        session = request.path_params["session"]
        backend = await self._server.directories.of_session(session)
        return page_of(session, await backend.entries(session), query)

    async def summary(self, request: Request, query: NoQuery, body: None) -> object:
        session = request.path_params["session"]
        backend = await self._server.directories.of_session(session)
        state = await backend.load(session)
        assert state.info is not None
        turn, last = state.running, state.turn
        tree = await backend.tree_account(state) if turn is not None else None
        waiting = await backend.pending_prompts(session)
        return SessionSummary(
            info=state.info,
            title=title_of(state),
            status=await backend.status(session),
            sequence=state.sequence,
            turns=state.turns,
            agent=last.start.agent if last is not None else state.info.agent,
            model=last.model if last is not None else state.info.model,
            cost=cost_of(state),
            limits=limit_uses(last, state.elapsed, tree) if last is not None else (),
            asks=tuple(_asks(session, state, turn)) if turn is not None else (),
            waiting=tuple(
                WaitingPrompt(item.id, item.text, tuple(file.path for file in item.files), item.queue)
                for item in waiting
            ),
            todos=state.todos,
            subagents=_subagents(await backend.subagents(state, {})),
            undone=list(state.undone.values())[-1].turn if state.undone else 0,
            reason=state.ended if turn is None and state.ended is not None else "",
        )

    async def prompt_file(self, request: Request, query: NoQuery, body: None) -> Response:
        session, number = request.path_params["session"], request.path_params["number"]
        state = await (await self._server.directories.of_session(session)).load(session)
        prompt = state.parts.get(request.path_params["prompt"])
        files = prompt.files if isinstance(prompt, parts.Prompt) else ()
        if not number.isdecimal() or not 0 <= int(number) < len(files):
            raise RequestRefused(404, "number", f"this prompt has {counted(len(files), 'file')}")
        file = files[int(number)]
        # Never with a type by which a browser would run it.
        return Response(b64decode(file.data) if file.data else file.text, media_type=BYTES)

    def operations(self) -> Sequence[Operation]:
        """Return the operations of this part of the API."""
        past = "Return a page of a session's past as public events, undone ones included."
        short = "Return a session in short: status, limits, open asks, waiting prompts and subagents."
        return [
            get(
                "prompt_file",
                "/sessions/{session}/prompts/{prompt}/files/{number}",
                "Return a file that came with a prompt, by its place from 0.",
                self.prompt_file,
                None,
                media=BYTES,
            ),
            get("session_history", "/sessions/{session}/history", past, self.history, HistoryPage, query=HistoryQuery),
            get("session_summary", "/sessions/{session}/summary", short, self.summary, SessionSummary),
        ]


def page_of(session: str, entries: Sequence[Entry], query: HistoryQuery) -> HistoryPage:
    """Return a page of the past of a session."""
    stream = EventStream(session)
    found: deque[PastEntry] = deque(maxlen=None if query.after is not None else query.limit)
    whole: set[str] = set()
    first = 0
    for entry in entries:
        events = stream.of_entry(entry)
        whole |= {event.part for event in events if isinstance(event, TextEvent | ReasoningEvent)}
        told = tuple(event for event in events if not isinstance(event, DeltaEvent))
        if not told or not _fits(entry.sequence, query):
            continue
        first = first or entry.sequence
        if len(found) < query.limit or query.after is None:
            turn = stream.session.turn
            number = turn.start.number if turn is not None else 0
            found.append(PastEntry(entry.sequence, entry.at, number, told))
    last = entries[-1]
    begin = found[0].sequence if found else last.sequence
    end = found[-1].sequence if found else last.sequence
    newer = query.before is not None or (query.after is not None and len(found) == query.limit)
    return HistoryPage(
        entries=tuple(found),
        open=() if newer else tuple(_open(session, stream.session, whole)),
        older=begin > 1 if query.after is not None else begin > first > 0,
        newer=newer and end < last.sequence,
        sequence=last.sequence,
        now=last.at,
    )


def _fits(sequence: int, query: HistoryQuery) -> bool:
    return sequence > (query.after or 0) and (query.before is None or sequence < query.before)


def _open(session: str, state: Session, whole: set[str]) -> Iterator[Event]:
    """Yield the text of parts that still grow, and the calls that have not started."""
    turn = state.running
    if turn is None:
        return
    for id in turn.reply:
        part = state.parts[id]
        if isinstance(part, parts.Text | parts.Reasoning) and id not in whole and part.text:
            kind: DeltaKind = "text" if isinstance(part, parts.Text) else "reasoning"
            yield DeltaEvent(session, part=id, kind=kind, offset=0, text=part.text)
    for id, call in turn.batch.items():
        if isinstance(call, states.Pending | states.Asking | states.Approved | states.Queued):
            made = state.call(id)
            yield ToolUseEvent(session, id=id, tool=made.name, input=_arguments(made.given), state="pending")


def _asks(session: str, state: Session, turn: OpenTurn) -> Iterator[OpenAskDetails]:
    stream = EventStream(session, state)
    open_calls = {**turn.batch, **turn.background}
    for id, call in open_calls.items():
        made = state.call(id)
        for ask in stream.asks_of(made, call):
            is_own = ask.session == session
            yield OpenAskDetails(
                ask=ask, tool=made.name if is_own else "", input=_arguments(made.given) if is_own else None
            )


def _subagents(branches: Sequence[Branch]) -> tuple[SubagentState, ...]:
    return tuple(
        SubagentState(
            session=branch.session,
            agent=branch.agent,
            arguments=_arguments(branch.arguments),
            state=branch.state,
            steps=branch.steps,
            cap=branch.cap,
            below=_subagents(branch.below),
        )
        for branch in branches
    )


def _arguments(raw: str) -> Any:
    """Return the arguments of a call; those that are no JSON as text."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return raw
