"""The MCP servers of a runtime, from its settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bridle.assembly.command_environment import CommandEnvironment
from bridle.config.settings import Settings
from bridle.seams import Seams

if TYPE_CHECKING:
    from bridle.mcp.servers import Servers


def servers_for(settings: Settings, commands: CommandEnvironment, directory: Path, seams: Seams) -> Servers | None:
    """Return the configured MCP servers; None if there are none."""
    if not settings.mcp:
        return None
    # Imported only if there are servers.
    from bridle.config.load import data_home
    from bridle.mcp.accepted_tools import AcceptedTools
    from bridle.mcp.server_link import Surroundings
    from bridle.mcp.servers import Servers

    home = data_home(commands.environment)
    around = Surroundings(
        directory=directory,
        environment=commands.environment,
        known=commands.variables() or commands.environment,
        commands=commands,
        pins=AcceptedTools(home / "mcp.json"),
        seams=seams,
        auth=home / "mcp-auth.json",
    )
    return Servers(settings, around)
