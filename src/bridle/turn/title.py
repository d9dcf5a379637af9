"""Requests a session's title from a small model beside the turn; a failure affects nothing else."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec

from bridle.core.context import estimate_tokens, sound
from bridle.core.events import PartPut, Recorded, RequestMoved, SessionPut
from bridle.core.ids import turn_part_id
from bridle.core.ledger import AccountChange, BudgetRefused, Reservation
from bridle.core.limits import Spent
from bridle.core.parts import Prompt, Request
from bridle.core.pricing import cost, worst_cost
from bridle.core.states import Broken, Cut, Replied, RequestState
from bridle.errors import JournalError
from bridle.seams import begin
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.processor import Processor
from bridle.turn.request_hooks import hooked
from bridle.turn.request_kind import NO_TOOLS, close_stream, text_request
from bridle.turn.scope import GRACE_SECONDS
from bridle.turn.send_request import ESTIMATE_SLACK, closing_need, input_tokens
from bridle.turn.setup import SmallModel

TITLE_SECONDS = 30.0
MOST_READ = 4_000
MOST_WRITTEN = 500
LONGEST = 80


def begin_title(active: ActiveTurn) -> None:
    """Request a title beside the next request, if the session has none."""
    turn, info = active.turn, active.session.info
    if active.beside is not None or turn.title is not None or info is None or info.title:
        return
    small = active.asked.small
    if small is None or turn.start.delegation is not None or (small.info.price is None and _paid(active)):
        return
    prompts = (part for part in active.session.parts.values() if isinstance(part, Prompt))
    first = next((prompt.text for prompt in prompts if prompt.text.strip()), "")
    if first:
        active.beside = title = Title(active, small, first[:MOST_READ])
        title.begin()


async def end_title(active: ActiveTurn, *, patience: float = 0.0) -> None:
    """Ensure that nothing runs beside the turn any more; its cost is recorded then.

    A title that is still streaming gets `patience` seconds, if the turn has them.
    """
    if active.beside is not None:
        allowed = active.turn.limits.seconds if patience else None
        left = patience if allowed is None else max(0.0, min(patience, allowed - active.record.elapsed))
        # The journal refuses the same to the turn, which reports it.
        with suppress(JournalError):
            await active.beside.end(left)


def _paid(active: ActiveTurn) -> bool:
    return active.turn.limits.cost is not None or active.setup.limited_above


class Title:
    """One request, tried once, in its own task."""

    def __init__(self, active: ActiveTurn, small: SmallModel, words: str) -> None:
        self._active = active
        self._small = small
        self._words = words
        self._id = turn_part_id(active.turn.start.number, "title")
        self._sent = Request(self._id, "title", 0, 1, small.info.ref)
        self._system = active.asked.prompts["title"]
        self._reads = estimate_tokens(len(words) + len(self._system)) + ESTIMATE_SLACK
        self._processor = Processor(self._id, {}, NO_TOOLS)
        self._task: asyncio.Task[None] | None = None
        self._open = False

    def begin(self) -> None:
        self._task = begin(self._ask())
        # Marks a failure as retrieved, so that asyncio does not log it: `end` raises it.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def end(self, patience: float = 0.0) -> None:
        """Let it stop, but not for long: a model that ignores its cancellation is abandoned. May be called twice."""
        if self._task is None:
            return
        task, self._task = self._task, None
        if patience:
            await asyncio.wait([task], timeout=patience)
        task.cancel()
        await asyncio.wait([task], timeout=GRACE_SECONDS)
        if self._open:
            await self._settle(aborted=True)
        elif task.done() and not task.cancelled() and (failure := task.exception()) is not None:
            raise failure

    async def _ask(self) -> None:
        """Reserve, request, settle; without budget there is no title."""
        active, price = self._active, self._small.info.price
        most = Spent(tokens=self._reads + MOST_WRITTEN, cost=worst_cost(price, self._reads, MOST_WRITTEN))
        # The step beside it, and its closing request, have priority.
        need = closing_need(active, input_tokens(active))
        held = Reservation(self._id, most, need.plus(need))
        change = AccountChange(active.turn.start.account, reserves=held)
        try:
            await active.record.append(PartPut(self._sent), change=change, weight="intent")
        except BudgetRefused:
            return
        self._open = True
        problem = ""
        try:
            async with asyncio.timeout(TITLE_SECONDS):
                await self._stream(self._processor)
        except (Exception, SystemExit, BaseExceptionGroup) as error:
            # Models are foreign code, and a title must cause no failure.
            problem = f"{type(error).__name__}: {error}"
        if self._open:
            await self._settle(problem)

    async def _stream(self, processor: Processor) -> None:
        options = self._small.info.options
        request = text_request(
            self._active, self._sent, self._words, system=self._system, max_output=MOST_WRITTEN, options=options
        )
        events = hooked(self._active, self._small.model).stream(request)
        try:
            async for event in events:
                processor.feed(event)
                if processor.over:
                    break
        finally:
            await close_stream(events)

    async def _settle(self, problem: str = "", *, aborted: bool = False) -> None:
        """Record the outcome, the cost, and the title if there is one."""
        active, processor = self._active, self._processor
        self._open = False
        usage = processor.counted(self._reads)
        dollars = cost(self._small.info.price, usage)
        whole = not problem and not aborted and processor.ended and processor.error is None
        title = _cleaned(processor.text) if whole and not processor.calls else ""
        state: RequestState = Replied(usage, dollars, processor.finish, processor.by)
        if aborted:
            state = Cut("abort", usage, dollars)
        elif not title:
            said = processor.error.message if processor.error is not None else problem or "no title came"
            state = Broken(said, usage, dollars)
        events: list[Recorded] = [RequestMoved(self._id, state)]
        info = active.session.info
        if title and info is not None and not info.title:
            events.append(SessionPut(msgspec.structs.replace(info, title=title)))
        settled = ((self._id, Spent(tokens=usage.total, cost=dollars)),)
        await active.record.append(*events, change=AccountChange(active.turn.start.account, settles=settled))


def _cleaned(text: str) -> str:
    """Return the first line of a reply, without the decoration that models put around a title."""
    lines = [line.strip() for line in sound(text).splitlines() if line.strip()]
    words = " ".join(lines[0].split()).strip("\"'`*#“”« »").removeprefix("Title:").strip() if lines else ""
    return words if len(words) <= LONGEST else words[: LONGEST - 1].rstrip() + "…"
