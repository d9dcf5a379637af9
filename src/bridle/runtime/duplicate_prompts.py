"""Detection of prompt ids that are reused for a different prompt."""

from __future__ import annotations

from bridle.core.inbox import PromptItem
from bridle.core.parts import Prompt
from bridle.errors import ConfigError
from bridle.journal.journal import Journal
from bridle.runtime.session_reader import parts_put


async def refuse_other(journal: Journal, session: str, item: PromptItem) -> None:
    """Raise `ConfigError` if the id of this prompt was used for other text or files."""
    known: list[PromptItem | Prompt] = [
        waiting for waiting in await journal.inbox(session) if isinstance(waiting, PromptItem) and waiting.id == item.id
    ]
    if not known:
        recorded = parts_put(await journal.load(session))
        known += [part for part in recorded if isinstance(part, Prompt) and part.id == item.id]
    if any((prompt.text, prompt.files) != (item.text, item.files) for prompt in known):
        raise ConfigError(f"prompt id {item.id!r} was used for another prompt in this session: choose a new id")
