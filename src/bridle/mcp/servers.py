"""`Servers`: a group of MCP servers; connects new ones before a turn, returns their accepted tools and instructions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from html import escape

from bridle.config.settings import McpServer
from bridle.errors import ConfigError, ServerFailed
from bridle.mcp.accepted_tools import Definition
from bridle.mcp.inspect_server import Look, look
from bridle.mcp.server_link import Link, Surroundings
from bridle.mcp.tools import RESOURCE, resource_tool, server_tool, shown, tool_name
from bridle.seams import begin
from bridle.tools.tool import Tool

START_WAIT_SECONDS = 5.0
AGAIN_SECONDS = 60.0
FRESH_SECONDS = 3_600.0
"""Period after which the offer of an unused server is checked again."""


class Servers:
    """The configured servers. Failures never end a turn: an unusable server is reported, and its calls fail."""

    def __init__(self, configured: Mapping[str, McpServer | float], around: Surroundings) -> None:
        self._around = around
        given = configured.get("start_wait", START_WAIT_SECONDS)
        self._start_wait = given if isinstance(given, (int, float)) else START_WAIT_SECONDS
        self.links = {
            name: Link(name, server, around)
            for name, server in configured.items()
            if isinstance(server, McpServer) and server.enabled
        }
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._looked: dict[str, float] = {}
        self._unread = ""
        self._read_pins()

    def _read_pins(self) -> None:
        try:
            pins = self._around.pins.all()
        except ConfigError as error:
            self._unread = str(error)
            return
        for link in self.links.values():
            link.pin = pins.get(link.key, link.pin)

    async def prepare(self) -> None:
        """Connect to new servers concurrently and wait briefly; tools of slow ones are available in the next turn."""
        now = self._around.seams.clock.wall()
        fresh = [name for name, link in self.links.items() if link.pin is None]
        for name, link in self.links.items():
            stale = link.pin is None or now - link.pin.seen > FRESH_SECONDS
            before = self._looked.get(name)
            idle = name not in self._looking or self._looking[name].done()
            if stale and idle and (before is None or now - before > AGAIN_SECONDS):
                self._looked[name] = now
                self._looking[name] = begin(self._look(link))
        awaited = [self._looking[name] for name in fresh if name in self._looking]
        if awaited:
            await asyncio.wait(awaited, timeout=self._start_wait)

    @staticmethod
    async def _look(link: Link) -> None:
        # The link remembers why it failed.
        with suppress(ServerFailed):
            await link.connected()

    def tools(self, taken: Mapping[str, Tool]) -> dict[str, Tool]:
        """Return the accepted tools whose names are not in `taken`."""
        found: dict[str, Tool] = {name: server_tool(*owned) for name, owned in self._owned(taken).items()}
        with_resources = {link.name: link for link in self.links.values() if link.pin and link.pin.now.resources}
        if with_resources and RESOURCE not in taken:
            found[RESOURCE] = resource_tool(with_resources)
        return found

    def _owned(self, taken: Mapping[str, Tool]) -> dict[str, tuple[Link, Definition]]:
        """Return the accepted tools by their names for the model; a name belongs to the first server that has it."""
        found: dict[str, tuple[Link, Definition]] = {}
        for link, definition in self._accepted():
            name = tool_name(link.name, definition.name)
            if name not in taken and not self._of_another(name, link):
                found.setdefault(name, (link, definition))
        return found

    def _accepted(self) -> list[tuple[Link, Definition]]:
        pinned = ((link, link.pin.now.tools) for link in self.links.values() if link.pin is not None)
        return [(link, definition) for link, tools in pinned for definition in tools.values()]

    def _of_another(self, tool: str, link: Link) -> bool:
        """Return whether a tool's name has another server's prefix, to which other rules apply."""
        own = tool_name(link.name, "")
        others = (tool_name(name, "") for name in self.links if name != link.name)
        return any(tool.startswith(other) and len(other) > len(own) for other in others)

    def left_out(self, taken: Mapping[str, Tool]) -> list[str]:
        """Return messages about accepted tools that are unavailable because their names are taken."""
        owned = self._owned(taken)
        return [
            f"mcp server {link.name}: its tool {definition.name} is left out: its name is taken"
            for link, definition in self._accepted()
            if owned.get(tool_name(link.name, definition.name)) != (link, definition)
        ]

    def instructions(self) -> str:
        """Return the servers' accepted instructions."""
        return told_by({each.name: each.pin.now.instructions for each in self.links.values() if each.pin is not None})

    def news(self, taken: Mapping[str, Tool]) -> list[str]:
        """Return notices for the user: problems, changed offers and unavailable tools."""
        found = [self._unread] if self._unread else []
        for link in self.links.values():
            if link.problem:
                found.append(f"mcp server {link.name}: {link.problem}")
            elif link.pin is None:
                found.append(f"mcp server {link.name} has not answered yet: its tools are left out of this turn")
            if link.pin is not None and link.pin.changes():
                changed = ", ".join(link.pin.changes()[:5])
                found.append(
                    f"mcp server {link.name} has changed its offer since you accepted it ({changed}). The changes "
                    f"are left out until you review them with {self._around.pins.review(link.name)}"
                )
        return [*found, *self.left_out(taken)]

    def accept(self, name: str) -> None:
        """Accept the current offer of a server, from the next turn on; raises `ConfigError`."""
        link = self.links[name]
        if link.pin is None:
            raise ConfigError(f"{name} has offered nothing yet")
        self._around.pins.accept(link.key, link.pin)
        self._read_pins()

    async def look(self, name: str | None = None, *, closely: bool = False) -> list[Look]:
        """Inspect one server, or all of them."""
        links = [link for link in self.links.values() if name in (None, link.name)]
        return list(await asyncio.gather(*(look(link, closely=closely) for link in links)))

    async def log_in(self, name: str, show: Callable[[str], None]) -> str:
        """Log in to a server interactively; `show` receives the URL. Return the error message, or an empty string."""
        try:
            await self.links[name].log_in(show)
        except ServerFailed as error:
            return str(error)
        return ""

    async def prompt(self, name: str, prompt: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a server's prompt; raises `ServerFailed`."""
        return shown([message.content for message in await self.links[name].prompt(prompt, dict(arguments))])

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        for task in self._looking.values():
            task.cancel()
        await asyncio.gather(*(link.close() for link in self.links.values()))


def told_by(said: Mapping[str, str]) -> str:
    """Return the instructions of servers, each in a tag that its own text cannot close."""
    parts = [
        f'<server name="{escape(name)}">\n{escape(text, quote=False)}\n</server>' for name, text in said.items() if text
    ]
    return "What servers of tools say about their use:\n" + "\n".join(parts) if parts else ""
