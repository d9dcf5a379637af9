"""Prompts that begin with the name of a command, or of a prompt that a server has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from bridle.commands import Expanded, expanded, named, run_shell
from bridle.core.agent import Agent
from bridle.core.permission import Access
from bridle.runtime.runtime import Runtime


async def commanded(runtime: Runtime, text: str, confirm: Callable[[str], Awaitable[bool]]) -> Expanded | None:
    """What such a prompt becomes; None if it is none.

    `confirm` is asked about shell commands of the template that need a person; raises `ConfigError`.
    """
    commands, room = runtime.settings.commands, runtime.room
    found = named(text, commands)
    if found is None:
        return None
    name, arguments = found
    if name not in commands:
        return await _server_prompt(runtime, name, arguments)
    given = commands[name]
    agent = room.agents.get(given.agent or runtime.settings.agent) or Agent("")
    judge = partial(room.verdict, agent=agent)

    async def may_read(path: str) -> bool:
        verdict = judge(Access("read", path))
        return verdict == "allow" or (verdict == "ask" and await confirm(f"read {path}"))

    run = partial(
        run_shell,
        directory=runtime.directory,
        environment=room.commands_environment(),
        shelter=room.shelter,
        judge=judge,
        confirm=confirm,
        read_only=agent.reads_only,
    )
    return await expanded(given, arguments, runtime.directory, run, may_read)


async def _server_prompt(runtime: Runtime, name: str, arguments: str) -> Expanded | None:
    server, _, prompt = name.partition(":")
    if runtime.servers is None or server not in runtime.servers.links:
        return None
    pairs = (word.partition("=") for word in arguments.split())
    return Expanded(await runtime.servers.prompt(server, prompt, {key: value for key, _, value in pairs}), ())
