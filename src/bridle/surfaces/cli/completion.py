"""Values that a shell completes: sessions, agents, models, providers and closed sets; Typer calls these functions.

A completion has no place for an error: there it offers nothing, and the command itself tells the person.
"""

from __future__ import annotations

from collections.abc import Callable

from bridle.errors import BridleError

Completed = list[tuple[str, str]]
"""Values, each with a help text, which some shells show."""
MOST_SESSIONS = 50


def sessions(incomplete: str) -> Completed:
    """Return the sessions of this directory, newest first; those of all directories if none of them fits."""
    import asyncio

    try:
        return asyncio.run(_sessions(incomplete))
    except BridleError:
        return []


async def _sessions(incomplete: str) -> Completed:
    from bridle.core.ids import is_named_by
    from bridle.runtime import Runtime
    from bridle.runtime.sessions import SessionQuery

    async with Runtime.open() as runtime:
        for query in (SessionQuery(roots=True, directory=str(runtime.directory)), SessionQuery(roots=True)):
            rows = [row for row in await runtime.sessions(query) if is_named_by(row.info.id, incomplete)]
            if rows:
                return [(row.info.id, row.info.title) for row in rows[:MOST_SESSIONS]]
    return []


def agents(incomplete: str) -> Completed:
    """Return the agents of this project."""
    from bridle.runtime import Runtime

    try:
        rows = Runtime.open(in_memory=True).agents()
    except BridleError:
        return []
    found = [row.agent for row in rows if not row.agent.hidden and row.agent.name.startswith(incomplete)]
    return [(agent.name, agent.description) for agent in found]


def models(incomplete: str) -> Completed:
    """Return the models that are available now."""
    from bridle.runtime import without_runtime
    from bridle.surfaces.shared.model_words import described

    try:
        known, _ = without_runtime.open_models()
        found = [info for reach in known.reachable() for info in reach.models]
    except BridleError:
        return []
    return [(info.ref, described(info)) for info in found if info.ref.startswith(incomplete)]


def providers(incomplete: str) -> Completed:
    """Return the providers that take a key."""
    from bridle.values.known_providers import BUILT_IN

    return [(name, each.key_env) for name, each in BUILT_IN.items() if each.key_env and name.startswith(incomplete)]


def servers(incomplete: str) -> Completed:
    """Return the MCP servers of this project."""
    from bridle.runtime import Runtime

    try:
        known = Runtime.open(in_memory=True).servers
    except BridleError:
        return []
    return [(name, "") for name in (known.links if known is not None else ()) if name.startswith(incomplete)]


def words(*given: str) -> Callable[[str], Completed]:
    """Return what completes one of these words."""

    def complete(incomplete: str) -> Completed:
        return [(word, "") for word in given if word.startswith(incomplete)]

    return complete
