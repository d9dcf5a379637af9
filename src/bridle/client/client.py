"""`ServerClient`: the sessions and a project of a Bridle server, for programs, and for all surfaces with `--attach`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from bridle.client.address import ServerAddress, address_of, is_own, local_address
from bridle.client.connection import PATIENCE_SECONDS, ServerConnection
from bridle.client.remote_project import RemoteProject
from bridle.client.remote_record import RemoteRecord
from bridle.client.remote_sessions import RemoteSessions
from bridle.client.tokens import ServerTokens
from bridle.errors import ConfigError, ServerAway
from bridle.runtime.project import Backend
from bridle.runtime.sessions import Sessions
from bridle.values.argument_kinds import checked_methods
from bridle.wire.native_answers import AgentList, ProjectState, ServerState
from bridle.wire.native_requests import DirectoryQuery


@checked_methods(Sessions, but=("messages",))
class ServerClient(RemoteRecord, RemoteSessions, RemoteProject):
    """Sessions on a server. It implements `Sessions` and `Project`, and reconnects automatically.

    `connect` opens one. All methods may raise `ServerAway` besides what the protocols say.
    """

    def __init__(
        self, connection: ServerConnection, server: ServerState, state: ProjectState, agents: AgentList
    ) -> None:
        self._connection = connection
        self.server = server
        """The server as it was when the client was opened, with the right of the token."""
        self._state = state
        self._agents = agents
        self.directory = Path(state.directory)

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._connection.address.shown

    def on_connection(self, listener: Callable[[bool], object]) -> None:
        """Call a function with False when the server has gone, and with True when it is back."""
        self._connection.on_change = listener

    async def close(self) -> None:
        """Close the connections; it ends no turn. Idempotent."""
        await self._connection.close()


def _is_backend(client: ServerClient) -> Backend:
    """Make the type checker verify that `ServerClient` implements `Backend`."""
    return client


@asynccontextmanager
async def connect(
    url: str, *, token: str = "", directory: str | Path = "", patience: float = PATIENCE_SECONDS
) -> AsyncIterator[ServerClient]:
    """Open a client of the server at `url`, which closes with the context.

    Without `token` it is that of `BRIDLE_TOKEN`, or the one stored for the server by `bridle attach`; a server of this
    user on this machine needs none. `directory` is one that the server offers, by default its first. `patience` is how
    long requests are repeated while the server is away. Raises `ConfigError` for a wrong address, token or directory,
    and `ServerAway` if the server cannot be reached.
    """
    address = address_of(url)
    tokens = ServerTokens()
    token = token or tokens.given()
    if not token and (local := local_address(address)) is not None:
        address = local
    client = await open_client(address, token or tokens.stored(address.origin), str(directory))
    client._connection.patience = patience
    try:
        yield client
    finally:
        await client.close()


async def open_client(address: ServerAddress, token: str, directory: str = "") -> ServerClient:
    """Return a client, to be closed by the caller. Raises as `connect` does; nothing is repeated."""
    if address.socket is not None and not is_own(address.socket):
        raise ConfigError(f"{address.shown}: no server of yours listens there: start one with `bridle serve`")
    connection = ServerConnection(address, token if address.socket is None else "", patience=0.0)
    try:
        server = await connection.ask("GET", "/server", ServerState)
        query = DirectoryQuery(directory=directory or _default(address, server))
        state = await connection.ask("GET", "/project", ProjectState, query=query)
        agents = await connection.ask("GET", "/agents", AgentList, query=query)
    except ServerAway as error:
        await connection.close()
        raise ServerAway(f"{error}; is `bridle serve` running there?") from error
    except BaseException:
        await connection.close()
        raise
    connection.patience = PATIENCE_SECONDS
    return ServerClient(connection, server, state, agents)


def _default(address: ServerAddress, server: ServerState) -> str:
    """Return the current directory if a server on this machine serves it; otherwise nothing, for its first one."""
    here = Path.cwd()
    return str(here) if address.is_here and any(here.is_relative_to(each) for each in server.directories) else ""
