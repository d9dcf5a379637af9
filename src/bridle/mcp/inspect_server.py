"""A close look at one server, for a person: how it is reached, what it says, what is wrong."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from bridle.errors import ServerFailed
from bridle.mcp.server_link import Link


class Look(NamedTuple):
    """What was seen."""

    name: str
    where: str
    """Its command or its address, as it is configured."""
    problem: str
    tools: tuple[str, ...] = ()
    """The tools that count."""
    changes: tuple[str, ...] = ()
    """What waits for the user's word."""
    protocol: str = ""
    resources: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    complaints: str = ""


async def look(link: Link, *, closely: bool = False) -> Look:
    """Connect to a server and see what it offers; what is wrong is part of what is seen."""
    where = link.server.url or shlex.join(link.server.command)
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


def _asked_for(prompt: object) -> str:
    arguments = getattr(prompt, "arguments", None) or ()
    words = [f"{given.name}=…" if given.required else f"[{given.name}=…]" for given in arguments]
    return " ".join([str(getattr(prompt, "name", "")), *words])
