"""`ServerApi`: operations about the server itself: its state, its counters, and the login of pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from bridle.core.access import Right
from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.credentials import page_cookie
from bridle.surfaces.server.native.operation import Operation
from bridle.surfaces.server.problems import Json, RequestRefused
from bridle.surfaces.server.routes import Guarded, client_of
from bridle.wire.native_answers import Login, PageKey, ServerState
from bridle.wire.native_requests import EmptyBody, ExchangeBody, NoQuery


class ServerApi:
    """Describes the server, and logs pages in."""

    def __init__(
        self, server: HttpServer, measured: Callable[[], dict[str, float]], state: Callable[[Right], ServerState]
    ) -> None:
        self._server = server
        self._measured = measured
        self._state = state

    async def state(self, request: Request, query: NoQuery, body: None) -> object:
        return self._state(client_of(request).right)

    async def new_login(self, request: Request, query: NoQuery, body: EmptyBody) -> object:
        client = client_of(request)
        return Login(await self._server.logins.new_code(client.name, client.right, client.digest))

    async def exchange(self, request: Request, query: NoQuery, body: ExchangeBody) -> object:
        found = await self._server.logins.exchange(body.code)
        if found is None:
            raise RequestRefused(403, "code", "this link was used or is too old: open a new one with `bridle web`")
        answer = Json(PageKey(found.header, found.right))
        answer.set_cookie(
            page_cookie(request.headers.get("host", "")),
            found.cookie,
            httponly=True,
            samesite="strict",
            secure=self._server.policy.is_secure,
        )
        return answer

    async def metrics(self, request: Request) -> Response:
        numbers = {**self._measured(), "bridle_server_followers": float(self._server.followers.number)}
        lines = [f"{name} {value:g}" for name, value in numbers.items()]
        return Response("\n".join([*lines, ""]), media_type="text/plain; version=0.0.4")

    def routes(self) -> list[Guarded]:
        """Return the routes outside the API's prefix."""
        return [Guarded("/metrics", self.metrics, right="view")]

    def operations(self) -> Sequence[Operation]:
        """Return the operations of this part of the API."""
        return [
            Operation(
                name="server",
                method="GET",
                path="/server",
                right="view",
                summary="Tell what this server is.",
                run=self.state,
                answer=ServerState,
            ),
            Operation(
                name="new_login",
                method="POST",
                path="/logins",
                right="view",
                summary="Make a code with which a page logs in once, with the right of the token.",
                run=self.new_login,
                body=EmptyBody,
                answer=Login,
                status=201,
            ),
            Operation(
                name="exchange",
                method="POST",
                path="/logins/exchange",
                right="open",
                summary="Exchange a code for a cookie and a header, which count only together.",
                run=self.exchange,
                body=ExchangeBody,
                answer=PageKey,
            ),
        ]
