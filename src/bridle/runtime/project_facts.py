"""Implements the queries of `Project`: settings, trust, slash commands, models, MCP servers, saved approvals."""

from __future__ import annotations

import shlex

import msgspec

from bridle.assembly.model_setup import adjusted
from bridle.assembly.project_access import ProjectAccess
from bridle.config.load import shown
from bridle.core.agent import ModelInfo
from bridle.errors import ConfigError, ServerFailed
from bridle.mcp.inspect_server import look
from bridle.mcp.server_link import Link
from bridle.runtime.own_prompts import with_own
from bridle.runtime.project_views import ConfigValue, ModelRow, ServerRow, SlashCommand, TrustView
from bridle.runtime.runtime import Runtime
from bridle.values.secrets import redacted


def configuration(runtime: Runtime) -> list[ConfigValue]:
    """Return every setting in force."""
    return [ConfigValue(*row) for row in shown(runtime.settings, runtime.origins)]


def access_of(runtime: Runtime) -> ProjectAccess:
    return ProjectAccess(runtime.directory, runtime.commands.environment)


def trust(runtime: Runtime) -> TrustView:
    """Return the trust of the project, which is given on this machine only."""
    access = access_of(runtime)
    return TrustView(
        access.state(), str(access.root), access.ignored(), f"bridle trust {shlex.quote(str(access.root))}"
    )


def approvals(runtime: Runtime) -> list[str]:
    """Return the saved approvals in words, in the order of `bridle permissions`; none for a program without a file."""
    return access_of(runtime).approvals() if runtime.turns.user.approvals is not None else []


def revoke_approval(runtime: Runtime, number: int, words: str) -> list[str]:
    """Revoke a saved approval that still has these words; return the remaining ones."""
    if approvals(runtime)[number - 1 : number] != [words]:
        raise ConfigError(f"approval {number} is no longer {words!r}: the list of approvals has changed")
    access_of(runtime).revoke(number)
    return approvals(runtime)


async def slash_commands(runtime: Runtime) -> list[SlashCommand]:
    """Return the commands of the configuration, and the prompts of servers that are connected already."""
    found = [
        SlashCommand(
            name=name,
            description=given.description,
            agent=given.agent or "",
            model=given.model or "",
            subtask=given.subtask,
        )
        for name, given in sorted(with_own(runtime.settings.commands).items())
    ]
    for link in runtime.servers.links.values() if runtime.servers is not None else ():
        if link.pin is not None and not link.problem:
            found += await _prompts_of(link)
    return found


async def _prompts_of(link: Link) -> list[SlashCommand]:
    try:
        prompts = await link.prompts()
    except ServerFailed:
        # A server need not have prompts; `servers` reports one that fails.
        return []
    return [
        SlashCommand(
            name=f"{link.name}:{prompt.name}",
            description=prompt.description or "",
            arguments=tuple(given.name for given in prompt.arguments or ()),
            server=link.name,
        )
        for prompt in prompts
    ]


async def models(runtime: Runtime) -> list[ModelRow]:
    """Return all models that are reachable now."""
    await runtime.models.prepare(None)
    return [
        ModelRow(reach.provider, reach.why, _as_set(runtime, info))
        for reach in runtime.models.reachable()
        for info in reach.models
    ]


def _as_set(runtime: Runtime, info: ModelInfo) -> ModelInfo:
    """Return a model as the settings adjust it, without the options of requests, which may hold anything."""
    found = adjusted(info, runtime.settings.models.get(info.ref))
    return msgspec.structs.replace(found, options={}, variants={name: {} for name in found.variants})


async def servers(runtime: Runtime) -> list[ServerRow]:
    """Connect to the MCP servers of all agents, and return how each was found."""
    if runtime.servers is None:
        return []
    found = [await look(link) for link in runtime.servers.links.values()]
    return [
        ServerRow(
            name=seen.name,
            where=seen.where,
            problem=redacted(seen.problem),
            tools=seen.tools,
            changes=seen.changes,
        )
        for seen in found
    ]
