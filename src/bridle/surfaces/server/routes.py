"""`Guarded`: a route that names the right it needs; the application takes no other routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bridle.core.access import Right, may
from bridle.surfaces.server.problems import problem

Endpoint = Callable[[Request], Awaitable[Response]]
Needed = Right | Literal["open"]


class Client(msgspec.Struct, frozen=True):
    """The client of a request, with its right."""

    name: str
    right: Right
    digest: str = ""
    """Digest of its secret; empty for the local socket."""
    is_local: bool = False
    """Whether it came through the local socket."""


CLIENT = "bridle.client"
"""Key in the scope of a request: its `Client`; missing without valid credentials."""


def client_of(request: Request) -> Client:
    """Return the client of a request to a route that is not open."""
    client = request.scope[CLIENT]
    assert isinstance(client, Client)
    return client


class Guarded(Route):
    """A route that answers 401 without a valid token, and 403 if the token's right does not suffice."""

    def __init__(self, path: str, endpoint: Endpoint, *, right: Needed, methods: Sequence[str] = ("GET",)) -> None:
        super().__init__(path, endpoint, methods=list(methods))
        self.right = right

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request if its client may use this route."""
        refusal = _refusal(scope.get(CLIENT), self.right)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await super().handle(scope, receive, send)


def without_token() -> Response:
    """Return the answer to a request without a valid token."""
    return problem(
        401,
        "a valid token is needed: make one on the server's machine with `bridle serve token new NAME`",
        "authorization",
        # Not Basic: browsers would ask for a password and keep it for other pages.
        {"WWW-Authenticate": 'Bearer realm="bridle"'},
    )


def _refusal(client: Client | None, needed: Needed) -> Response | None:
    if needed == "open":
        return None
    if client is None:
        return without_token()
    if may(client.right, needed):
        return None
    return problem(403, f"the token {client.name} may only view: this needs the right `{needed}`", "authorization")
