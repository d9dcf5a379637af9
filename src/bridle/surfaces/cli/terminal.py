"""`bridle` without a command: start the terminal application."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from bridle.errors import ConfigError


def open_terminal() -> None:
    """Open the newest interrupted session of this directory, or a new one. Raises `ConfigError` without a terminal."""
    # Imported here, like everything below, because it takes as long as all other imports together.
    from bridle.runtime.inside_call import leave_terminal

    leave_terminal()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError("there is no terminal here: use `bridle run`, or see `bridle --help`")
    from bridle.surfaces.cli.output import tell_logged
    from bridle.surfaces.cli.project import ask_for_trust, project_here

    tell_logged()
    ask_for_trust(project_here())
    sys.exit(asyncio.run(_open()))


async def _open() -> int:
    from bridle.runtime import Runtime
    from bridle.surfaces.tui.app import BridleApp

    async with Runtime.open(Path()) as runtime:
        left = await runtime.interrupted()
        app = BridleApp(runtime, left[0] if left else None)
        await app.run_async()
    return app.return_code or 0
