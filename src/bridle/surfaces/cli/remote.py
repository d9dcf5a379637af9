"""Opens the sessions of a command: those of this machine, or with `--attach` those of a server."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bridle.errors import BridleError, ConfigError, JournalError, TokenRefused
from bridle.runtime import Runtime
from bridle.runtime.project import Backend
from bridle.surfaces.cli.output import secret, tell

if TYPE_CHECKING:
    from bridle.client import ServerClient
    from bridle.client.address import ServerAddress
    from bridle.client.tokens import ServerTokens

Attach = Annotated[
    str | None, typer.Option(help="Use the sessions of the server at this address, such as http://localhost:4096.")
]
TokenFile = Annotated[Path | None, typer.Option(help="File with the token for --attach; only you may read it.")]


class SessionsPlace(NamedTuple):
    """Where the sessions of a command are: on this machine, or on a server."""

    url: str | None = None
    token_file: Path | None = None

    def check(self, *, trusted: bool = False) -> None:
        """Raise `ConfigError` for a token without a server, and for trust in the project of a server."""
        if self.url is None and self.token_file is not None:
            raise ConfigError("--token-file has no effect without --attach")
        if self.url is not None and trusted:
            raise ConfigError("--trust has no effect with --attach: run `bridle trust` on the server's machine")

    def opened(
        self, directory: Path | str = "", *, trusted: bool = False, pruning: bool = False, asks: bool = False
    ) -> AbstractAsyncContextManager[Backend]:
        """Open the sessions; `directory` is that of the project, on the server's machine if it is a server.

        With `asks`, a person is asked for a token that is missing.
        """
        if self.url is not None:
            return attached(self.url, self.token_file, str(directory), asks=asks)
        return _here(Path(directory), trusted=trusted, pruning=pruning)


def connections(backend: Backend, tell_of: Callable[[bool], None]) -> None:
    """Call a function when the server of a client is away, and when it is back."""
    listen = getattr(backend, "on_connection", None)
    if listen is not None:
        listen(tell_of)


@asynccontextmanager
async def _here(directory: Path, *, trusted: bool, pruning: bool) -> AsyncIterator[Backend]:
    runtime = Runtime.open(directory, trusted=trusted)
    try:
        yield runtime
    finally:
        # Neither may hide what the command has done.
        for last in (_pruned(runtime), runtime.close()) if pruning else (runtime.close(),):
            try:
                await last
            except (JournalError, OSError) as error:
                tell(f"bridle: {error}")


async def _pruned(runtime: Runtime) -> None:
    # Imported here because most commands delete nothing.
    from bridle.runtime.retention import prune_daily

    await prune_daily(runtime)


@asynccontextmanager
async def attached(
    url: str, token_file: Path | None = None, directory: str = "", *, asks: bool = False
) -> AsyncIterator[ServerClient]:
    """Open a client of a server. With `asks`, a person is asked for a token that is missing, and it is kept.

    Raises `ConfigError`, and `ServerAway`.
    """
    # Imported here because commands without --attach need no client.
    from bridle.client.address import address_of, local_address
    from bridle.client.client import open_client
    from bridle.client.tokens import ServerTokens

    address, tokens = address_of(url), ServerTokens()
    given = tokens.given(token_file)
    local = local_address(address) if not given else None
    if given or local is not None or address.socket is not None:
        client = await open_client(local or address, given, directory)
    else:
        client = await _introduced(
            address, tokens, directory, asks=asks and sys.stdin is not None and sys.stdin.isatty()
        )
    try:
        yield client
    finally:
        await client.close()


async def _introduced(address: ServerAddress, tokens: ServerTokens, directory: str, *, asks: bool) -> ServerClient:
    """Open a client with the stored token; ask for a missing or refused one, and keep it once it is accepted."""
    from bridle.client.client import open_client

    if stored := tokens.stored(address.origin):
        try:
            return await open_client(address, stored, directory)
        except TokenRefused as error:
            if not asks:
                raise
            tell(f"bridle: {error}")
            tokens.forget(address.origin)
    if not asks:
        way = f"set BRIDLE_TOKEN, give --token-file, or run `bridle attach {address.origin}` once, which asks for it"
        if address.is_here:
            found = (
                f"no server of yours runs at {address.origin} on this machine, and there is no token for another one"
            )
            raise ConfigError(f"{found}: start yours with `bridle serve`, or {way}")
        raise ConfigError(f"there is no token for {address.origin}: {way}")
    tell(f"Make a token on the server's machine: bridle serve token new {os.uname().nodename}")
    token = secret(f"token for {address.origin}").strip()
    client = await open_client(address, token, directory)
    try:
        where = tokens.store(address.origin, token)
    except BridleError:
        await client.close()
        raise
    tell("The token is kept in the keyring." if where == "keyring" else "The token is kept in a file of yours alone.")
    return client
