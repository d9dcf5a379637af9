"""`HookedModel` and `after_request`: ask hooks before and after a model request; they may refuse or answer it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from msgspec.structs import replace

from bridle.core.events import PartPut
from bridle.core.ids import notice_id
from bridle.core.parts import Notice, Request
from bridle.core.states import Replied, Usage
from bridle.core.stream import (
    ModelError,
    ModelRequest,
    StepBegin,
    StepEnd,
    StreamEnd,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
)
from bridle.model.model import Model
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.hook import AfterRequest, BeforeRequest, ModelReply, NewReply, Refuse
from bridle.turn.hooks import ask, hooks_for
from bridle.turn.processor import Processor
from bridle.turn.request_kind import close_stream


@dataclass(frozen=True, slots=True)
class HookedModel:
    """A `Model` that asks the hooks before each request; they may refuse it, or give the reply."""

    active: ActiveTurn
    model: Model

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        answer = await self._before(request)
        if isinstance(answer, Refuse):
            yield ModelError(f"a hook refused the request: {answer.text}", retryable=False, by="hook")
        elif answer is not None:
            text = "before_request: a hook gave the reply, and the model was not asked"
            await self.active.record.append(PartPut(Notice(notice_id(request.id, "hook"), "hook", text)))
            for event in reply_events(answer.reply, Usage()):
                yield event
            yield StreamEnd()
        else:
            events = self.model.stream(request)
            try:
                async for event in events:
                    yield event
            finally:
                await close_stream(events)

    async def _before(self, request: ModelRequest) -> Refuse | NewReply | None:
        """Ask all hooks. A refusal wins over a reply; the last of each counts."""
        moment = BeforeRequest(
            purpose=request.purpose,
            step=_step(self.active),
            model=request.model,
            system=request.system,
            messages=request.messages,
            tools=tuple(tool.name for tool in request.tools),
        )
        refused: Refuse | None = None
        given: NewReply | None = None
        for hook in hooks_for(self.active, moment.event):
            match await ask(self.active, hook, moment):
                case Refuse() as refused:
                    pass
                case NewReply() as given:
                    pass
        # After an abort the hooks have not been asked.
        return Refuse("the turn was aborted") if self.active.scope.aborted else refused or given


def hooked(active: ActiveTurn, model: Model) -> Model:
    """Return the model with the hooks of a turn before its requests."""
    return HookedModel(active, model) if hooks_for(active, BeforeRequest.event) else model


async def after_request(
    active: ActiveTurn, sent: Request, processor: Processor, replied: Replied
) -> Refuse | NewReply | None:
    """Ask the hooks about a whole reply; each sees the reply that those before it have given.

    The recorded text of a reply that is replaced is removed.
    """
    moment = AfterRequest(
        purpose=sent.purpose,
        step=_step(active),
        model=sent.model,
        reply=processor.reply,
        usage=replied.usage,
        cost=replied.cost,
    )
    refused: Refuse | None = None
    given: NewReply | None = None
    for hook in hooks_for(active, moment.event):
        match await ask(active, hook, moment):
            case Refuse() as refused:
                pass
            case NewReply(reply) as given:
                moment = replace(moment, reply=reply)
    if given is not None and refused is None:
        text = "after_request: a hook replaced the reply"
        notice = PartPut(Notice(notice_id(sent.id, "hook"), "hook", text))
        await active.record.append(notice, *processor.partial())
    return refused or given


def reply_events(reply: ModelReply, usage: Usage) -> list[StreamEvent]:
    """Return the stream of a reply that a hook gave, without its terminator."""
    words: list[StreamEvent] = [TextStart(), TextDelta(reply.text), TextEnd()] if reply.text else []
    end = StepEnd("tool_calls" if reply.calls else "stop", usage, by="hook")
    return [StepBegin(), *words, *reply.calls, end]


def _step(active: ActiveTurn) -> int:
    return active.turn.step.number if active.turn.step is not None else 0
