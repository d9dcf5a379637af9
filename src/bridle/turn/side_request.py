"""Common code of side requests, made besides the steps: no tools, and a failure does not end the turn."""

from __future__ import annotations

from typing import Literal

from bridle.core.events import PartPut, Recorded, RequestMoved
from bridle.core.ledger import AccountChange
from bridle.core.messages import Messages, UserMessage
from bridle.core.parts import Request
from bridle.core.states import Broken, Cut, CutBy, Refusal, Usage
from bridle.core.stream import ModelRequest
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.processor import Processor

NO_TOOLS = (Refusal("tools_off"), "not executed: words alone are asked for")
NO_BUDGET = Broken("no budget is left for another try")


class SideRequestKind:
    """The part of `RequestKind` that all side requests share; content and handling of the reply differ."""

    closing = False

    def __init__(
        self, active: ActiveTurn, purpose: Literal["compaction", "synthesis"], id: str, *, number: int, attempt: int
    ) -> None:
        self.active = active
        self.id = id
        self._purpose = purpose
        self._number = number
        self._attempt = attempt
        side_request = active.turn.side_request
        before = side_request if side_request is not None and side_request.purpose == purpose else None
        self.failures = before.tries if before is not None else 0
        self.began = before.began if before is not None else active.record.elapsed

    def intent(self) -> list[Recorded]:
        model = self.active.turn.start.model
        return [PartPut(Request(self.id, self._purpose, self._number, self._attempt, model))]

    def asking(self, words: str, *, system: str, max_output: int) -> ModelRequest:
        """Return a request with this text as its only message."""
        return ModelRequest(
            id=self.id,
            session=self.active.record.lease.session,
            purpose=self._purpose,
            model=self.active.turn.start.model,
            system=system,
            messages=Messages([UserMessage(self.id, words)]),
            tools=(),
            tool_choice="none",
            max_output_tokens=max_output,
            options=self.active.setup.model.options,
        )

    def processor(self, prefix: str) -> Processor:
        return Processor(prefix, {}, NO_TOOLS)

    async def cut(
        self, processor: Processor | None, by: CutBy, usage: Usage, dollars: float, change: AccountChange | None
    ) -> None:
        await self.active.record.append(RequestMoved(self.id, Cut(by, usage, dollars)), change=change)

    async def lost(self, processor: Processor, broken: Broken, change: AccountChange | None) -> None:
        await self.active.record.append(RequestMoved(self.id, broken), change=change)
