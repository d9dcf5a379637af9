"""Takes back prompts that no turn has taken yet."""

from __future__ import annotations

from bridle.core.ids import withdrawal_id
from bridle.core.inbox import PromptItem, WithdrawItem
from bridle.core.parts import Prompt, Withdrawn
from bridle.errors import ConfigError
from bridle.runtime.runtime import Runtime
from bridle.runtime.session_reader import parts_put


async def withdraw_prompt(runtime: Runtime, session: str, prompt: str) -> bool:
    """Take a prompt back and return whether that succeeded; raises `ConfigError` for an unknown prompt."""
    if (known := await _outcome(runtime, session, prompt)) is not None:
        return known
    await runtime.settle(session, WithdrawItem(withdrawal_id(prompt), prompt))
    return await _outcome(runtime, session, prompt) is True


async def _outcome(runtime: Runtime, session: str, prompt: str) -> bool | None:
    """Return whether a prompt was withdrawn; None while it waits. Raises `ConfigError` for one that is not there."""
    # The inbox first: a prompt that is taken in between shows in the record.
    waiting = [item for item in await runtime.journal.inbox(session) if item.id == prompt]
    for part in parts_put(await runtime.journal.load(session)):
        if isinstance(part, Withdrawn) and part.prompt == prompt:
            return True
        if isinstance(part, Prompt) and part.id == prompt:
            return False
    if not waiting or not isinstance(waiting[0], PromptItem):
        raise ConfigError(f"session {session} has no prompt {prompt!r}")
    if waiting[0].of_parent:
        raise ConfigError(f"prompt {prompt!r} belongs to the session above: abort its call there")
    return None
