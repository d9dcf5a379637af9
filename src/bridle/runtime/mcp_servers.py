"""`RuntimeServers`: creates the MCP `Servers` of a runtime, one group for all agents and one for each agent's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.assembly.command_environment import CommandEnvironment
from bridle.config.settings import McpServer
from bridle.runtime.config import RuntimeConfig
from bridle.seams import Seams

if TYPE_CHECKING:
    from bridle.mcp.servers import Servers


class RuntimeServers:
    """All MCP servers of a runtime."""

    def __init__(self, config: RuntimeConfig, commands: CommandEnvironment, directory: Path, seams: Seams) -> None:
        self.shared: Servers | None = None
        """Servers for all agents; None if there are none."""
        self.private: dict[str, Servers] = {}
        """Servers for single agents, by the agent's name."""
        settings, private, user = config.settings, config.private_servers, config.user
        servers = {name: each for name, each in settings.mcp.items() if isinstance(each, McpServer)}
        if not servers and not private:
            return
        # Imported only if there are servers.
        from bridle.mcp.accepted_tools import AcceptedTools
        from bridle.mcp.server_link import Surroundings
        from bridle.mcp.servers import Servers

        around = Surroundings(
            directory=directory,
            environment=commands.environment,
            known=commands.variables() or commands.environment,
            commands=commands,
            pins=user.pins if user.pins is not None else AcceptedTools(),
            seams=seams,
            auth=user.logins,
        )
        wait = {name: each for name, each in settings.mcp.items() if name not in servers}
        self.shared = Servers(settings.mcp, around) if servers else None
        self.private = {agent: Servers({**wait, **own}, around) for agent, own in private.items()}

    def all(self) -> Iterator[Servers]:
        """Yield the servers for all agents and those of each agent."""
        if self.shared is not None:
            yield self.shared
        yield from self.private.values()

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        for servers in self.all():
            await servers.close()
