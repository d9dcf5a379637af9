"""The servers of tools of a runtime, where its settings name any."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.assembly.turns import SettingsTurns

if TYPE_CHECKING:
    from bridle.mcp.servers import Servers


def servers_for(turns: SettingsTurns, directory: Path, environment: Mapping[str, str]) -> Servers | None:
    """Give the room the servers of its settings; None if there are none."""
    if not turns.settings.mcp:
        return None
    # Loaded only where there are servers.
    from bridle.config.load import data_home
    from bridle.mcp.servers import Servers

    turns.toolset.more = servers = Servers(
        turns.settings,
        directory=directory,
        environment=environment,
        known=turns.commands_environment() or environment,
        commands=turns.commands,
        home=data_home(environment),
        seams=turns.seams,
    )
    return servers
