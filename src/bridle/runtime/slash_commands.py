"""What a person's prompt becomes: a command expands to its template, and files that it names are attached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from bridle.assembly.prompts import Expanded, named_agents
from bridle.assembly.slash_template import expanded, files_of, named, run_shell
from bridle.core.agent import AgentDefinition
from bridle.core.permission import Access
from bridle.errors import ConfigError
from bridle.runtime.runtime import Runtime

Confirm = Callable[[str], Awaitable[bool]]


async def commanded(runtime: Runtime, text: str, confirm: Confirm, *, typed: str, agent: str | None = None) -> Expanded:
    """A person's prompt with everything in its place; `agent` is the one that will run it.

    Only the words that the person `typed` may name subagents. `confirm` is asked about shell commands and files that
    need a person. Raises `ConfigError` for a command that does not exist, and for a file that may not be read.
    """
    asked = await _expanded(runtime, text, confirm, agent)
    subagents = runtime.turns.subagents or ()
    if asked.subtask and asked.subtask not in subagents:
        known = ", ".join(sorted(subagents)) or "none"
        raise ConfigError(f"agent {asked.subtask} of this command cannot run as a subagent (these can: {known})")
    wants = (*named_agents(typed, subagents), *filter(None, [asked.subtask]))
    return asked._replace(wants=wants)


async def _expanded(runtime: Runtime, text: str, confirm: Confirm, agent: str | None) -> Expanded:
    commands = runtime.settings.commands
    found = named(text, commands)
    if found is not None and found[0] not in commands:
        asked = await _server_prompt(runtime, *found)
        if asked is not None:
            return asked
        found = None
    if found is None:
        return Expanded(
            text, await files_of(text, runtime.directory, _permits(runtime, _agent(runtime, agent), confirm))
        )
    name, arguments = found
    given = commands[name]
    runner = _agent(runtime, given.agent)
    run = partial(
        run_shell,
        directory=runtime.directory,
        environment=runtime.turns.commands_environment(),
        commands=runtime.turns.commands,
        judge=partial(runtime.turns.verdict, agent=runner),
        confirm=confirm,
        read_only=runner.reads_only,
    )
    return await expanded(given, arguments, runtime.directory, run, _permits(runtime, runner, confirm))


def _agent(runtime: Runtime, name: str | None) -> AgentDefinition:
    return runtime.turns.agents.get(name or runtime.settings.agent) or AgentDefinition("")


def _permits(
    runtime: Runtime, agent: AgentDefinition, confirm: Confirm
) -> Callable[[Sequence[Access]], Awaitable[bool]]:
    async def permits(needed: Sequence[Access]) -> bool:
        verdicts = {runtime.turns.verdict(access, agent) for access in needed}
        if "deny" in verdicts:
            return False
        return "ask" not in verdicts or await confirm(f"read {needed[0].pattern}")

    return permits


async def _server_prompt(runtime: Runtime, name: str, arguments: str) -> Expanded | None:
    server, _, prompt = name.partition(":")
    if runtime.servers is None or server not in runtime.servers.links:
        return None
    pairs = (word.partition("=") for word in arguments.split())
    return Expanded(await runtime.servers.prompt(server, prompt, {key: value for key, _, value in pairs}), ())
