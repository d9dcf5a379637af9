"""`create_app`: the ASGI application of a server, made of guarded routes behind its access control."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp

from bridle.errors import BridleError
from bridle.surfaces.server.access import AccessControl, Logins, Policy
from bridle.surfaces.server.directories import Directories
from bridle.surfaces.server.held_grants import HeldGrants
from bridle.surfaces.server.limits import Followers
from bridle.surfaces.server.problems import Json, RequestRefused, on_crash, on_error, on_gone, on_http_error, on_refused
from bridle.surfaces.server.routes import CLIENT, Client, Guarded, without_token


async def never(directory: Path) -> bool:
    """Return False: commands of the directory run without a sandbox."""
    return False


@dataclass(slots=True, kw_only=True)
class HttpServer:
    """The state that the routes of all APIs share."""

    directories: Directories
    logins: Logins
    policy: Policy
    followers: Followers
    is_leaving: bool = False
    """Whether the server is stopping: it hands over its turns, and accepts nothing new."""
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when event streams must end."""

    is_sandboxed: Callable[[Path], Awaitable[bool]] = field(default=never)
    """Returns whether commands of a directory certainly run in a sandbox: the settings of each may switch it off."""
    held: HeldGrants = field(init=False)
    """Ends the streams and waits of revoked clients."""

    def __post_init__(self) -> None:
        self.held = HeldGrants(self.logins.holds)

    async def refuse_shell(self, client: Client, directory: Path) -> None:
        """Raise `RequestRefused` (403) if a person's shell command would come over TCP and run without a sandbox."""
        if not client.is_local and not await self.is_sandboxed(directory):
            raise RequestRefused(403, "command", "without a sandbox, shell commands are for the server's machine only")

    def refuse_when_leaving(self) -> None:
        """Raise `RequestRefused` (503) once the server has begun to stop."""
        if self.is_leaving:
            raise RequestRefused(503, "", "the server is stopping: ask again when it is back", {"Retry-After": "5"})


def create_app(
    server: HttpServer,
    routes: Sequence[Guarded],
    *,
    policy: Policy | None = None,
    unknown: Callable[[Request, HTTPException], Awaitable[Response]] = on_http_error,
) -> ASGIApp:
    """Return the application with the routes of its APIs; the first that fits answers.

    `policy` is that of a listener with rules of its own, such as the local socket. `unknown` answers paths and methods
    that no route has.
    """

    async def without_route(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if CLIENT not in request.scope:
            # Only clients with valid credentials learn which paths exist.
            return without_token()
        return await unknown(request, error)

    app = Starlette(
        routes=[Guarded("/health", _health, right="open"), *routes],
        exception_handlers={
            RequestRefused: on_refused,
            BridleError: on_error,
            HTTPException: without_route,
            ClientDisconnect: on_gone,
            Exception: on_crash,
        },
    )
    # A path with a slash too many is unknown, and not another path.
    app.router.redirect_slashes = False
    return AccessControl(app, server.logins, policy or server.policy)


async def _health(request: Request) -> Response:
    return Json({"status": "ok"})
