"""A synthesis: one request without tools writes the answer from the results of a step, and the turn ends."""

from __future__ import annotations

from typing import Literal

from bridle.core.action import Synthesize
from bridle.core.compaction import HISTORY_SHARE, head_and_tail
from bridle.core.context import CHARACTERS_PER_TOKEN, Messages, UserMessage, estimate_tokens, prompt_text
from bridle.core.events import PartPut, Recorded, RequestMoved
from bridle.core.ledger import Change
from bridle.core.limits import Spent
from bridle.core.parts import Prompt, Request, ReservationRefused, Text
from bridle.core.states import Broken, Cut, CutBy, Done, Refusal, Replied, Usage
from bridle.core.stream import ModelRequest
from bridle.turn.processor import Processor
from bridle.turn.rig import Rig
from bridle.turn.sending import ESTIMATE_SLACK, Sending, closing_need, input_tokens

NO_TOOLS = (Refusal("tools_off"), "not executed: an answer is asked for")


async def synthesize(rig: Rig, action: Synthesize) -> None:
    """Ask for the answer; if that fails it is remembered for this batch, and the loop goes on as usual."""
    answer = _Answer(rig, action)
    await Sending(rig, answer, reads=answer.reads).send()


class _Answer:
    """See `Sender`."""

    grows: Literal["recorded", "shown", "hidden"] = "shown"
    closing = False

    def __init__(self, rig: Rig, action: Synthesize) -> None:
        self.rig = rig
        self.action = action
        turn = rig.turn
        assert turn.step is not None
        self.number = turn.step.number
        self.id = f"{turn.start.number}.{self.number}.s{action.attempt}"
        errand = turn.errand if turn.errand is not None and turn.errand.purpose == "synthesis" else None
        self.failures = errand.tries if errand is not None else 0
        self.began = errand.began if errand is not None else rig.record.elapsed
        self.words = self._words()
        system = rig.tack.prompts["synthesis"]
        self.reads = estimate_tokens(len(self.words) + len(system)) + ESTIMATE_SLACK

    def _words(self) -> str:
        """What was asked, and what was found; each result gets its share of the window."""
        turn, session = self.rig.turn, self.rig.session
        prompts = [
            prompt_text(part.text, part.files) for id in turn.prompts if isinstance(part := session.parts[id], Prompt)
        ]
        window = turn.start.window or self.rig.tack.info.context_window
        room = int(window * HISTORY_SHARE * CHARACTERS_PER_TOKEN / max(1, len(turn.last_batch)))
        found: list[str] = []
        for id in turn.last_batch:
            call = session.call(id)
            assert isinstance(call.state, Done)
            found.append(f"## {call.name} {call.arguments[:500]}\n{head_and_tail(call.state.output, room)}")
        return "\n\n".join(["# What was asked", *prompts, "# What was found", *found])

    def intent(self) -> list[Recorded]:
        return [PartPut(Request(self.id, "synthesis", self.number, self.action.attempt, self.rig.turn.start.model))]

    def request(self, max_output: int) -> ModelRequest:
        return ModelRequest(
            id=self.id,
            session=self.rig.record.lease.session,
            purpose="synthesis",
            model=self.rig.turn.start.model,
            system=self.rig.tack.prompts["synthesis"],
            messages=Messages([UserMessage(self.id, self.words)]),
            tools=(),
            tool_choice="none",
            max_output_tokens=max_output,
            options=self.rig.tack.options,
        )

    def processor(self, prefix: str) -> Processor:
        return Processor(prefix, {}, NO_TOOLS)

    def keep(self, max_output: int) -> Spent:
        return closing_need(self.rig, input_tokens(self.rig))

    async def whole(self, processor: Processor, usage: Usage, dollars: float, change: Change) -> None:
        if processor.calls or processor.wordless:
            broken = Broken("the reply was no answer in words", usage, dollars)
            await self.rig.record.append(RequestMoved(self.id, broken), change=change)
            return
        answer = PartPut(Text(processor.text_id, processor.text))
        replied = RequestMoved(self.id, Replied(usage, dollars, processor.finish))
        await self.rig.record.append(answer, replied, change=change)

    async def cut(
        self, processor: Processor | None, by: CutBy, usage: Usage, dollars: float, change: Change | None
    ) -> None:
        await self.rig.record.append(RequestMoved(self.id, Cut(by, usage, dollars)), change=change)

    async def lost(self, processor: Processor | None, broken: Broken, change: Change | None) -> None:
        await self.rig.record.append(RequestMoved(self.id, broken), change=change)

    async def unaffordable(self, refused: ReservationRefused, *, begun: bool) -> None:
        # What cannot be paid for here cannot be paid for by a further step either: the turn closes.
        events: list[Recorded] = [PartPut(refused)]
        if begun:
            events.append(RequestMoved(self.id, Broken("no budget is left for another try")))
        await self.rig.record.append(*events)
