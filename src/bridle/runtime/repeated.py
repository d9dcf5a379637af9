"""Prompts that are submitted again under an id that was used before."""

from __future__ import annotations

from bridle.core.events import PartPut
from bridle.core.inbox import PromptItem
from bridle.core.parts import Prompt
from bridle.errors import ConfigError
from bridle.journal.journal import Journal


async def refuse_other(journal: Journal, session: str, item: PromptItem) -> None:
    """Raise `ConfigError` if the id of this prompt stands for other words or files."""
    for waiting in await journal.inbox(session):
        if waiting.id == item.id:
            same = isinstance(waiting, PromptItem) and (waiting.text, waiting.files) == (item.text, item.files)
            return _refuse(item, same=same)
    for entry in await journal.load(session):
        for event in entry.events:
            if isinstance(event, PartPut) and isinstance(event.part, Prompt) and event.part.id == item.id:
                return _refuse(item, same=(event.part.text, event.part.files) == (item.text, item.files))


def _refuse(item: PromptItem, *, same: bool) -> None:
    if not same:
        raise ConfigError(f"prompt id {item.id!r} was used for another prompt in this session: choose a new id")
