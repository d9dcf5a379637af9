"""Connects to one MCP server and returns its address, tools, resources, prompts and problems, for `bridle mcp`."""

from __future__ import annotations

import shlex
from typing import Any, NamedTuple

from bridle.config.display import without_secret_words
from bridle.errors import ServerFailed
from bridle.mcp.server_link import Link
from bridle.values.secrets import redacted


class Look(NamedTuple):
    """The result of inspecting a server."""

    name: str
    where: str
    """Its configured command or URL."""
    problem: str
    tools: tuple[str, ...] = ()
    """The tools in force."""
    changes: tuple[str, ...] = ()
    """Changes that wait for the user's approval."""
    protocol: str = ""
    resources: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    complaints: str = ""


async def look(link: Link, *, closely: bool = False) -> Look:
    """Connect to a server and return what it offers; failures are part of the result."""
    where = redacted(link.server.url or shlex.join(without_secret_words(link.server.command)))
    seen = Look(link.name, where, "")
    try:
        client = await (await link.connected()).client()
        seen = seen._replace(protocol=client.protocol_version, problem=link.problem)
        if closely and client.server_capabilities.resources is not None:
            seen = seen._replace(resources=tuple(uri for uri, _ in await link.resources()))
        if closely and client.server_capabilities.prompts is not None:
            seen = seen._replace(prompts=tuple(_asked_for(prompt) for prompt in await link.prompts()))
    except ServerFailed as error:
        seen = seen._replace(problem=str(error))
    if link.pin is not None:
        seen = seen._replace(tools=tuple(link.pin.now.tools), changes=tuple(link.pin.changes()))
    return seen._replace(complaints=link.complaints)


def _asked_for(prompt: Any) -> str:
    words = [f"{given.name}=…" if given.required else f"[{given.name}=…]" for given in prompt.arguments or ()]
    return " ".join([prompt.name, *words])
