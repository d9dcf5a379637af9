"""Carries out a synthesis: one request without tools writes the answer from the results of a step; the turn ends."""

from __future__ import annotations

from bridle.core.action import Synthesize
from bridle.core.compaction import HISTORY_SHARE, head_and_tail
from bridle.core.context import CHARACTERS_PER_TOKEN, estimate_tokens, prompt_text
from bridle.core.events import PartPut, RequestMoved
from bridle.core.ids import synthesis_id
from bridle.core.ledger import AccountChange
from bridle.core.limits import Spent
from bridle.core.parts import Prompt, Request, Text
from bridle.core.states import Broken, Done, Replied
from bridle.core.stream import ModelRequest
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.processor import Processor
from bridle.turn.request_kind import RequestKind
from bridle.turn.send_request import ESTIMATE_SLACK, ModelCall, closing_need, input_tokens


async def synthesize(active: ActiveTurn, action: Synthesize) -> None:
    """Request the answer; a failure is recorded for this batch, and the loop continues as usual."""
    answer = _Answer(active, action)
    await ModelCall(answer).send()


class _Answer(RequestKind):
    """The request for the answer."""

    grows = "shown"

    def __init__(self, active: ActiveTurn, action: Synthesize) -> None:
        turn = active.turn
        assert turn.step is not None
        number, attempt = turn.step.number, action.attempt
        id = synthesis_id(turn.start.number, number, attempt)
        super().__init__(active, Request(id, "synthesis", number, attempt, turn.model))
        self.words = self._words()
        self.system = active.asked.prompts["synthesis"]
        self.reads = estimate_tokens(len(self.words) + len(self.system)) + ESTIMATE_SLACK

    def _words(self) -> str:
        """Return the prompts and the results; each result gets its share of the window."""
        turn, session = self.active.turn, self.active.session
        prompts = [
            prompt_text(part.text, part.files) for id in turn.prompts if isinstance(part := session.parts[id], Prompt)
        ]
        window = turn.window or self.active.asked.info.context_window
        room = int(window * HISTORY_SHARE * CHARACTERS_PER_TOKEN / max(1, len(turn.last_batch)))
        found: list[str] = []
        for id in turn.last_batch:
            call = session.call(id)
            assert isinstance(call.state, Done)
            found.append(f"## {call.name} {call.arguments[:500]}\n{head_and_tail(call.state.output, room)}")
        return "\n\n".join(["# What was asked", *prompts, "# What was found", *found])

    def request(self, max_output: int) -> ModelRequest:
        return self.asking(self.words, system=self.system, max_output=max_output)

    def keep(self, max_output: int) -> Spent:
        return closing_need(self.active, input_tokens(self.active))

    async def whole(self, processor: Processor, replied: Replied, change: AccountChange) -> None:
        if processor.calls or processor.wordless:
            broken = Broken("the reply was no answer in words", replied.usage, replied.cost)
            await self.lost(processor, broken, change)
            return
        answer = PartPut(Text(processor.text_id, processor.text))
        await self.active.record.append(answer, RequestMoved(self.id, replied), change=change)
