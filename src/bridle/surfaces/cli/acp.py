"""`bridle acp`: an editor drives sessions over standard input and output, by the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bridle.errors import ConfigError
from bridle.surfaces.acp.connection import MOST_BYTES, RpcConnection
from bridle.surfaces.cli.commands import finish
from bridle.surfaces.cli.output import tell
from bridle.surfaces.cli.project import contains_home
from bridle.surfaces.cli.remote import Attach, SessionsPlace, TokenFile, attached

if TYPE_CHECKING:
    from bridle.runtime.editor_process import GivenServer
    from bridle.runtime.project import Backend
    from bridle.surfaces.acp.agent import OpenProject
    from bridle.surfaces.acp.requests import EditorServer


def acp(
    login: Annotated[
        bool, typer.Option("--login", help="Ask for a provider and its key on the terminal, and exit.")
    ] = False,
    attach: Attach = None,
    token_file: TokenFile = None,
) -> None:
    """Serve an editor over standard input and output (Agent Client Protocol, version 1).

    Editors start it themselves; see docs/editors.md for their settings.

    Example: bridle acp
    """
    SessionsPlace(attach, token_file).check()
    if login:
        _log_in()
        return
    if not _is_piped():
        raise ConfigError("`bridle acp` is started by an editor, with a pipe as standard input: see docs/editors.md")
    finish(_serve(attach or "", token_file))


def _is_piped() -> bool:
    mode = os.fstat(0).st_mode if sys.stdin is not None else 0
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _log_in() -> None:
    # Imported here: an editor that starts the agent asks for no key.
    from bridle.surfaces.cli.models import login

    tell("provider (such as anthropic, openai or openrouter): ", end="")
    provider = sys.stdin.readline().strip()
    if not provider:
        raise ConfigError("no provider was given")
    login(provider)


async def _serve(url: str, token_file: Path | None) -> None:
    # Imported here: an editor waits for the first answer, and `--login` needs none of this.
    from bridle import __version__
    from bridle.surfaces.acp.agent import EditorAgent

    logging.basicConfig(level=logging.WARNING, format="bridle: %(message)s")
    async with _streams() as connection, _projects(url, token_file) as open_project:
        check = _anywhere if url else _outside_home
        await EditorAgent(open_project, __version__, aborts=not url, check=check).serve(connection)
    tell("bridle acp: the editor disconnected")


def _anywhere(directory: Path) -> None:
    """Accept every directory: the server knows which ones it offers."""


def _outside_home(directory: Path) -> None:
    if contains_home(directory):
        raise ConfigError(f"{directory} contains your home directory: open the folder of a project")


@asynccontextmanager
async def _streams() -> AsyncIterator[RpcConnection]:
    """Connect standard input and output; everything else that is printed goes to standard error from now on."""
    loop = asyncio.get_running_loop()
    output = os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)
    reader = asyncio.StreamReader(limit=MOST_BYTES)
    source, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, output)
    for number in (signal.SIGINT, signal.SIGTERM):
        # The same as a client that leaves.
        loop.add_signal_handler(number, reader.feed_eof)
    try:
        yield RpcConnection(reader, asyncio.StreamWriter(transport, protocol, None, loop))
    finally:
        source.close()
        transport.close()


@asynccontextmanager
async def _projects(url: str, token_file: Path | None) -> AsyncIterator[OpenProject]:
    """Yield the function that opens a directory: on a server, or in this process."""
    if not url:
        # Imported here: with a server, none of it runs here.
        from bridle.runtime.editor_process import EditorProcess

        process = EditorProcess()
        try:
            yield lambda directory, servers: process.open(directory, [_given(each) for each in servers])
        finally:
            await process.close()
        return
    async with AsyncExitStack() as clients:
        opened: dict[Path, Backend] = {}

        async def connect(directory: Path, servers: Sequence[EditorServer]) -> Backend:
            for each in servers:
                tell(f"bridle acp: the MCP server {each.name} is not used: turns run on {url}, with its own servers")
            if directory not in opened:
                opened[directory] = await clients.enter_async_context(attached(url, token_file, str(directory)))
            return opened[directory]

        yield connect


def _given(server: EditorServer) -> GivenServer:
    # Imported here: with a server, it is not needed.
    from bridle.runtime.editor_process import GivenServer

    return GivenServer(
        name=server.name,
        command=(server.command, *server.args) if server.type == "stdio" else (),
        environment=tuple((pair.name, pair.value) for pair in server.env),
        url=server.url,
        is_sse=server.type == "sse",
        headers=tuple((pair.name, pair.value) for pair in server.headers),
    )
