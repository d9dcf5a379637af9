"""The servers of tools of a runtime, where its settings name any."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.tackroom import SettingsTackRoom

if TYPE_CHECKING:
    from bridle.mcp.servers import Servers


def servers_for(room: SettingsTackRoom, directory: Path, environment: Mapping[str, str]) -> Servers | None:
    """Give the room the servers of its settings; None if there are none."""
    if not room.settings.mcp:
        return None
    # Loaded only where there are servers.
    from bridle.config.load import data_home
    from bridle.mcp.servers import Servers

    room.toolbox.more = servers = Servers(
        room.settings,
        directory=directory,
        environment=environment,
        known=room.commands_environment() or environment,
        shelter=room.shelter,
        home=data_home(environment),
        seams=room.seams,
    )
    return servers
