"""Endpoints for asks: open permission requests and questions, and their answers. The first answer wins."""

from __future__ import annotations

from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from bridle.core.ids import ask_address
from bridle.errors import NoSuchSession
from bridle.surfaces.server.opencode import events, ids
from bridle.surfaces.server.opencode.failures import JsonAnswer, read_body
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.opencode.requests import AnswersBody, PermissionBody
from bridle.surfaces.server.opencode.tracker import Tracker


class AskOfClient(NamedTuple):
    """An open ask, and the session that asks."""

    tracker: Tracker
    ask: str


class AskEndpoints:
    """Answers asks; the first answer of each counts."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub

    async def permissions(self, request: Request) -> Response:
        """Return the open permission requests."""
        return JsonAnswer([_untagged(ask) for ask in await self._open() if isinstance(ask, events.PermissionAsked)])

    async def questions(self, request: Request) -> Response:
        """Return the open questions."""
        return JsonAnswer([_untagged(ask) for ask in await self._open() if isinstance(ask, events.QuestionAsked)])

    async def reply(self, request: Request) -> Response:
        """Answer a permission request."""
        given = await read_body(request, PermissionBody)
        found = await self._find(request.path_params["ask"])
        choice: events.Choice = given.reply or given.response or "reject"
        if not isinstance(found, AskOfClient):
            return _closed("Permission", request.path_params["ask"], found)
        return await self._answered(*found, choice, given.message)

    async def answer(self, request: Request) -> Response:
        """Answer questions."""
        given = await read_body(request, AnswersBody)
        found = await self._find(request.path_params["ask"])
        if not isinstance(found, AskOfClient):
            return _closed("Question", request.path_params["ask"], found)
        tracker, ask = found
        shown = tracker.projection.asks[ask]
        questions = shown.questions if isinstance(shown, events.QuestionAsked) else ()
        chosen = [", ".join(labels) or "no answer" for labels in given.answers]
        text = chosen[0] if len(questions) == 1 and chosen else ""
        for question, answer in zip(questions, chosen, strict=False):
            text += f"{question.question}\n{answer}\n" if len(questions) > 1 else ""
        return await self._answered(tracker, ask, "once", text.strip())

    async def reject(self, request: Request) -> Response:
        """Dismiss questions."""
        found = await self._find(request.path_params["ask"])
        if not isinstance(found, AskOfClient):
            return _closed("Question", request.path_params["ask"], found)
        return await self._answered(*found, "reject", "")

    async def _answered(self, tracker: Tracker, ask: str, choice: events.Choice, feedback: str) -> Response:
        """Answer an ask where the whole tree is woken, and return once that is recorded."""
        session = tracker.session
        root = await tracker.backend.root(session)
        address = ask if root == session else ask_address(session, ask)
        await tracker.backend.answer(root, address, choice, feedback)
        while ask in tracker.projection.asks and not tracker.is_over:
            await tracker.changed()
        return JsonAnswer(content=True)

    async def _find(self, shown: str) -> AskOfClient | events.Answered | None:
        """Return an open ask with its session, followed; the answer of one that has it; None for an unknown one."""
        found = ids.read_ask(shown)
        try:
            tracker = await self.hub.track(found.session)
        except NoSuchSession:
            return None
        ask = tracker.projection.asks.get(found.ask)
        if ask is not None and ask.id == shown:
            return AskOfClient(tracker, found.ask)
        answer = tracker.projection.answered.get(found.ask)
        return answer if answer is not None and answer.requestID == shown else None

    async def _open(self) -> list[events.PermissionAsked | events.QuestionAsked]:
        return [ask for projection in await self.hub.active() for ask in projection.asks.values()]


def _untagged(ask: events.PermissionAsked | events.QuestionAsked) -> object:
    return events.body(ask)[1]


def _closed(kind: str, id: str, answer: events.Answered | None) -> JsonAnswer:
    """Return the answer to a late answer, with the one that won; 404 for an ask that never was."""
    if answer is None:
        return JsonAnswer({"_tag": f"{kind}NotFoundError", "requestID": id, "message": f"{kind} not found: {id}"}, 404)
    text = "this request is not open: the first answer counts"
    return JsonAnswer({"_tag": f"{kind}AnsweredError", "message": text, "answer": events.body(answer)[1]}, 409)
