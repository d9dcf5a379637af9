"""`bridle attach`: opens the terminal application on the sessions of a server."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from bridle.errors import ConfigError
from bridle.surfaces.cli.output import tell_logged
from bridle.surfaces.cli.remote import SessionsPlace
from bridle.surfaces.cli.terminal import ChosenAgent, ChosenModel, Continue, FirstPrompt, Session, TerminalStart, show


def attach(
    url: Annotated[str, typer.Argument(help="Address of the server; without it, the one that runs here.")] = "",
    session: Session = "",
    continue_last: Continue = False,
    model: ChosenModel = "",
    agent: ChosenAgent = "",
    prompt: FirstPrompt = "",
    dir: Annotated[str, typer.Option(help="Project directory on the server; without it, the first served.")] = "",
    token_file: Annotated[Path | None, typer.Option(help="File with the token; only you may read it.")] = None,
) -> None:
    """Open the terminal application on the sessions of a server. Leaving it ends no turn.

    The token comes from --token-file, from BRIDLE_TOKEN, or from an earlier `bridle attach`.
    Your own server on this machine needs none.

    Example: bridle attach http://localhost:4096
    """
    opening = TerminalStart(session, continue_last, model, agent, prompt)
    opening.check("`bridle run --attach URL`")
    tell_logged()
    sys.exit(asyncio.run(show(SessionsPlace(url or _only_server(), token_file), dir, opening)))


def _only_server() -> str:
    """Return the local address of the one server that runs here; raises `ConfigError` for none and for several."""
    from bridle.client.address import SOCKET
    from bridle.surfaces.cli.serve_process import running_servers, state_of

    found = running_servers()
    if not found:
        raise ConfigError("no server of yours runs on this machine: name one, as in `bridle attach https://HOST`")
    if len(found) > 1:
        addresses = ", ".join(state_of(path).address for path in found)
        raise ConfigError(f"several servers run on this machine: name one of {addresses}")
    return f"{SOCKET}{found[0]}"
