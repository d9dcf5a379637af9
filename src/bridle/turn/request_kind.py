"""`RequestKind`: base class of a turn's requests (step, summary, synthesis); content, and records of the outcomes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

from bridle.core.events import PartPut, Recorded, RequestMoved
from bridle.core.ids import notice_id
from bridle.core.ledger import AccountChange
from bridle.core.limits import Spent
from bridle.core.messages import Messages, UserMessage
from bridle.core.parts import Notice, Request, ReservationRefused
from bridle.core.states import Broken, Cut, Refusal, Replied
from bridle.core.stream import ModelRequest, StreamEvent
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.processor import Processor

NO_TOOLS = (Refusal("tools_off"), "not executed: words alone are asked for")
NO_BUDGET = Broken("no budget is left for another try")


class RequestKind(ABC):
    """The purpose of a request: its content, and the handling of its outcomes, each recorded in one append.

    By default a request has no tools, and its failure does not end the turn.
    """

    grows: Literal["recorded", "shown", "hidden"] = "recorded"
    """Whether streaming text is recorded and shown, only shown, or neither."""
    closing = False
    """Whether it may use the amounts held back for the closing request."""
    reads: int
    """Estimated input tokens."""

    def __init__(self, active: ActiveTurn, sent: Request) -> None:
        self.active = active
        self.sent = sent
        self.id = sent.id
        before = active.turn.side_request
        self.failures = 0
        """Failed tries of its model before this attempt, across restarts of the process."""
        self.began = active.record.elapsed
        """When its first attempt began."""
        if before is not None and before.purpose == sent.purpose:
            self.failures, self.began = before.tries, before.began

    @property
    def asked_since(self) -> float:
        """When its model was first asked."""
        given_up = self.active.turn.given_up
        return max(self.began, given_up[-1].at) if given_up else self.began

    def intent(self) -> list[Recorded]:
        """Return the events to record before the request is sent."""
        return [PartPut(self.sent)]

    @abstractmethod
    def request(self, max_output: int) -> ModelRequest:
        """Return the request to send."""

    def asking(self, words: str, *, system: str, max_output: int) -> ModelRequest:
        """Return a request to the turn's model; see `text_request`."""
        options = self.active.asked.options
        return text_request(self.active, self.sent, words, system=system, max_output=max_output, options=options)

    def processor(self, prefix: str) -> Processor:
        """Return the processor for the reply."""
        return Processor(prefix, {}, NO_TOOLS)

    @abstractmethod
    def keep(self, max_output: int) -> Spent:
        """Return the amounts that must be left for the closing request after this one."""

    @abstractmethod
    async def whole(self, processor: Processor, replied: Replied, change: AccountChange) -> None:
        """Record a whole reply."""

    async def cut(self, processor: Processor | None, cut: Cut, change: AccountChange | None) -> None:
        """Record a reply that was ended on purpose before it was whole."""
        await self.active.record.append(RequestMoved(self.id, cut), change=change)

    async def lost(self, processor: Processor, broken: Broken, change: AccountChange) -> None:
        """Record a request that failed for good, at least with its model."""
        await self.active.record.append(*self.broken(broken), change=change)

    def broken(self, broken: Broken) -> list[Recorded]:
        """Return the events of a failed request; the reader is told of the model that is asked instead."""
        events: list[Recorded] = [RequestMoved(self.id, broken)]
        if broken.fallback:
            text = f"{self.sent.model} failed: {broken.error}; the turn continues with {broken.fallback}"
            events.append(PartPut(Notice(notice_id(self.id, "fallback"), "model", text)))
        return events

    async def unaffordable(self, refused: ReservationRefused, *, begun: bool) -> None:
        """Record that there is no budget for the request, or for another try of it; then the turn closes."""
        events = (RequestMoved(self.id, NO_BUDGET),) if begun else ()
        await self.active.record.append(PartPut(refused), *events)


def text_request(
    active: ActiveTurn, sent: Request, words: str, *, system: str, max_output: int, options: Mapping[str, Any]
) -> ModelRequest:
    """Return a request without tools and with this text as its only message."""
    return ModelRequest(
        id=sent.id,
        session=active.record.lease.session,
        purpose=sent.purpose,
        model=sent.model,
        system=system,
        messages=Messages([UserMessage(sent.id, words)]),
        tools=(),
        tool_choice="none",
        max_output_tokens=max_output,
        options=options,
    )


async def close_stream(events: AsyncIterator[StreamEvent]) -> None:
    """Close the stream of a reply, if its model can: it may be foreign code."""
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()
