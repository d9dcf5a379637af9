"""Takes inbox items that change no turn (withdrawals, titles, pins) as they come, also while a call runs."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bridle.core.events import PartPut, SessionPut
from bridle.core.ids import withdrawn_id
from bridle.core.inbox import AtOnceItem, DescribeItem, InboxItem, PromptItem, TurnItem, WithdrawItem
from bridle.core.parts import Withdrawn
from bridle.turn.record import Record


def waits_at_once(items: Iterable[InboxItem]) -> bool:
    """Return whether one of these items can be taken now, in any state of the turn."""
    return any(isinstance(item, AtOnceItem) for item in items)


async def take_at_once(record: Record, items: Iterable[InboxItem]) -> list[TurnItem]:
    """Record the items that change no turn, and return the others that still wait, in their order.

    The caller keeps everything else from taking items meanwhile.
    """
    waiting: dict[str, TurnItem] = {item.id: item for item in items if not isinstance(item, AtOnceItem)}
    for item in items:
        if isinstance(item, WithdrawItem):
            await _withdraw(record, item, waiting)
        elif isinstance(item, DescribeItem):
            await _describe(record, item)
    return [*waiting.values()]


async def _withdraw(record: Record, item: WithdrawItem, waiting: dict[str, TurnItem]) -> None:
    """Take back a prompt that waits. One that was taken stays, as does a prompt of a turn above this session."""
    prompt = waiting.get(item.prompt)
    if not isinstance(prompt, PromptItem) or prompt.of_parent:
        await record.append(take=(item.id,))
        return
    part = Withdrawn(withdrawn_id(prompt.id), prompt.id)
    # It is an ending for those who wait for the prompt's result.
    await record.append(PartPut(part), take=(prompt.id, item.id), weight="ending")
    del waiting[prompt.id]


async def _describe(record: Record, item: DescribeItem) -> None:
    info = record.session.info
    assert info is not None
    given = {"title": item.title, "pinned": item.pinned, "archived": item.archived, "approvals": item.approvals}
    changed = msgspec.structs.replace(info, **{name: value for name, value in given.items() if value is not None})
    await record.append(*([SessionPut(changed)] if changed != info else []), take=(item.id,))
