"""`ServerConnection`: typed requests to the native API of a server, repeated while it restarts if that is harmless."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from bridle.client.address import ServerAddress, short_path
from bridle.client.failures import failure_of
from bridle.errors import ConfigError, JournalFailed, NoSuchSession, ServerAway

Answer = TypeVar("Answer")
Repeats = Literal["always", "unsent"]
"""When a request is sent again: also if the server may have done it already, or only if it cannot have."""

PREFIX = "/bridle"
CONNECT_SECONDS = 10.0
SILENT_SECONDS = 60.0
"""A server that sends nothing for longer than this, not even heartbeats, counts as dead."""
PATIENCE_SECONDS = 300.0
"""How long a client waits for an unreachable server."""
FIRST_DELAY_SECONDS = 0.1
LONGEST_DELAY_SECONDS = 2.0
BUSY, LEAVING, BEHIND_PROXY = 429, 503, (502, 504)
"""The server refuses a request for now; it does so because it stops; or a proxy does not know what it did."""
PENDING = 202
TOKEN = re.compile(r"[!-~]*")


class Lost(Exception):
    """The server cannot be reached now, or refuses requests; the text says why."""


class Busy(Lost):
    """The server is there, and refuses requests for a moment, because there are too many."""


class ServerConnection:
    """The HTTP connections to one server. Use it in one event loop; `close` it at the end."""

    def __init__(self, address: ServerAddress, token: str, *, patience: float = PATIENCE_SECONDS) -> None:
        """Raises `ConfigError` for a token that cannot be one."""
        if not TOKEN.fullmatch(token):
            # The request would fail, with the token in its error.
            raise ConfigError("the token has spaces or characters that no token has: copy it again")
        self.address = address
        self.patience = patience
        self._folder = os.open(address.socket.parent, os.O_RDONLY | os.O_CLOEXEC) if address.socket is not None else -1
        self._client = httpx2.AsyncClient(
            base_url=f"{address.origin}{PREFIX}",
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=httpx2.Timeout(SILENT_SECONDS, connect=CONNECT_SECONDS, pool=None),
            limits=httpx2.Limits(max_connections=None),
            transport=self._transport(),
            # The proxy of the environment would also get requests to this machine; its certificates count there too.
            mounts=dict.fromkeys(("http://", "https://", "all://")) if address.is_here else None,
        )
        self._is_away = False
        self.on_change: Callable[[bool], object] = _ignored
        """Called with False when the server has gone, and with True when it is back."""

    def _transport(self) -> httpx2.AsyncHTTPTransport | None:
        path = self.address.socket
        return httpx2.AsyncHTTPTransport(uds=short_path(self._folder, path)) if path is not None else None

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        await self._client.aclose()
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    async def ask(
        self,
        method: str,
        path: str,
        answer: type[Answer],
        *,
        query: msgspec.Struct | None = None,
        body: msgspec.Struct | bytes | None = None,
        repeats: Repeats = "always",
    ) -> Answer:
        """Send a request and return its typed answer; raises as a `Runtime` does, and `ServerAway`."""
        response = checked(await self.send(method, path, query=query, body=body, repeats=repeats))
        return decoded(response, answer)

    async def ask_again(self, path: str, answer: type[Answer], *, query: msgspec.Struct) -> Answer:
        """Repeat a request until the server has its result."""
        while True:
            response = checked(await self.send("POST", path, query=query))
            if response.status_code != PENDING:
                return decoded(response, answer)

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: msgspec.Struct | None = None,
        body: msgspec.Struct | bytes | None = None,
        repeats: Repeats = "always",
    ) -> httpx2.Response:
        """Send a request and return the answer with any status; raises `ServerAway`."""
        content = body if isinstance(body, bytes) else encoded(body) if body is not None else None

        async def once() -> httpx2.Response:
            response = await self._client.request(method, path, params=parameters(query), content=content)
            refuse_later(response, repeats)
            return response

        return await self._patiently(once, repeats)

    @asynccontextmanager
    async def stream(self, path: str, last: int) -> AsyncIterator[httpx2.Response]:
        """Open a stream behind an entry, once; raises `Lost`, and as a `Runtime` does."""
        try:
            async with self._client.stream("GET", path, headers={"Last-Event-ID": str(last)}) as response:
                if response.status_code != 200:
                    await response.aread()
                    refuse_later(response, "always")
                    checked(response)
                self.tell(here=True)
                yield response
        except httpx2.TransportError as error:
            raise Lost(words_of(error)) from error

    async def _patiently(self, once: Callable[[], Awaitable[httpx2.Response]], repeats: Repeats) -> httpx2.Response:
        waiting = Patience(self)
        while True:
            try:
                response = await once()
            except (httpx2.ConnectError, httpx2.ConnectTimeout, Lost) as error:
                await waiting.pause(error)
            except httpx2.TransportError as error:
                if repeats == "unsent":
                    raise ServerAway(
                        f"{self.address.shown}: the connection was lost ({words_of(error)}), and it is not known "
                        "whether the request was carried out: check, and repeat it if not"
                    ) from error
                await waiting.pause(error)
            except (httpx2.InvalidURL, UnicodeError) as error:
                raise ConfigError(f"{self.address.shown}: the request cannot be sent: {error}") from error
            else:
                self.tell(here=True)
                return response

    def tell(self, *, here: bool) -> None:
        """Report that the server has gone, or is back."""
        if here is self._is_away:
            self._is_away = not here
            self.on_change(here)


class Patience:
    """The pauses between attempts to reach a server; they grow, and end with `ServerAway`."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self._began = 0.0
        self._delay = FIRST_DELAY_SECONDS

    async def pause(self, why: Exception) -> None:
        """Return after a while; raises `ServerAway` once the client's patience is over."""
        now = asyncio.get_running_loop().time()
        self._began = self._began or now
        if now - self._began >= self._connection.patience:
            raise ServerAway(f"{self._connection.address.shown}: the server cannot be reached: {words_of(why)}")
        if not isinstance(why, Busy):
            self._connection.tell(here=False)
        await asyncio.sleep(self._delay)
        self._delay = min(self._delay * 2, LONGEST_DELAY_SECONDS)

    def succeeded(self) -> None:
        """Reset the pauses: the server has answered."""
        self._began, self._delay = 0.0, FIRST_DELAY_SECONDS


def checked(response: httpx2.Response) -> httpx2.Response:
    """Return an answer; raises the exception that an error status stands for."""
    if response.status_code >= 300:
        raise failure_of(response.status_code, response.content)
    return response


def decoded(response: httpx2.Response, answer: type[Answer]) -> Answer:
    """Return the typed content of an answer; raises `ServerAway` for one of another program or version."""
    try:
        return msgspec.json.decode(response.content, type=answer)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ServerAway(
            f"the answer does not fit this version of Bridle ({error}): use the version of the server"
        ) from error


def encoded(body: msgspec.Struct) -> bytes:
    """Return a body as JSON; raises `ConfigError` for values that JSON does not have."""
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"this cannot be sent: {error}") from error


def parameters(query: msgspec.Struct | None) -> dict[str, Any]:
    """Return the parameters of an address, without the empty ones."""
    given = msgspec.structs.asdict(query) if query is not None else {}
    return {name: value for name, value in given.items() if value not in ("", None)}


def session_path(session: str, rest: str = "") -> str:
    """Return the path of a session; raises `NoSuchSession` for what cannot be an id."""
    if not isinstance(session, str) or session in ("", ".", ".."):
        raise NoSuchSession(f"there is no session {session}")
    return f"/sessions/{segment(session)}{rest}"


def segment(id: str) -> str:
    """Return an id as one segment of a path."""
    return quote(id, safe="", errors="replace")


def words_of(error: Exception) -> str:
    """Return the text of an error."""
    return str(error) or type(error).__name__


def refuse_later(response: httpx2.Response, repeats: Repeats) -> None:
    """Raise `Lost` for a refusal that will pass: the request was not carried out, or may be carried out twice."""
    status = response.status_code
    if status == BUSY:
        raise Busy("there are too many requests")
    stops = status == LEAVING and not isinstance(failure_of(status, response.content), JournalFailed)
    if stops or (status in BEHIND_PROXY and repeats == "always"):
        raise Lost(f"it answers {status}")


def _ignored(here: bool) -> None:
    return
