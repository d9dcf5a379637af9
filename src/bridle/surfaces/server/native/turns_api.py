"""`TurnsApi`: operations that submit to a session: prompts, answers, aborts, extensions; and the results."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any

from starlette.requests import Request

from bridle.core.events import Entry
from bridle.core.ids import read_ask_address
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Extension, File, Notice
from bridle.core.result import Result, result_of
from bridle.core.session import Session
from bridle.core.status import Status
from bridle.errors import ConfigError
from bridle.runtime.project import Backend
from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.native.operation import Operation, Run, get, post
from bridle.surfaces.server.problems import Json, RequestRefused
from bridle.surfaces.server.routes import client_of
from bridle.wire.events import ResultEvent, result_event
from bridle.wire.given_answers import given_answer
from bridle.wire.native_answers import Accepted, ExtensionState, WinningAnswer
from bridle.wire.native_requests import (
    AbortBody,
    AnswerBody,
    EmptyBody,
    ExtendBody,
    NoQuery,
    PromptBody,
    PromptOptions,
    Strict,
    SupplyBody,
    WaitQuery,
)

LOOK_SECONDS = 1.0
"""Time after which a status is read again: it may change without an entry."""
HOLDING = ("aborted", "denied", "error")
"""Endings behind which queued prompts wait for the person."""
MOST_ANSWERS = 10_000


class TurnsApi:
    """Submits prompts and other items to sessions. A client that disconnects ends no turn."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._answers: dict[tuple[str, str], AnswerBody] = {}
        """The last answers that this server has submitted, by session and ask."""

    async def _backend(self, request: Request) -> Backend:
        return await self._server.directories.of_session(request.path_params["session"], request.method)

    async def prompt(self, request: Request, query: NoQuery, body: PromptBody) -> object:
        self._server.refuse_when_leaving()
        backend, session = await self._backend(request), request.path_params["session"]
        try:
            id = await backend.prompt(
                session,
                body.text,
                id=body.id,
                files=[File(file.path, file.text, file.media, file.data) for file in body.files],
                queue=body.queue,
                reply=body.reply,
                options=turn_options(body.options),
                metadata=_from_caller(request, body.metadata),
                wants=body.wants,
                subtask=body.subtask,
            )
        except ConfigError as error:
            used = body.id is not None and await _has_prompt(backend, session, body.id)
            raise RequestRefused(409 if used else 400, "id" if used else "", str(error)) from error
        return Accepted(id)

    async def result(self, request: Request, query: WaitQuery, body: None) -> object:
        backend, session = await self._backend(request), request.path_params["session"]
        prompt = request.path_params["prompt"]
        if not await _has_prompt(backend, session, prompt):
            raise RequestRefused(404, "prompt", f"there is no prompt {prompt} in session {session}")
        # Not `Sessions.wait`: it continues interrupted turns, and this only reads.
        end = asyncio.get_running_loop().time() + query.wait
        digest = client_of(request).digest
        while True:
            state = await backend.load(session)
            found = await _settled(backend, state, prompt)
            left = end - asyncio.get_running_loop().time()
            if found is not None:
                return result_event(found, found.reason)
            if left <= 0:
                return Json(await backend.status(session), 202)
            await _changed(backend, session, state.sequence, min(left, LOOK_SECONDS))
            if digest and not await self._server.logins.holds(digest):
                raise RequestRefused(401, "authorization", "the token was revoked")

    async def answer(self, request: Request, query: NoQuery, body: AnswerBody) -> object:
        self._server.refuse_when_leaving()
        backend, session = await self._backend(request), request.path_params["session"]
        key = (session, body.ask)
        state = await backend.load(session)
        known = self._answers.get(key)
        if known is not None or not _is_open(state, body.ask):
            at = read_ask_address(body.ask)
            known = known or given_answer(await backend.entries(at.session or session), at.ask)
            return Json(WinningAnswer("this request is not open: the first answer counts", "ask", known), 409)
        if len(self._answers) >= MOST_ANSWERS:
            self._answers.pop(next(iter(self._answers)))
        # Two answers at once: the first to come here is the first in the inbox.
        self._answers[key] = body
        try:
            await backend.answer(session, body.ask, body.choice, body.feedback, arguments=body.arguments)
        except BaseException:
            self._answers.pop(key, None)
            raise
        return Accepted(body.ask)

    async def supply(self, request: Request, query: NoQuery, body: SupplyBody) -> object:
        self._server.refuse_when_leaving()
        backend = await self._backend(request)
        await backend.supply(request.path_params["session"], body.call, body.output, failed=body.failed)
        return Accepted(body.call)

    async def abort(self, request: Request, query: NoQuery, body: AbortBody) -> object:
        backend = await self._backend(request)
        await backend.abort(request.path_params["session"], turn=body.turn, detail=body.detail)
        return Accepted()

    async def extend(self, request: Request, query: NoQuery, body: ExtendBody) -> object:
        backend = await self._backend(request)
        by = int(body.by) if body.by.is_integer() else body.by
        return Accepted(await backend.extend(request.path_params["session"], body.limit, by))

    async def extension(self, request: Request, query: NoQuery, body: None) -> object:
        backend = await self._backend(request)
        match await backend.extended(request.path_params["session"], request.path_params["extension"]):
            case Extension() as part:
                return ExtensionState("extended", part=part)
            case Notice(text=text) as part:
                return ExtensionState("refused", text, part)
            case None:
                return ExtensionState("pending")

    async def compact(self, request: Request, query: NoQuery, body: EmptyBody) -> object:
        self._server.refuse_when_leaving()
        await (await self._backend(request)).compact(request.path_params["session"])
        return Accepted()

    async def resume(self, request: Request, query: NoQuery, body: EmptyBody) -> object:
        self._server.refuse_when_leaving()
        await (await self._backend(request)).resume(request.path_params["session"])
        return Accepted()

    async def status(self, request: Request, query: NoQuery, body: None) -> object:
        return await (await self._backend(request)).status(request.path_params["session"])

    def operations(self) -> Sequence[Operation]:
        """Return the operations of this part of the API."""
        given = "Wait for the result of a prompt; 202 with the status while its turn runs."
        extended = "Return the outcome of an extension."
        submits: list[tuple[str, str, str, Run, type[Strict]]] = [
            ("prompt", "prompts", "Submit a prompt; it is durable with the answer.", self.prompt, PromptBody),
            ("answer", "answers", "Answer an ask; 409 if it has an answer.", self.answer, AnswerBody),
            ("supply", "supplies", "Give the result of a deferred call.", self.supply, SupplyBody),
            ("abort", "abort", "End the running turn.", self.abort, AbortBody),
            ("extend", "extensions", "Raise a limit of the running turn.", self.extend, ExtendBody),
            ("compact", "compact", "Compact the context.", self.compact, EmptyBody),
            ("resume", "resume", "Continue an interrupted turn, or held prompts.", self.resume, EmptyBody),
        ]
        return [
            get(
                "result",
                "/sessions/{session}/prompts/{prompt}/result",
                given,
                self.result,
                ResultEvent,
                query=WaitQuery,
            ),
            get("status", "/sessions/{session}/status", "Return the status of a session.", self.status, Status),
            get("extension", "/sessions/{session}/extensions/{extension}", extended, self.extension, ExtensionState),
            *(
                post(name, f"/sessions/{{session}}/{path}", summary, run, body, status=202)
                for name, path, summary, run, body in submits
            ),
        ]


def turn_options(given: PromptOptions) -> TurnOptions:
    """Return the options of a client's prompt; raises `RequestRefused` for one that would widen its rights."""
    widened = [name for name, on in given.tools.items() if on]
    if widened:
        raise RequestRefused(400, f"options.tools.{widened[0]}", "clients can only switch tools off: give false")
    limits = {name: int(value) if value.is_integer() else value for name, value in given.limits.items()}
    return TurnOptions(
        agent=given.agent,
        model=given.model,
        variant=given.variant,
        system=given.system,
        on_ask=given.on_ask,
        tools=given.tools,
        limits=limits,
        output=given.output,
        account=given.account,
        options=given.options,
        fallbacks=given.fallbacks,
    )


async def _settled(backend: Backend, state: Session, prompt: str) -> Result | None:
    """Return the result of a prompt that has ended or awaits a person; None while its turn continues."""
    found = result_of(state, prompt)
    assert state.info is not None
    if found.ended:
        return found
    if state.running is not None:
        return found if (await backend.status(state.info.id)).state == "paused" else None
    return found if state.ended in HOLDING else None


async def _changed(backend: Backend, session: str, after: int, seconds: float) -> None:
    """Return once there is a newer entry, or after this time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), aclosing(backend.follow(session, after)) as following:
            async for seen in following:
                if isinstance(seen, Entry):
                    return


async def _has_prompt(backend: Backend, session: str, prompt: str) -> bool:
    return prompt in (await backend.load(session)).prompts or prompt in await backend.waiting_prompts(session)


def _is_open(state: Session, ask: str) -> bool:
    turn = state.running
    return turn is not None and any(ask == each.id for each in turn.asks)


def _from_caller(request: Request, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a prompt with the caller's place in a trace, unless the metadata names one."""
    place = request.headers.get("traceparent")
    return {"traceparent": place, **metadata} if place is not None else dict(metadata)
