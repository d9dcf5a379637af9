"""One request to the model: reserve, stream, retry, settle."""

from __future__ import annotations

import asyncio

from bridle.core.context import estimate_tokens
from bridle.core.decide import CallModel
from bridle.core.events import PartPut, Recorded, RequestMoved
from bridle.core.ledger import Change, Reservation, Shortage
from bridle.core.limits import LOWEST_OUTPUT_TOKENS, NOTHING, Spent, closing_seconds
from bridle.core.parts import (
    Broken,
    Cut,
    CutBy,
    Halt,
    Notice,
    Open,
    Purpose,
    Replied,
    Request,
    ReservationRefused,
    StepFinish,
    StepStart,
    Try,
    Usage,
)
from bridle.core.pricing import MILLION, cost, worst_cost
from bridle.core.retry import GiveUp, Wait, next_try, retryable
from bridle.core.stream import Error, ModelRequest
from bridle.errors import BudgetRefused
from bridle.turn.closing import closing_notice, counted, limit_notice, refused_call
from bridle.turn.growth import Growth
from bridle.turn.processor import Processor
from bridle.turn.rig import Rig
from bridle.turn.scope import Aborted, Late, cancelled_by_us

SETTLE_POLL_SECONDS = 0.25
DEADLINE_GRAIN_SECONDS = 1.0
HARD_SECONDS = 5.0
TOKENS_OF_A_TOOL = 100


async def call_model(rig: Rig, action: CallModel) -> None:
    """Ask for one step, as often as it takes; every way out is recorded."""
    request = _Sending(rig, action)
    if not await request.begin():
        return
    while await request.ask():
        if not await request.reserve_again():
            return


class _Sending:
    """One request on its way: what it costs, what it says, how often it failed."""

    def __init__(self, rig: Rig, action: CallModel) -> None:
        self.rig = rig
        self.action = action
        turn, session, tack = rig.turn, rig.session, rig.tack
        self.tools = tack.specs
        self.id = f"{turn.start.number}.{action.number}.{action.attempt}"
        self.tries: tuple[Try, ...] = ()
        unseen = estimate_tokens(session.characters - session.counted_characters)
        fixed = 0 if session.counted else estimate_tokens(len(session.system)) + TOKENS_OF_A_TOOL * len(self.tools)
        self.input_estimate = session.counted + unseen + fixed + 16
        self.max_output = tack.info.max_output_tokens
        self.reservation = ""

    @property
    def purpose(self) -> Purpose:
        return "step" if self.action.closing is None else "closing"

    @property
    def is_new(self) -> bool:
        step = self.rig.turn.step
        return step is None or step.number != self.action.number

    def _intent(self) -> list[Recorded]:
        turn, action = self.rig.turn, self.action
        events: list[Recorded] = []
        if self.is_new:
            elapsed = self.rig.record.elapsed
            events += [PartPut(limit_notice(turn, name, action.number, elapsed)) for name in action.warn]
            if action.closing is not None:
                told = closing_notice(turn, action.closing, self.rig.tack.closing_prompt, self.rig.record.elapsed)
                events.append(PartPut(told))
            start = f"{turn.start.number}.{action.number}.start"
            events.append(PartPut(StepStart(start, action.number, turn.cap, action.closing)))
        events.append(PartPut(Request(self.id, self.purpose, action.number, action.attempt, turn.start.model)))
        return events

    async def begin(self) -> bool:
        """Record the intent with its reservation; False if there is no room for it."""
        return await self._reserve(self._intent(), self.id)

    async def reserve_again(self) -> bool:
        """Wait, then hold the worst case of the next try; False if it cannot be asked any more."""
        delay = max(0.0, self.tries[-1].next - self.rig.record.elapsed)
        left = self._seconds_left()
        if isinstance(await self.rig.scope.run(self.rig.seams.sleep(min(delay, left))), Aborted):
            await self._end_cut(None, "abort")
            return False
        if delay >= left:
            await self._end_cut(None, "deadline")
            return False
        return await self._reserve([], f"{self.id}~{len(self.tries)}")

    def _amount(self, output: int) -> Spent:
        price = self.rig.tack.info.price
        steps = 1 if self.is_new and not self.tries else 0
        return Spent(
            steps=steps, tokens=self.input_estimate + output, cost=worst_cost(price, self.input_estimate, output)
        )

    def _keep(self) -> Spent:
        if self.action.closing is not None or self.rig.turn.cap == 0:
            return NOTHING
        # The closing request reads what this one writes.
        reads = self.input_estimate + self.max_output
        price = self.rig.tack.info.price
        cost_of_it = worst_cost(price, reads, LOWEST_OUTPUT_TOKENS)
        return Spent(steps=1, tokens=reads + LOWEST_OUTPUT_TOKENS, cost=cost_of_it)

    async def _reserve(self, events: list[Recorded], id: str) -> bool:
        while True:
            held = Reservation(id, self._amount(self.max_output), self._keep())
            self.held = held.amount
            change = Change(self.rig.turn.start.account, reserves=held)
            try:
                await self.rig.record.append(*events, change=change, weight="intent")
            except BudgetRefused as refused:
                room = self._output_in(refused.shortage, refused.shortage.fits_now)
                if room >= LOWEST_OUTPUT_TOKENS:
                    self.max_output = min(room, self.max_output - 1)
                elif self._output_in(refused.shortage, refused.shortage.fits_later) >= LOWEST_OUTPUT_TOKENS:
                    # Others hold what is missing; their requests have deadlines, so this wait ends.
                    waited = await self.rig.scope.run(self.rig.seams.sleep(SETTLE_POLL_SECONDS))
                    if isinstance(waited, Aborted) or self._seconds_left() <= 0:
                        if not events:
                            await self._end_cut(None, "abort" if isinstance(waited, Aborted) else "deadline")
                        return False
                else:
                    await self._no_room(refused.shortage, fresh=bool(events))
                    return False
            else:
                self.reservation = id
                return True

    def _output_in(self, short: Shortage, fits: float) -> int:
        """The output tokens for which this much room is enough, the closing request's share included."""
        price = self.rig.tack.info.price
        reading = worst_cost(price, MILLION, 0)
        writing = worst_cost(price, 0, MILLION)
        if self._keep() == NOTHING:
            if short.limit == "tokens":
                return int(fits) - self.input_estimate
            if short.limit == "cost" and writing > 0:
                return int((fits * MILLION - reading * self.input_estimate) / writing)
            return 0
        # A token less to write is also one less for the closing request to read.
        if short.limit == "tokens":
            return int((fits - self.input_estimate + self.max_output) / 2)
        if short.limit == "cost" and writing + reading > 0:
            saved = fits * MILLION + reading * (self.max_output - self.input_estimate)
            return int(saved / (writing + reading))
        return 0

    async def _no_room(self, short: Shortage, *, fresh: bool) -> None:
        turn = self.rig.turn
        closing = self.action.closing is not None
        id = f"{turn.start.number}.{self.action.number}.refused{'.closing' if closing else ''}"
        events: list[Recorded] = [PartPut(ReservationRefused(id, short.limit, short.scope, closing))]
        if not fresh:
            events.append(RequestMoved(self.id, Broken("no budget is left for another try")))
        await self.rig.record.append(*events)

    async def ask(self) -> bool:
        """Stream one try and record how it ended; True if the request is to be asked again."""
        rig, action = self.rig, self.action
        refusal = refused_call(action.closing) if action.tools == "off" else None
        processor = Processor(f"{self.id}.{len(self.tries)}", rig.tack.tools, refusal)
        # The deadlines inside end a model that listens; this one ends any.
        hard = rig.tack.deadlines.request_seconds + HARD_SECONDS
        outcome = await rig.scope.run(self._stream(processor), hard)
        if isinstance(outcome, Aborted):
            await self._end_cut(processor, "abort")
        elif processor.chanting:
            await self._end_cut(processor, "chant")
        elif outcome == "deadline":
            await self._end_cut(processor, "deadline")
        elif processor.ended and processor.error is None and processor.finish != "content_filter":
            await self._end_whole(processor)
        else:
            late = isinstance(outcome, Late) or outcome == "late"
            return await self._end_failed(processor, _error_of(processor, late=late))
        return False

    async def _stream(self, processor: Processor) -> str:
        """Feed the processor until the reply is whole, failed or late; words are kept as they come."""
        rig = self.rig
        loop = asyncio.get_running_loop()
        limits = rig.tack.deadlines
        begun = loop.time()
        turn_ends = begun + self._seconds_left()
        last = min(begun + limits.request_seconds, turn_ends)
        growth = Growth(rig, processor)
        events = rig.tack.model.stream(self._request())
        session = rig.record.lease.session
        try:
            async with asyncio.timeout_at(min(begun + limits.first_event_seconds, last)) as timeout:
                moved = begun - (DEADLINE_GRAIN_SECONDS if limits.idle_seconds < limits.first_event_seconds else 0)
                async for event in events:
                    delta = processor.feed(event)
                    if delta is not None:
                        rig.record.publish(session, delta)
                        growth.due()
                    if processor.over:
                        break
                    # Moving a deadline costs more than reading an event: once a second is often enough.
                    now = loop.time()
                    if now - moved >= DEADLINE_GRAIN_SECONDS:
                        timeout.reschedule(min(now + limits.idle_seconds + DEADLINE_GRAIN_SECONDS, last))
                        moved = now
        except TimeoutError:
            return "deadline" if loop.time() >= turn_ends else "late"
        except (Exception, BaseExceptionGroup, asyncio.CancelledError) as error:
            # Adapters never raise, but a model may be anybody's code: the turn still ends with a word.
            if cancelled_by_us(error):
                raise
            processor.feed(Error(f"the model failed: {type(error).__name__}: {error}"))
        finally:
            await growth.stop()
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()
        return "whole"

    def _seconds_left(self) -> float:
        allowed = self.rig.turn.limits.seconds
        if allowed is None:
            return float("inf")
        held_back = 0.0 if self.action.closing is not None else closing_seconds(allowed)
        # The closing request may use what was held back for it, and a floor so that it can be asked at all.
        floor = closing_seconds(allowed) if self.action.closing is not None else 0.0
        return max(floor, allowed - held_back - self.rig.record.elapsed)

    def _request(self) -> ModelRequest:
        rig, action = self.rig, self.action
        omit = action.tools == "off" and rig.tack.info.closing_tools == "omit"
        return ModelRequest(
            id=self.id,
            purpose=self.purpose,
            model=rig.turn.start.model,
            system=rig.session.system,
            messages=rig.session.messages,
            tools=() if omit else self.tools,
            tool_choice="none" if action.tools == "off" else "auto",
            max_output_tokens=self.max_output,
            options=rig.tack.options,
        )

    def _settle(self, usage: Usage, dollars: float) -> Change:
        actual = Spent(steps=self.held.steps, tokens=usage.total, cost=dollars)
        return Change(self.rig.turn.start.account, settles=((self.reservation, actual),))

    async def _end_whole(self, processor: Processor) -> None:
        usage = processor.counted(self.input_estimate)
        dollars = cost(self.rig.tack.info.price, usage)
        events = processor.parts(whole=True)
        calls = processor.calls
        if calls and self.rig.turn.cap == 0:
            text = f"{counted(calls, 'call')} refused: this agent has no tools"
            events.append(PartPut(Notice(f"{self.id}.notice.tools_off", "warning", text)))
        finish = StepFinish(
            f"{self.id}.finish",
            self.action.number,
            calls,
            empty=processor.wordless and (not calls or self.rig.turn.cap == 0),
            cut=processor.finish == "length" and not calls,
        )
        await self.rig.record.append(
            *events,
            RequestMoved(self.id, Replied(usage, dollars, processor.finish)),
            PartPut(finish),
            change=self._settle(usage, dollars),
        )

    async def _end_cut(self, processor: Processor | None, by: CutBy) -> None:
        usage = Usage()
        if processor is not None:
            usage = processor.counted(self.input_estimate)
        dollars = cost(self.rig.tack.info.price, usage)
        await self.rig.record.append(
            *(processor.parts(whole=False) if processor is not None else ()),
            RequestMoved(self.id, Cut(by, usage, dollars)),
            PartPut(StepFinish(f"{self.id}.finish", self.action.number, cut=True)),
            change=self._settle(usage, dollars) if processor is not None else None,
        )

    async def _end_failed(self, processor: Processor, error: Error) -> bool:
        rig = self.rig
        usage = processor.counted(self.input_estimate) if processor.heard_anything else Usage()
        dollars = cost(rig.tack.info.price, usage)
        change = self._settle(usage, dollars)
        step = rig.turn.step
        assert step is not None
        verdict: Wait | GiveUp = GiveUp("this error does not pass by itself")
        if retryable(error.status, marked=error.retryable):
            verdict = next_try(
                rig.tack.retry,
                failures=step.tries + 1,
                waited=rig.record.elapsed - step.began,
                headers=error.headers,
                now=rig.seams.clock.wall(),
                chance=rig.seams.random.random(),
            )
        if isinstance(verdict, GiveUp):
            await self._give_up(processor, Broken(f"{error.message} ({verdict.why})", usage, dollars), change)
            return False
        failed = Try(error.message, round(rig.record.elapsed + verdict.seconds, 3), error.status, usage, dollars)
        self.tries = (*self.tries, failed)
        await rig.record.append(RequestMoved(self.id, Open(self.tries)), *processor.partial(), change=change)
        return True

    async def _give_up(self, processor: Processor, broken: Broken, change: Change) -> None:
        events: list[Recorded] = [*processor.growth(), RequestMoved(self.id, broken)]
        if self.action.closing is None:
            events.append(PartPut(Halt(f"{self.rig.turn.start.number}.halt", "error", broken.error)))
        await self.rig.record.append(*events, change=change)


def _error_of(processor: Processor, *, late: bool) -> Error:
    if processor.error is not None:
        return processor.error
    if late:
        return Error("the model did not answer in time", retryable=True)
    if processor.finish == "content_filter":
        return Error("the provider's content filter stopped the reply")
    return Error("the stream ended before the reply was whole", retryable=True)
