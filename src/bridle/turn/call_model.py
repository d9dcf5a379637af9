"""Makes the model request of a step or the closing, and records its outcome; `send_request` sends it."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from bridle.core.action import CallModel
from bridle.core.events import PartPut, Recorded, RequestMoved
from bridle.core.ids import notice_id, request_part_id, step_part_id, step_request_id, turn_part_id
from bridle.core.ledger import AccountChange
from bridle.core.limits import LOWEST_OUTPUT_TOKENS, NOTHING, Spent, counted
from bridle.core.parts import Call, Halt, Notice, Part, Purpose, Request, StepFinish, StepStart
from bridle.core.repair import result_digest
from bridle.core.states import Broken, Cut, Done, Refusal, Refused, Replied
from bridle.core.stream import ModelRequest
from bridle.errors import Retry, text_of
from bridle.turn.active_turn import MOST_WRITTEN, ActiveTurn
from bridle.turn.caller import Caller
from bridle.turn.closing import closing_notice, limit_notice, refused_call
from bridle.turn.limit_words import budget_notices
from bridle.turn.output_schema import REMINDER
from bridle.turn.processor import Processor
from bridle.turn.request_kind import RequestKind
from bridle.turn.scope import Aborted, Late, cancelled_by_us
from bridle.turn.send_request import ModelCall, closing_need, input_tokens

LOG = logging.getLogger(__name__)
WAS_CUT = "Your last reply was cut off when the time was up. There is more time now: continue from there."
CHECK_SECONDS = 120.0
"""Time for the program's own check of an answer."""
HOW_TO_KEEP = 'To keep this, set in the configuration: [models."{ref}"] quirks = { text_calls = true }'


async def call_model(active: ActiveTurn, action: CallModel) -> None:
    """Request one step, with retries; every outcome is recorded."""
    step = _Step(active, action, await budget_notices(active))
    await ModelCall(step, steps=1 if step.is_new else 0).send()


class _Step(RequestKind):
    """The request of a step or of the closing."""

    def __init__(self, active: ActiveTurn, action: CallModel, notices: list[Notice]) -> None:
        self.action = action
        self.notices = notices
        self.closing = action.closing is not None
        turn = active.turn
        purpose: Purpose = "closing" if self.closing else "step"
        id = step_request_id(turn.start.number, action.number, action.attempt)
        super().__init__(active, Request(id, purpose, action.number, action.attempt, turn.model))
        self.is_new = turn.step is None or turn.step.number != action.number
        if turn.step is not None and not self.is_new:
            self.failures, self.began = turn.step.tries, turn.step.began
        self.reads = input_tokens(active)

    def intent(self) -> list[Recorded]:
        turn, action = self.active.turn, self.action
        parts: list[Part] = []
        if self.is_new:
            elapsed = self.active.record.elapsed
            parts += [limit_notice(turn, name, action.number, elapsed) for name in action.warn]
            parts += self.notices
            if action.closing is None and turn.step is not None and turn.step.cut:
                # Time ran out during the reply and was extended: a request must not end with the model's own words.
                id = step_part_id(turn.start.number, action.number, "cut")
                parts.append(Notice(id, "cut", WAS_CUT, told=True))
            if turn.start.output is not None and turn.step is not None and turn.step.final:
                id = step_part_id(turn.start.number, action.number, "output")
                parts.append(Notice(id, "output", REMINDER, told=True))
            if action.closing is not None:
                template = self.active.asked.prompts["closing"]
                parts.append(closing_notice(turn, action.closing, template, elapsed))
            start = step_part_id(turn.start.number, action.number, "start")
            parts.append(StepStart(start, action.number, turn.cap, action.closing))
        return [*map(PartPut, parts), *super().intent()]

    def request(self, max_output: int) -> ModelRequest:
        active, setup, asked = self.active, self.active.setup, self.active.asked
        off, wanted = self.action.tools == "off", setup.toolset.output
        tools = () if off and (asked.info.closing_tools == "omit" or wanted is not None) else setup.toolset.specs
        # If the answer must fit a schema, the closing request may still ask for it.
        tools += (wanted.spec,) if wanted is not None else ()
        return ModelRequest(
            id=self.id,
            session=active.record.lease.session,
            purpose=self.sent.purpose,
            model=self.sent.model,
            system=active.session.system,
            messages=active.session.messages,
            tools=tools,
            tool_choice="none" if off and wanted is None else "auto",
            max_output_tokens=max_output,
            options=asked.options,
            takes=asked.info.takes,
        )

    def processor(self, prefix: str) -> Processor:
        refusal = refused_call(self.action.closing) if self.action.tools == "off" else None
        setup = self.active.setup
        return Processor(prefix, setup.toolset.tools, refusal, setup.toolset.output, setup.toolset.offered)

    def keep(self, max_output: int) -> Spent:
        if self.closing or self.active.turn.cap == 0:
            return NOTHING
        # The closing request reads the output of this one, and the reports from the background.
        reports = len(self.active.turn.background) * LOWEST_OUTPUT_TOKENS
        return closing_need(self.active, self.reads + max_output + reports)

    async def whole(self, processor: Processor, replied: Replied, change: AccountChange) -> None:
        processor.find_output()
        written = self._find_written(processor)
        events = [*await self._checked(processor.parts(whole=True)), *written]
        calls = processor.calls
        refused = calls - processor.captured
        if refused and self.active.turn.cap == 0:
            text = f"{counted(refused, 'call')} refused: this agent has no tools"
            events.append(PartPut(Notice(notice_id(self.id, "tools_off"), "warning", text)))
        finish = StepFinish(
            request_part_id(self.id, "finish"),
            self.action.number,
            calls,
            empty=processor.wordless and not processor.captured and (not calls or self.active.turn.cap == 0),
            cut=processor.finish == "length" and not calls,
        )
        # Next come the start of its calls, the next request, or the end of the turn.
        await self.active.record.append_with_next(
            *events, RequestMoved(self.id, replied), PartPut(finish), settles=change
        )

    async def _checked(self, events: list[Recorded]) -> list[Recorded]:
        """Let the program check an answer that fits the schema; an answer that it rejects is refused."""
        caller = self.active.setup.toolset.caller
        if caller is None or self.active.setup.toolset.output is None:
            return events
        for place, event in enumerate(events):
            part = event.part if isinstance(event, PartPut) else None
            if isinstance(part, Call) and isinstance(part.state, Done) and part.state.answers:
                state = await _accepted(self.active, caller, part.state)
                events[place] = PartPut(msgspec.structs.replace(part, state=state))
        return events

    def _find_written(self, processor: Processor) -> list[Recorded]:
        """Find calls written as text; the reader is told once that the model is now prompted differently."""
        active, ref = self.active, self.active.turn.model
        if active.asked.info.calls != "unknown" or not processor.find_calls():
            return []
        if active.session.written.get(ref, 0) + 1 != MOST_WRITTEN:
            return []
        text = f"{ref} writes its tool calls as text; from now on its tools are described in the prompt. {HOW_TO_KEEP}"
        return [PartPut(Notice(notice_id(self.id, "written"), "model", text.replace("{ref}", ref)))]

    async def cut(self, processor: Processor | None, cut: Cut, change: AccountChange | None) -> None:
        await self.active.record.append(
            *(processor.parts(whole=False) if processor is not None else ()),
            RequestMoved(self.id, cut),
            PartPut(StepFinish(request_part_id(self.id, "finish"), self.action.number, cut=True)),
            change=change,
        )

    async def lost(self, processor: Processor, broken: Broken, change: AccountChange) -> None:
        # Without compaction, an overflow is a failure like any other.
        broken = msgspec.structs.replace(broken, overflow=broken.overflow and self.active.turn.compact_at > 0)
        again = broken.overflow or bool(broken.fallback)
        words = processor.partial() if again or broken.by == "hook" else processor.growth()
        events: list[Recorded] = [*words, *self.broken(broken)]
        if self.action.closing is None and not again:
            events.append(PartPut(Halt(turn_part_id(self.active.turn.start.number, "halt"), "error", broken.error)))
        await self.active.record.append(*events, change=change)


async def _accepted(active: ActiveTurn, caller: Caller, state: Done) -> Done | Refused:
    """Return the state of a call that gives the answer, after the check of the program."""
    try:
        value = await active.scope.run(caller.accepted(msgspec.json.decode(state.output)), CHECK_SECONDS)
    except (Exception, SystemExit, BaseExceptionGroup, asyncio.CancelledError) as error:
        # The check is foreign code; any error of it rejects the answer.
        if cancelled_by_us(error):
            raise
        if not isinstance(error, Retry):
            LOG.warning("the check of an answer failed", exc_info=error)
        return Refused(Refusal("invalid"), f"the answer is not accepted: {text_of(error)}", by_check=True)
    if isinstance(value, Aborted):
        return Refused(Refusal("aborted"), "the turn was aborted")
    if isinstance(value, Late):
        return Refused(Refusal("invalid"), "the check of the answer took too long", by_check=True)
    text = msgspec.json.encode(value).decode()
    return msgspec.structs.replace(state, output=text, digest=result_digest(text))
