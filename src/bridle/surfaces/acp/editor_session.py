"""`EditorSession`: one session as an editor uses it: drives its prompts, reports what happens, asks for permissions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeVar, cast

from bridle.core.events import Entry
from bridle.core.limits import Reason
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.errors import ConfigError, NoSuchSession
from bridle.runtime.project import Backend, submit_prompt
from bridle.surfaces.acp import answers as wire, requests
from bridle.surfaces.acp.choices import Choices
from bridle.surfaces.acp.connection import INTERNAL_ERROR, RpcFailed
from bridle.surfaces.acp.prompts import EditorPrompt
from bridle.surfaces.acp.updates import Updates, replayed, said
from bridle.surfaces.shared.safe_text import plain
from bridle.wire import events
from bridle.wire.projection import EventStream

LOG = logging.getLogger(__name__)
Answer = TypeVar("Answer")
OUTPUT_SECONDS = 0.5
"""The least time between two updates of the output of a call."""
STOPS: dict[Reason, wire.StopReason] = {
    "answered": "end_turn",
    "synthesized": "end_turn",
    "denied": "end_turn",
    "empty": "end_turn",
    "step_cap": "max_turn_requests",
    "tool_budget": "max_turn_requests",
    "time_budget": "max_turn_requests",
    "tree_budget": "max_turn_requests",
    "doom_loop": "max_turn_requests",
    "token_budget": "max_tokens",
    "cost_budget": "max_tokens",
    "context_full": "max_tokens",
    "aborted": "cancelled",
}


class EditorClient(Protocol):
    """The methods of its client that a session uses."""

    @property
    def shows_forms(self) -> bool:
        """Whether the client can show a question with fields."""

    async def update(self, session: str, update: wire.Update) -> None:
        """Report a change."""

    async def permission(self, request: wire.PermissionQuestion) -> requests.PermissionAnswer:
        """Ask the person for a permission; raises `RpcFailed`. Cancelling withdraws the question."""

    async def elicit(self, request: wire.FormQuestion) -> requests.ElicitationAnswer:
        """Ask the person a question; raises `RpcFailed`. Cancelling withdraws it."""


class _Follower:
    """A turn that is reported, with the facts derived from its events so far."""

    def __init__(self, prompt: str, stream: EventStream, directory: Path) -> None:
        self.prompt = prompt
        self.stream = stream
        self.updates = Updates(directory, stream.session)
        self._moved = asyncio.Event()

    def move(self) -> None:
        """Note that another entry was reported."""
        self._moved.set()
        self._moved = asyncio.Event()

    async def moved(self, others: Sequence[asyncio.Task[None]]) -> None:
        """Return once another entry was reported, or one of these tasks is done."""
        moving = asyncio.create_task(self._moved.wait())
        try:
            await asyncio.wait([moving, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            moving.cancel()


class _OpenQuestion(NamedTuple):
    """A question that was asked as text: the next prompt is its answer, and the turn continues."""

    ask: str
    follower: _Follower


class EditorSession:
    """One session. It exists in the journal from its first prompt on."""

    def __init__(self, id: str, directory: Path, backend: Backend, choices: Choices, client: EditorClient) -> None:
        self.id = id
        self.directory = directory
        self.backend = backend
        self.choices = choices
        self._client = client
        self._is_replayed = False
        self._running = 0
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._given = 0
        """Number of answers that the client has given: a pause that was seen before the last one may be over."""
        self._aborting = False
        self._question: _OpenQuestion | None = None
        self._output: dict[str, tuple[float, wire.Update]] = {}

    async def replay(self) -> None:
        """Report the whole history."""
        self._is_replayed = True
        for update in replayed(await self.backend.load(self.id), self.directory):
            await self._client.update(self.id, update)

    async def ask_again(self) -> None:
        """Ask again for what a paused turn waits for, and report how it continues."""
        state = await self.backend.load(self.id)
        turn = state.running
        if turn is None or not turn.asks or not turn.prompts:
            return
        # From the beginning, since only the events of the turn bring its asks.
        follower = _Follower(turn.prompts[-1], EventStream(self.id, prompt=turn.prompts[-1]), self.directory)
        if self._is_replayed:
            follower.updates.know(state)
        await self._follow(follower, known=state.sequence)

    async def prompt(self, given: EditorPrompt) -> wire.PromptAnswer:
        """Submit a prompt, report its turn, and return how it ended. A prompt beside another one waits for its end."""
        question, self._question = self._question, None
        if question is not None:
            await self._answer(question.ask, "once", given.text)
            return await self._counted(question.follower)
        options = self.choices.turn_options()
        asked = await self.backend.expand(given.text, _refused, typed=given.typed, agent=options.agent)
        try:
            state = await self.backend.load(self.id)
        except NoSuchSession:
            await self.backend.begin(self.id, asked.text, asked.over(options))
            state = await self.backend.load(self.id)
        queue = bool(self._running)
        prompt = await submit_prompt(self.backend, self.id, asked, options, files=given.files, queue=queue)
        return await self._counted(_Follower(prompt, EventStream(self.id, state, prompt), self.directory))

    async def _counted(self, follower: _Follower) -> wire.PromptAnswer:
        self._running += 1
        try:
            return await self._follow(follower)
        finally:
            self._running -= 1
            self._aborting = self._aborting and bool(self._running)

    async def cancel(self) -> None:
        """Abort the running turn, and take back the prompts that wait."""
        self._aborting = bool(self._running)
        for prompt in await self.backend.waiting_prompts(self.id):
            await self.backend.withdraw(self.id, prompt)
        await self.backend.abort(self.id)

    async def leave(self, *, aborts: bool) -> None:
        """Withdraw the questions that the client shows, and abort a running turn. A paused turn stays paused."""
        for task in list(self._asking.values()):
            task.cancel()
        try:
            if aborts and (await self.backend.status(self.id)).state in ("busy", "retry"):
                await self.cancel()
        except NoSuchSession:
            return

    async def _follow(self, follower: _Follower, known: int = 0) -> wire.PromptAnswer:
        """Report a turn to its end, except the entries up to `known`."""
        reporting = asyncio.create_task(self._report_all(follower, known))
        try:
            while True:
                given = self._given
                result = await self.backend.wait(self.id, follower.prompt)
                await self._reported(follower, reporting)
                if result.reason != "paused":
                    await self._flush()
                    return _ended(result, follower.stream.session)
                if self._asking:
                    await follower.moved([reporting, *self._asking.values()])
                elif given == self._given and not self._aborting:
                    return await self._left_waiting(follower, result)
        finally:
            reporting.cancel()
            await asyncio.wait([reporting])

    async def _report_all(self, follower: _Follower, known: int) -> None:
        stream = follower.stream
        async with aclosing(self.backend.follow(self.id, stream.session.sequence)) as entries:
            async for entry in entries:
                told = stream.of_entry(entry) if isinstance(entry, Entry) else stream.of_delta(entry)
                for event in told:
                    await self._report(event, follower.updates, is_known=stream.session.sequence <= known)
                follower.move()

    async def _reported(self, follower: _Follower, reporting: asyncio.Task[None]) -> None:
        """Return once all entries recorded so far are reported."""
        wanted = (await self.backend.load(self.id)).sequence
        while follower.stream.session.sequence < wanted and not reporting.done():
            await follower.moved([reporting])
        if reporting.done():
            reporting.result()

    async def _left_waiting(self, follower: _Follower, result: Result) -> wire.PromptAnswer:
        """End the prompt of a turn that stays paused: a question is asked as text, and the next prompt answers it."""
        for ask in result.asks:
            if ask.kind == "question":
                await self._client.update(self.id, said(f"{ask.id}-question", ask.text))
                self._question = _OpenQuestion(ask.id, follower)
                break
        return wire.PromptAnswer(stop_reason="end_turn")

    async def _report(self, event: events.Event, updates: Updates, *, is_known: bool) -> None:
        if isinstance(event, events.AskEvent):
            for update in updates.asked(event):
                await self._client.update(self.id, update)
            self._ask(event, updates)
        elif isinstance(event, events.AskEndEvent):
            task = self._asking.get(event.id)
            if task is not None:
                task.cancel()
        else:
            for update in updates.of(event):
                if not is_known:
                    await self._send(update)

    async def _send(self, update: wire.Update) -> None:
        """Send an update; the output of a call at most twice a second, and the last one before anything else."""
        now = asyncio.get_running_loop().time()
        if isinstance(update, wire.ToolOutput):
            sent, _ = self._output.get(update.tool_call_id, (0.0, update))
            if now - sent < OUTPUT_SECONDS:
                self._output[update.tool_call_id] = (sent, update)
                return
            self._output[update.tool_call_id] = (now, update)
        elif isinstance(update, wire.CallFields):
            self._output.pop(update.tool_call_id, None)
        await self._client.update(self.id, update)

    async def _flush(self) -> None:
        for _, update in self._output.values():
            await self._client.update(self.id, update)
        self._output.clear()

    def _ask(self, event: events.AskEvent, updates: Updates) -> None:
        if event.id in self._asking or event.kind == "deferred":
            return
        if event.kind == "question" and not self._client.shows_forms:
            return
        work = self._elicit(event) if event.kind == "question" else self._request(event, updates)
        task = asyncio.create_task(work)
        self._asking[event.id] = task
        task.add_done_callback(lambda done: self._asked(event.id, done))

    def _asked(self, ask: str, task: asyncio.Task[None]) -> None:
        self._asking.pop(ask, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.warning("the answer to %s is not taken: %s", ask, error)

    async def _request(self, event: events.AskEvent, updates: Updates) -> None:
        diff = event.diff if isinstance(event.diff, str) else ""
        call = updates.calls[event.call].asked(diff, self.directory, event.text)
        always = ", ".join(event.always) if isinstance(event.always, tuple) else ""
        options = (
            wire.PermissionOption(option_id="once", name="Allow once", kind="allow_once"),
            wire.PermissionOption(option_id="always", name=f"Always allow {plain(always)}", kind="allow_always"),
            wire.PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
        )
        request = wire.PermissionQuestion(session_id=self.id, tool_call=call, options=options)
        given = await _answered(self._client.permission(request))
        if given is None:
            return
        if given.outcome.outcome == "cancelled":
            # Clients send this only if the person has stopped the turn.
            await self.cancel()
            return
        choice = given.outcome.option_id
        if choice not in ("once", "always", "reject"):
            raise ConfigError(f"the client chose {choice!r}, which was not offered")
        await self._answer(event.id, cast(Literal["once", "always", "reject"], choice))

    async def _elicit(self, event: events.AskEvent) -> None:
        answer = {"type": "string", "title": "Answer"}
        schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
        request = wire.FormQuestion(session_id=self.id, mode="form", message=plain(event.text), requested_schema=schema)
        given = await _answered(self._client.elicit(request))
        if given is None or given.action == "cancel":
            return
        words = str((given.content or {}).get("answer", "")).strip()
        if given.action == "decline" or not words:
            await self._answer(event.id, "reject")
        else:
            await self._answer(event.id, "once", words)

    async def _answer(self, ask: str, choice: Literal["once", "always", "reject"], words: str = "") -> None:
        self._given += 1
        await self.backend.answer(self.id, ask, choice, words)
        await self.backend.resume(self.id)


async def _answered(asking: Awaitable[Answer]) -> Answer | None:
    """Return the answer of the client; None if it cannot answer, or is gone: the ask stays open."""
    try:
        return await asking
    except RpcFailed:
        return None


async def _refused(kind: Literal["command", "file"], command: str) -> bool:
    """Refuse shell commands in templates and files outside the project: the protocol has no question for them."""
    return False


def _ended(result: Result, session: Session) -> wire.PromptAnswer:
    """Return the answer to a prompt; raises `RpcFailed` if the turn failed."""
    if result.reason == "error":
        raise RpcFailed(INTERNAL_ERROR, plain(result.detail or result.text or "the turn failed"))
    spent = result.spent
    ending = wire.Ending(
        reason=result.reason,
        steps=spent.steps,
        cap=session.turn.cap if session.turn is not None else 0,
        tool_calls=spent.tool_calls,
        tokens=spent.tokens,
        cost=spent.cost,
        seconds=spent.seconds,
    )
    # A prompt that was taken back, or that is held back behind an aborted turn, was not answered.
    stop = STOPS.get(cast(Reason, result.reason), "cancelled")
    return wire.PromptAnswer(stop_reason=stop, meta=wire.Meta(bridle=ending))
