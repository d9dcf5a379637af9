"""Carries out a compaction: requests a summary, or writes one; applies it only if the context gets smaller."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core import compaction
from bridle.core.action import Compact
from bridle.core.events import PartPut, Recorded, RequestMoved
from bridle.core.ids import compaction_id, compaction_request_id, stored_prompt_id
from bridle.core.ledger import AccountChange
from bridle.core.limits import LOWEST_OUTPUT_TOKENS, Spent
from bridle.core.messages import UserMessage, characters
from bridle.core.parts import Compaction, CompactionCause, Request, ReservationRefused
from bridle.core.session import OpenTurn
from bridle.core.states import Replied
from bridle.core.stream import ModelRequest
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.processor import Processor
from bridle.turn.request_kind import NO_BUDGET, RequestKind
from bridle.turn.send_request import ESTIMATE_SLACK, ModelCall, closing_need


async def compact(active: ActiveTurn, action: Compact) -> None:
    """Request a summary, or write one from the record; either is applied only if it makes the context smaller."""
    summary = _Summary(active, action)
    if action.by == "bridle":
        await summary.write_it_ourselves()
    else:
        await ModelCall(summary).send()


def cause_of(turn: OpenTurn) -> CompactionCause:
    """Return why the context of a turn is compacted."""
    return "overflow" if turn.overflowed else "manual" if turn.wanted is not None else "usage"


class _Summary(RequestKind):
    """The request for a summary."""

    grows = "hidden"

    def __init__(self, active: ActiveTurn, action: Compact) -> None:
        session, turn = active.session, active.turn
        number = turn.compacted + 1
        self.part = compaction_id(turn.start.number, number)
        id = compaction_request_id(self.part, action.attempt)
        super().__init__(active, Request(id, "compaction", number, action.attempt, turn.model))
        self.messages = session.messages
        self.window = turn.window or active.asked.info.context_window
        self.per_token = session.characters_per_token
        tail = min(self.window * compaction.TAIL_SHARE, compaction.TAIL_TOKENS)
        self.through = compaction.first_kept(self.messages, int(tail * self.per_token))
        history = compaction.serialized(self.messages[: self.through], self._room(compaction.HISTORY_SHARE))
        self.words = (active.instruction or active.asked.prompts["compaction"]).replace("{history}", history)
        self.reads = int(len(self.words) / self.per_token) + ESTIMATE_SLACK

    def _room(self, share: float) -> int:
        """Return the number of characters that fit this share of the window."""
        return int(self.window * share * self.per_token)

    def request(self, max_output: int) -> ModelRequest:
        most = max(LOWEST_OUTPUT_TOKENS, int(self.window * compaction.SUMMARY_SHARE))
        return self.asking(self.words, system="", max_output=min(max_output, most))

    def keep(self, max_output: int) -> Spent:
        return closing_need(self.active, int(self.window * (compaction.TAIL_SHARE + compaction.SUMMARY_SHARE)))

    async def whole(self, processor: Processor, replied: Replied, change: AccountChange) -> None:
        moved = RequestMoved(self.id, replied)
        if processor.calls or processor.wordless:
            # Requested once more, then written from the record: `decide` counts.
            await self.active.record.append(moved, change=change)
        else:
            await self._apply(processor.text, "model", moved, change=change)

    async def unaffordable(self, refused: ReservationRefused, *, begun: bool) -> None:
        events = (RequestMoved(self.id, NO_BUDGET),) if begun else ()
        await self.write_it_ourselves(*events)

    async def write_it_ourselves(self, *events: Recorded) -> None:
        summary = compaction.mechanical(self.messages[: self.through], self._room(compaction.SUMMARY_SHARE))
        await self._apply(summary, "bridle", *events)

    async def _apply(
        self, summary: str, by: Literal["model", "bridle"], *events: Recorded, change: AccountChange | None = None
    ) -> None:
        session, turn = self.active.session, self.active.turn
        through = self.messages[self.through].id if self.through < len(self.messages) else ""
        part = Compaction(self.part, cause_of(turn), "smaller", through, summary, shortened=self._shortened(), by=by)
        before = session.tokens
        size = sum(characters(message) for message in compaction.compacted(self.messages, part, turn.prompts))
        after = session.tokens_with(size)
        limit = turn.compact_at or self.window
        if after <= before * (1 - compaction.LEAST_GAIN) and after < limit:
            part = msgspec.structs.replace(part, before=before, after=after)
        else:
            part = Compaction(part.id, part.cause, "no_progress", before=before, after=after, by=by)
        await self.active.record.append(*events, PartPut(part), change=change)

    def _shortened(self) -> dict[str, str]:
        """Return prompts of the turn that would fill the window, cut to both ends; a file has the full text."""
        room = self._room(compaction.PROMPT_SHARE)
        ours = set(self.active.turn.prompts)
        found: dict[str, str] = {}
        for message in self.messages[: self.through]:
            if message.id not in ours or not isinstance(message, UserMessage):
                continue
            if message.kind == "shortened":
                # An earlier compaction has shortened it, and names the file with the full text.
                found[message.id] = message.text
            elif len(message.text) > room:
                _, where = self.active.store(stored_prompt_id(message.id), message.text)
                found[message.id] = compaction.head_and_tail(message.text, room, where or "the middle is left out")
        return found
