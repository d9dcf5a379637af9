"""`Connection`: the client of one MCP server, in a task of its own; lists tools, counts messages, never reconnects.

Its own task holds the client, because the same task must open and close it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mcp_types
import msgspec
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

from bridle.errors import ServerFailed
from bridle.mcp.accepted_tools import Definition, Offer
from bridle.mcp.transport import OutputWatch, Streams
from bridle.seams import begin

MOST_MESSAGES = 2_000
"""Maximum number of messages from a server per second."""
MOST_EARLY = 500
"""Maximum number of messages before the connection is initialized."""
MOST_PAGES = 20
LIST_SECONDS = 30.0
GONE = 404
END_SECONDS = 3.0

# Bridle reports the library's errors where they matter; its log would print tracebacks to the terminal.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

Open = Callable[[OutputWatch], AbstractAsyncContextManager[Streams]]


class Connection:
    """A connection to one server, for use in one event loop. `close` must be called, and is idempotent."""

    def __init__(self, open: Open, changed: Callable[[], None], root: Path) -> None:
        """`changed` is called when the server announces changed tools; `root` is the folder announced to the server."""
        self._open = open
        self._root = root
        self._changed = changed
        self._came = 0
        self._second = 0
        self._early = 0
        self._refused = 0
        self.failure = ""
        """Why the connection ended, if it did."""
        self._over = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = begin(self._hold())

    @property
    def alive(self) -> bool:
        return not self._task.done() and not self._over.is_set()

    async def over(self) -> None:
        """Wait until the connection has ended."""
        await self._over.wait()

    def gone(self, why: str = "it has ended") -> None:
        """End the connection because the server has ended or misbehaves. The first reason is kept."""
        self.failure = self.failure or why
        self._over.set()

    async def client(self) -> Client:
        """Wait for the connection and return the client; raises `ServerFailed`."""
        await asyncio.wait([self._client])
        failure = self._client.exception()
        if failure is not None:
            raise ServerFailed(told(failure)) from failure
        return self._client.result()

    async def _hold(self) -> None:
        try:
            async with Client(
                self._open(self),
                message_handler=self._message,
                list_roots_callback=self._roots,
                client_info=mcp_types.Implementation(name="bridle", version=version("bridle")),
                cache=None,
            ) as client:
                self._client.set_result(client)
                heeding = begin(self._heed(client))
                try:
                    await self._over.wait()
                finally:
                    heeding.cancel()
                    await asyncio.wait([heeding])
        except Exception as error:
            # No failure of a server or the library may end the turn.
            refused = f" (HTTP {self._refused})" if self._refused else ""
            self.failure = self.failure or told(error) + refused
        finally:
            self._over.set()
            if not self._client.done():
                self._client.set_exception(ServerFailed(self.failure or "it was closed"))
            # Mark the exception as retrieved, in case nothing awaits it.
            self._client.exception()

    async def _heed(self, client: Client) -> None:
        """Subscribe to tool changes. Newer servers require it; older ones send notifications unasked."""
        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with client.listen(tools_list_changed=True) as heard:
                async for _ in heard:
                    self.came()
                    self._changed()

    async def _roots(self, context: Any) -> mcp_types.ListRootsResult:
        return mcp_types.ListRootsResult.model_validate({"roots": [{"uri": self._root.as_uri()}]})

    async def _message(self, message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._changed()

    def refused(self, status: int) -> None:
        self._refused = status
        if status == GONE and self._client.done():
            self.gone("its session is over")

    def came(self, weight: int = 1) -> bool:
        """Count a message from the server; too many end the connection. Return whether it has ended."""
        second = int(asyncio.get_running_loop().time())
        self._came = self._came + weight if second == self._second else weight
        self._second = second
        self._early += 0 if self._client.done() else weight
        if self._came > MOST_MESSAGES:
            self.gone(f"it sent more than {MOST_MESSAGES} messages in a second")
        elif self._early > MOST_EARLY:
            self.gone(f"it sent more than {MOST_EARLY} messages before it was asked for anything")
        return self._over.is_set()

    async def offer(self) -> tuple[Offer, bool]:
        """Return the server's current offer, and whether it has more pages than were read; raises `ServerFailed`."""
        client = await self.client()
        try:
            async with asyncio.timeout(LIST_SECONDS):
                tools: dict[str, Definition] = {}
                cursor: str | None = None
                for _ in range(MOST_PAGES):
                    page = await client.list_tools(cursor=cursor)
                    for tool in page.tools:
                        tools[tool.name] = Definition(tool.name, tool.description or "", dict(tool.input_schema))
                    cursor = page.next_cursor
                    if cursor is None:
                        break
                more = cursor is not None
        except Exception as error:
            # The library raises many kinds of errors for bad input; each means that the tools cannot be listed.
            raise ServerFailed(f"its tools cannot be listed: {self.failure or told(error)}") from error
        offer = Offer(tools, client.instructions or "", client.server_capabilities.resources is not None)
        # A round trip through JSON makes it comparable with the stored offer.
        return msgspec.json.decode(msgspec.json.encode(offer), type=Offer), more

    async def close(self) -> None:
        self._over.set()
        if not self._client.done():
            # The task does not wait for the end yet.
            self._task.cancel()
        # A server that does not end delays nothing: its process has a supervisor that ends it.
        await asyncio.wait([self._task], timeout=END_SECONDS)
        self._task.cancel()
        await asyncio.wait([self._task], timeout=END_SECONDS)


def told(error: BaseException) -> str:
    """Return a one-line error message, unwrapped from the exception groups of the library."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    text = error.message if isinstance(error, MCPError) else str(error)
    return " ".join(text.split())[:500] or type(error).__name__
