"""`ModelCall`: sends a model request of any kind; reserves budget, streams, retries, and books the actual usage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from bridle.core.events import Recorded, RequestMoved
from bridle.core.ids import reply_id, request_part_id, reservation_id
from bridle.core.ledger import AccountChange, BudgetRefused, Reservation, Shortage
from bridle.core.limits import LOWEST_OUTPUT_TOKENS, NOTHING, Spent, closing_seconds
from bridle.core.parts import ReservationRefused
from bridle.core.pricing import MILLION, cost, worst_cost
from bridle.core.retry import GiveUp, RetryAfter, next_try, retryable, why_final
from bridle.core.states import Broken, Cut, CutBy, Open, Replied, Try, Usage
from bridle.core.stream import Alive, ModelError, StreamEvent
from bridle.errors import error_text
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.hook import NewReply, Refuse
from bridle.turn.processor import Processor
from bridle.turn.request_hooks import after_request, hooked, reply_events
from bridle.turn.request_kind import RequestKind, close_stream
from bridle.turn.scope import Aborted, Deadline, Late, cancelled_by_us

SETTLE_POLL_SECONDS = 0.25
DEADLINE_GRAIN_SECONDS = 1.0
MOST_QUIET = 4
"""Keep-alive events without content extend the idle deadline up to this many times."""
ESTIMATE_SLACK = 16
MOST_CHARACTERS_PER_TOKEN = 8
"""Above the average of any text: a longer reply has ignored its limit, as some servers do."""


def input_tokens(active: ActiveTurn) -> int:
    """Return the estimated input tokens of the turn's next request; not an underestimate."""
    asked = active.setup.toolset.output.tokens if active.setup.toolset.output is not None else 0
    return active.session.tokens + ESTIMATE_SLACK + asked


def closing_need(active: ActiveTurn, reads: int) -> Spent:
    """Return the amounts that a closing request needs if it reads this many tokens."""
    dollars = worst_cost(active.asked.info.price, reads, LOWEST_OUTPUT_TOKENS)
    return Spent(steps=1, tokens=reads + LOWEST_OUTPUT_TOKENS, cost=dollars)


class ModelCall:
    """One request being sent: its cost, its content, and its failures."""

    def __init__(self, sender: RequestKind, *, steps: int = 0) -> None:
        self.active = sender.active
        self.sender = sender
        self.tries: tuple[Try, ...] = ()
        self.input_estimate = sender.reads
        self._asked = self.active.asked
        info = self._asked.info
        least = min(LOWEST_OUTPUT_TOKENS, info.max_output_tokens)
        self.max_output = max(least, min(info.max_output_tokens, info.context_window - sender.reads))
        self.reservation = ""
        self._hooks = bool(self.active.setup.hooks)
        self._steps = steps
        self._held = NOTHING

    async def send(self) -> None:
        """Send the request, with retries; every outcome is recorded."""
        if not await self._reserve(self.sender.intent(), reservation_id(self.sender.id)):
            return
        while await self._ask():
            if not await self._reserve_again():
                return

    async def _reserve_again(self) -> bool:
        """Wait, then reserve the worst case of the next try; return False if it cannot be sent."""
        delay = max(0.0, self.tries[-1].next - self.active.record.elapsed)
        left = self._seconds_left()
        if isinstance(await self.active.scope.run(self.active.seams.sleep(min(delay, left))), Aborted):
            await self._end_cut(None, "abort")
            return False
        if delay >= left:
            await self._end_cut(None, "deadline")
            return False
        return await self._reserve([], reservation_id(self.sender.id, len(self.tries)))

    def _amount(self, output: int) -> Spent:
        dollars = worst_cost(self._asked.info.price, self.input_estimate, output)
        steps = self._steps if not self.tries else 0
        return Spent(steps=steps, tokens=self.input_estimate + output, cost=dollars)

    async def _reserve(self, events: list[Recorded], id: str) -> bool:
        while True:
            held = Reservation(id, self._amount(self.max_output), self.sender.keep(self.max_output))
            # Background subagents spend beside this request, so the closing request's share stays kept from them.
            keeps = held.keep if self.active.turn.background else None
            change = AccountChange(self.active.turn.start.account, reserves=held, keeps=keeps)
            try:
                await self.active.record.append(*events, change=change, weight="intent")
            except BudgetRefused as refused:
                short = refused.shortage
                room = self._output_in(short, short.fits_now)
                if room >= LOWEST_OUTPUT_TOKENS:
                    self.max_output = min(room, self.max_output - 1)
                elif self._output_in(short, short.fits_later) >= LOWEST_OUTPUT_TOKENS:
                    if not await self._others_settle(short, begun=not events):
                        return False
                else:
                    await self._no_room(short, begun=not events)
                    return False
            else:
                self._held = held.amount
                self.reservation = id
                return True

    async def _others_settle(self, short: Shortage, *, begun: bool) -> bool:
        """Wait for others to settle: their requests have deadlines, and those of dead processes are settled here."""
        await self.active.others.settle_dead(short)
        waited = await self.active.scope.run(self.active.seams.sleep(SETTLE_POLL_SECONDS))
        if not isinstance(waited, Aborted) and self._seconds_left() > 0:
            return True
        if begun:
            await self._end_cut(None, "abort" if isinstance(waited, Aborted) else "deadline")
        return False

    def _output_in(self, short: Shortage, fits: float) -> int:
        """Return the output tokens for which this room is enough, including the closing request's share."""
        price = self._asked.info.price
        # With a closing request to follow, one output token less is also one less for it to read.
        kept = 0 if self.sender.keep(self.max_output) == NOTHING else 1
        freed = kept * self.max_output - self.input_estimate
        if short.limit == "tokens":
            return int((fits + freed) / (1 + kept))
        reading = worst_cost(price, MILLION, 0)
        per_token = worst_cost(price, 0, MILLION) + kept * reading
        if short.limit == "cost" and per_token > 0:
            return int((fits * MILLION + reading * freed) / per_token)
        return 0

    async def _no_room(self, short: Shortage, *, begun: bool) -> None:
        id = request_part_id(self.sender.id, "refused")
        limit = short.limit
        # A request needs no place for a subagent.
        assert limit != "depth" and limit != "live" and limit != "total"
        least = min(LOWEST_OUTPUT_TOKENS, self.max_output)
        needs = float(getattr(self._amount(least).plus(self.sender.keep(least)), limit))
        spent, allowed = float(short.spent), float(short.allowed)
        refused = ReservationRefused(
            id, limit, short.scope, self.sender.closing, spent=spent, allowed=allowed, needs=needs, owner=short.owner
        )
        await self.sender.unaffordable(refused, begun=begun)

    async def _ask(self) -> bool:
        """Stream one try and record how it ended; return True if the request is to be sent again."""
        active = self.active
        loop = asyncio.get_running_loop()
        processor = self.sender.processor(reply_id(self.sender.id, len(self.tries)))
        limits = self._asked.deadlines
        begun = loop.time()
        turn_ends = begun + self._seconds_left()
        last = min(begun + limits.request_seconds, turn_ends)
        deadline = Deadline(min(begun + limits.first_event_seconds, last), limits.idle_seconds)
        outcome = await active.scope.run(self._stream(processor, deadline, last), deadline)
        if outcome is not None:
            processor.left = True
            await active.growth.leave(processor)
        if isinstance(outcome, Aborted):
            await self._end_cut(processor, "abort")
        elif processor.chanting:
            await self._end_cut(processor, "chant")
        elif isinstance(outcome, Late) and loop.time() >= turn_ends:
            await self._end_cut(processor, "deadline")
        elif processor.ended and processor.error is None and processor.finish != "content_filter":
            await self._end_whole(processor)
        else:
            return await self._end_failed(processor, _error_of(processor, late=isinstance(outcome, Late)))
        return False

    async def _stream(self, processor: Processor, deadline: Deadline, last: float) -> None:
        """Feed the processor until the reply is whole or failed; text is recorded as it comes and defers the end."""
        active = self.active
        loop = asyncio.get_running_loop()
        limits = self._asked.deadlines
        begun = said = loop.time()
        moved = begun - (DEADLINE_GRAIN_SECONDS if limits.idle_seconds < limits.first_event_seconds else 0)
        grows = self.sender.grows
        request = self.sender.request(self.max_output)
        processor.room = request.max_output_tokens * MOST_CHARACTERS_PER_TOKEN
        events = (hooked(active, active.model) if self._hooks else active.model).stream(request)
        session = active.record.lease.session
        try:
            async for event in events:
                if processor.left:
                    # The model ignored its cancellation, and the turn continued without it.
                    return
                shown = processor.feed(event)
                if shown and grows != "hidden":
                    for delta in shown:
                        active.record.publish(session, delta)
                    if grows == "recorded":
                        active.growth.due(processor)
                if processor.over:
                    break
                # Events come by the thousand: once a second is often enough.
                now = loop.time()
                said = said if isinstance(event, Alive) else now
                if now - moved >= DEADLINE_GRAIN_SECONDS:
                    quiet = min(now + limits.idle_seconds, said + MOST_QUIET * limits.idle_seconds)
                    deadline.at = min(quiet + DEADLINE_GRAIN_SECONDS, last)
                    moved = now
        except (Exception, BaseExceptionGroup, asyncio.CancelledError) as error:
            # Adapters never raise, but a model may be foreign code: the turn still ends with a message.
            if cancelled_by_us(error):
                raise
            processor.feed(ModelError(f"the model failed: {error_text(error)}"))
        finally:
            await self._end_stream(processor, events)

    async def _end_stream(self, processor: Processor, events: AsyncIterator[StreamEvent]) -> None:
        """Stop recording text and close the stream, even if the journal has failed meanwhile."""
        try:
            if self.sender.grows == "recorded" and not processor.left:
                await self.active.growth.stop()
        finally:
            await close_stream(events)

    def _seconds_left(self) -> float:
        allowed = self.active.turn.limits.seconds
        if allowed is None:
            return float("inf")
        share = closing_seconds(allowed)
        # The closing step has its share from its start on, over all attempts; all others leave that share to it.
        ends = max(allowed, self.sender.began + share) if self.sender.closing else allowed - share
        return max(0.0, ends - self.active.record.elapsed)

    def _bill(self, usage: Usage) -> tuple[float, AccountChange]:
        """Return the cost of a try, and the change that settles its reservation."""
        dollars = cost(self._asked.info.price, usage)
        actual = Spent(steps=self._held.steps, tokens=usage.total, cost=dollars)
        return dollars, AccountChange(self.active.turn.start.account, settles=((self.reservation, actual),))

    async def _end_whole(self, processor: Processor) -> None:
        usage = processor.counted(self.input_estimate)
        dollars, change = self._bill(usage)
        replied = Replied(usage, dollars, processor.finish, processor.by)
        match await after_request(self.active, self.sender.sent, processor, replied) if self._hooks else None:
            case Refuse(text):
                broken = Broken(f"a hook refused the reply: {text}", usage, dollars, by="hook")
                await self.sender.lost(processor, broken, change)
                return
            case NewReply(reply):
                # Parts of its own: readers have seen those of the reply that it replaces.
                processor = self.sender.processor(reply_id(self.sender.id, len(self.tries) + 1))
                for event in reply_events(reply, usage):
                    processor.feed(event)
                replied = Replied(usage, dollars, processor.finish, processor.by)
        await self.sender.whole(processor, replied, change)

    async def _end_cut(self, processor: Processor | None, by: CutBy) -> None:
        if processor is None:
            await self.sender.cut(None, Cut(by, Usage()), None)
        else:
            usage = processor.counted(self.input_estimate)
            dollars, change = self._bill(usage)
            await self.sender.cut(processor, Cut(by, usage, dollars), change)

    async def _end_failed(self, processor: Processor, error: ModelError) -> bool:
        active = self.active
        usage = processor.counted(self.input_estimate) if processor.heard_anything else Usage()
        dollars, change = self._bill(usage)
        verdict: RetryAfter | GiveUp = GiveUp(why_final(error.status, self.sender.sent.model))
        if retryable(error.status, marked=error.retryable) and not error.overflow:
            verdict = next_try(
                self._asked.retry,
                failures=self.sender.failures + len(self.tries) + 1,
                waited=active.record.elapsed - self.sender.asked_since,
                headers=error.headers,
                now=active.seams.clock.wall(),
                chance=active.seams.random.random(),
            )
        if isinstance(verdict, GiveUp):
            final = error.overflow or error.by == "hook" or processor.finish == "content_filter"
            words = error.message if error.overflow or error.by == "hook" else f"{error.message} ({verdict.why})"
            fallback = "" if final else self._fallback()
            if not fallback:
                tried = [f"{each.model}: {each.error}" for each in active.turn.given_up]
                words = "; ".join([*tried, f"{self.sender.sent.model}: {words}"]) if tried else words
            broken = Broken(words, usage, dollars, error.overflow, by=error.by, fallback=fallback, status=error.status)
            await self.sender.lost(processor, broken, change)
            return False
        failed = Try(error.message, round(active.record.elapsed + verdict.seconds, 3), error.status, usage, dollars)
        self.tries = (*self.tries, failed)
        moved = RequestMoved(self.sender.id, Open(self.tries))
        await active.record.append(moved, *processor.partial(), change=change)
        return True

    def _fallback(self) -> str:
        """Return the next available model that has not been given up; empty if there is none."""
        given_up = {each.model for each in self.active.turn.given_up}
        others = (model for model in self.active.turn.candidates[1:] if model not in given_up)
        return next((model for model in others if model in self.active.setup.models), "")


def _error_of(processor: Processor, *, late: bool) -> ModelError:
    if processor.error is not None:
        return processor.error
    if late:
        return ModelError("the model did not answer in time", retryable=True)
    if processor.finish == "content_filter":
        return ModelError("the provider's content filter stopped the reply")
    return ModelError("the stream ended before the reply was whole", retryable=True)
