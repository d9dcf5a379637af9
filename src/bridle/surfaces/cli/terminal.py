"""`bridle` without a command: opens a session in the terminal application, here or on a server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bridle.errors import ConfigError
from bridle.surfaces.cli import completion

if TYPE_CHECKING:
    from bridle.runtime.project import Backend
    from bridle.surfaces.cli.remote import SessionsPlace

Continue = Annotated[bool, typer.Option("-c", "--continue", help="Open this directory's last session.")]
Session = Annotated[
    str,
    typer.Option(
        "-s",
        "--session",
        help="Open the session with this id or beginning of an id.",
        autocompletion=completion.sessions,
    ),
]
ChosenModel = Annotated[
    str, typer.Option("-m", "--model", help="Use this model, as PROVIDER/MODEL.", autocompletion=completion.models)
]
ChosenAgent = Annotated[str, typer.Option("--agent", help="Use this agent.", autocompletion=completion.agents)]
FirstPrompt = Annotated[str, typer.Option("--prompt", help="Send this prompt at the start.")]


class TerminalStart(NamedTuple):
    """Which session to open in the terminal application, and how."""

    session: str = ""
    last: bool = False
    model: str = ""
    agent: str = ""
    prompt: str = ""

    def check(self, otherwise: str) -> None:
        """Raise `ConfigError` for flags that exclude each other, and without a terminal."""
        if self.session and self.last:
            raise ConfigError("give --session or --continue, not both")
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise ConfigError(f"there is no terminal here: use {otherwise}")


def open_terminal(directory: str, opening: TerminalStart, attach: str = "") -> None:
    """Open a session of a directory, or with `attach` one of a server. Raises `ConfigError` without a terminal."""
    # Imported here, like everything below, because it takes as long as all other imports together.
    from bridle.runtime.inside_call import leave_terminal, refuse_inside_call

    if attach:
        refuse_inside_call("--attach")
    leave_terminal()
    opening.check("`bridle run`, or see `bridle --help`")
    from bridle.surfaces.cli.output import tell_logged
    from bridle.surfaces.cli.project import ask_for_trust, existing, project_here
    from bridle.surfaces.cli.remote import SessionsPlace

    tell_logged()
    import asyncio

    if attach:
        sys.exit(asyncio.run(show(SessionsPlace(attach), directory, opening)))
    folder = existing(Path(directory).expanduser()) if directory else project_here()
    ask_for_trust(folder)
    sys.exit(asyncio.run(show(SessionsPlace(), str(folder), opening)))


async def show(place: SessionsPlace, directory: str, opening: TerminalStart) -> int:
    """Show a session until the person leaves; return the exit status."""
    from contextlib import AsyncExitStack

    from bridle.runtime.terminal_settings import own_keys
    from bridle.surfaces.cli.output import tell
    from bridle.surfaces.cli.remote import connections
    from bridle.surfaces.cli.terminal_hosts import CommandHost, way_back
    from bridle.surfaces.tui.app import BridleApp
    from bridle.surfaces.tui.host import StartChoices

    keys = own_keys()
    async with AsyncExitStack() as opened:
        backend = await opened.enter_async_context(place.opened(directory, asks=True))
        host = CommandHost(keys, place, opened)
        host.know(backend)
        choices = StartChoices(opening.agent or None, opening.model or None, opening.prompt)
        session = await _wanted(backend, opening)
        app = BridleApp(backend, session, host, choices)
        connections(backend, app.tell_connection)
        await app.run_async()
        if app.chat.begun:
            tell(way_back(app.chat.id_of_session, place))
    return app.return_code or 0


async def _wanted(backend: Backend, opening: TerminalStart) -> str | None:
    """Return the session to open: the named one, the last one, or the newest interrupted one; None for a new one."""
    from bridle.runtime.sessions import MOST_LOOKED_AT
    from bridle.surfaces.cli.session_ids import named_session

    if opening.session:
        found = await named_session(backend, opening.session)
        await backend.load(found)
        return found
    if opening.last:
        return await backend.last_session("--continue: ")
    if opening.prompt:
        return None
    return next(iter(await backend.interrupted(most=MOST_LOOKED_AT)), None)
