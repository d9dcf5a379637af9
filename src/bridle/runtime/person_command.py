"""Submits the shell command of a person as a prompt, which runs it as a recorded call in a turn of its own."""

from __future__ import annotations

from bridle.core.inbox import PromptItem
from bridle.errors import ConfigError, LeaseLost
from bridle.runtime.argument_checks import sound_prompt
from bridle.runtime.runtime import Runtime


async def submit_command(runtime: Runtime, session: str, command: str, id: str | None) -> str:
    """Submit a command and return the id of its prompt; raises `LeaseLost` while a turn runs or prompts wait."""
    if not isinstance(command, str) or not command.strip():
        raise ConfigError("shell: command must be text that is not empty")
    state = await runtime.load(session)
    waiting = await runtime.waiting_prompts(session)
    if id is not None and (id in state.prompts or id in waiting):
        return id
    if state.running is not None or waiting:
        raise LeaseLost(f"session {session} is busy: wait for its turn to end, or abort it, and run the command again")
    id = id or runtime.seams.new_id("prm")
    # It never joins a turn that has begun meanwhile.
    item = sound_prompt(PromptItem(id, f"!{command}", queue=True, shell=command), ())
    await runtime.delegate(session, item)
    return id
