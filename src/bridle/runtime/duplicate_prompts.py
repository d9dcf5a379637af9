"""Detection of prompt ids that are reused for a different prompt."""

from __future__ import annotations

from bridle.core.events import PartPut
from bridle.core.inbox import PromptItem
from bridle.core.parts import Prompt
from bridle.errors import ConfigError
from bridle.journal.journal import Journal


async def refuse_other(journal: Journal, session: str, item: PromptItem) -> None:
    """Raise `ConfigError` if the id of this prompt was used for other text or files."""
    known: list[PromptItem | Prompt] = [
        waiting for waiting in await journal.inbox(session) if isinstance(waiting, PromptItem) and waiting.id == item.id
    ]
    if not known:
        puts = (
            event.part for entry in await journal.load(session) for event in entry.events if isinstance(event, PartPut)
        )
        known += [part for part in puts if isinstance(part, Prompt) and part.id == item.id]
    if any((prompt.text, prompt.files) != (item.text, item.files) for prompt in known):
        raise ConfigError(f"prompt id {item.id!r} was used for another prompt in this session: choose a new id")
