"""`Link`: one MCP server, connected on demand; limits restarts, sandboxes the command, refuses changed tools."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.config.settings import McpServer
from bridle.errors import ConfigError, ServerFailed
from bridle.mcp.accepted_tools import AcceptedTools, Definition, Pin, key_of
from bridle.process.containment import Containment, contain
from bridle.process.sandbox import Openings
from bridle.seams import Seams, begin, in_thread
from bridle.tools.bash import NO_NETWORK
from bridle.workspace.files import located
from bridle.workspace.substitution import filled, filled_in

if TYPE_CHECKING:
    from bridle.mcp.connection import Connection
    from bridle.mcp.transport import Started

MOST_STARTS = 4
STARTS_SECONDS = 300.0
"""Period in which a server that keeps ending may be started `MOST_STARTS` times."""
CONNECT_SECONDS = 30.0
LOGIN_SECONDS = 330.0
AFTER_CHANGE_SECONDS = 0.2
SHOWN_COMPLAINTS = 600


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """The environment shared by all servers of a runtime."""

    directory: Path
    environment: Mapping[str, str]
    """Variables for substitution in settings."""
    known: Mapping[str, str]
    """The part of `environment` that commands receive."""
    commands: Containment
    pins: AcceptedTools
    seams: Seams
    auth: Path | None
    """The file with the tokens of servers; None means that no server is logged in to."""


class Link:
    """One configured server. See `Servers`."""

    def __init__(self, name: str, server: McpServer, around: Surroundings) -> None:
        self.name = name
        self.server = server
        self.key = key_of(name, server, around.directory)
        self.problem = ""
        """The last problem with this server; empty if there is none."""
        self.pin: Pin | None = None
        self._around = around
        self._connection: Connection | None = None
        self._started: Started | None = None
        self._starts: list[float] = []
        self._show: Callable[[str], None] | None = None
        self._connecting = asyncio.Lock()
        self._says_changed = False
        self._secrets: set[str] = set()
        """Substituted values, which are removed from all displayed text."""
        self._taking: asyncio.Task[None] | None = None

    async def connected(self) -> Connection:
        """Connect unless connected, and compare the offer with the accepted one; raises `ServerFailed`."""
        async with self._connecting:
            if self._connection is not None and self._connection.alive:
                return self._connection
            try:
                await self._let_go()
                async with asyncio.timeout(CONNECT_SECONDS if self._show is None else LOGIN_SECONDS):
                    return await self._connect()
            except TimeoutError:
                await self._fail(f"it did not answer within {CONNECT_SECONDS:g} s")
            except ServerFailed as error:
                await self._fail(str(error))
            except Exception as error:
                # The settings, the system and the library raise many kinds of errors: each is reported, none is lost.
                await self._fail(f"it cannot be started: {error}")
            except asyncio.CancelledError:
                # Its offer was not compared with the accepted one, so the connection must not be used.
                await asyncio.shield(self._let_go())
                raise
            raise ServerFailed(self.problem)

    @property
    def complaints(self) -> str:
        """The end of its command's stderr."""
        return self._without_secrets(self._started.complaints) if self._started is not None else ""

    async def log_in(self, show: Callable[[str], None]) -> None:
        """Log in interactively; `show` receives the URL to open. Raises `ServerFailed`."""
        self._show = show
        try:
            await self._let_go()
            await self.connected()
        finally:
            self._show = None

    def log_out(self) -> bool:
        """Delete the stored login; return False if there was none."""
        from bridle.mcp.login import Tokens

        if self._around.auth is None:
            return False
        return Tokens(self._around.auth, self.key, self.server, self._around.seams.clock).forget()

    async def _connect(self) -> Connection:
        now = self._around.seams.clock.monotonic()
        self._starts = [start for start in self._starts if now - start < STARTS_SECONDS]
        if len(self._starts) == MOST_STARTS:
            raise ServerFailed(f"it was started {MOST_STARTS} times within {STARTS_SECONDS:g} s and ended each time")
        self._starts.append(now)
        # Importing takes a second: off the event loop, and only if a server is used.
        await in_thread(lambda: import_module("bridle.mcp.connection"))
        from bridle.mcp.connection import Connection

        self._connection = Connection(self._way(), self._changed, self._around.directory)
        await self._take(self._connection)
        return self._connection

    async def _fail(self, problem: str) -> None:
        complaints = self.complaints.strip()
        await self._let_go()
        said = f"; it said: …{complaints[-SHOWN_COMPLAINTS:]}" if complaints else ""
        shut_in = self.server.command and self.server.sandbox and not self.server.network
        hint = f" (mcp.{self.name}.network = true gives it the network)" if shut_in and NO_NETWORK.search(said) else ""
        if self.server.url and re.search(r"wants a login|\b401\b|Unauthorized", problem):
            logs_in = self._around.auth is not None
            hint = f" (`bridle mcp auth {self.name}` logs in)" if logs_in else " (its headers may hold a token)"
        self.problem = self._without_secrets(f"{problem}{hint}{said}")

    async def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _take(self, connection: Connection) -> None:
        """Read the server's offer and compare it with the accepted one."""
        offered, more = await connection.offer()
        offer, left_out = offered.bounded()
        self.pin = self._around.pins.take(self.key, offer, self._around.seams.clock.wall())
        self.problem = left_out or ("some of its tools are left out: they are too many" if more else "")

    def _changed(self) -> None:
        """Read the offer after the server announced a change, and again if it changes meanwhile."""
        self._says_changed = True
        if self._taking is None or self._taking.done():
            self._taking = begin(self._take_again())

    async def _take_again(self) -> None:
        while self._says_changed:
            self._says_changed = False
            await asyncio.sleep(AFTER_CHANGE_SECONDS)
            connection = self._connection
            if connection is not None and connection.alive:
                try:
                    await self._take(connection)
                except (ServerFailed, ConfigError) as error:
                    self.problem = self._without_secrets(str(error))

    async def call(self, definition: Definition, arguments: dict[str, Any], show: Callable[[str], None]) -> Any:
        """Call a tool and return its result; raises `ServerFailed`, also if the tool differs from the accepted one."""

        async def progress(done: float, total: float | None, message: str | None) -> None:
            show(f"{message or f'{done:g}' + (f' of {total:g}' if total else '')}\n")

        def ask(client: Any) -> Any:
            if self.pin is None or self.pin.now.tools.get(definition.name) != definition:
                raise ServerFailed(
                    f"{definition.name} has changed since it was accepted. A person has to review it: "
                    f"{self._around.pins.review(self.name)}"
                )
            return client.call_tool(definition.name, arguments, progress_callback=progress)

        return await self._asked(ask)

    async def resources(self) -> list[tuple[str, str]]:
        """Return the URIs and names of the server's resources; raises `ServerFailed`."""
        listed = await self._asked(lambda client: client.list_resources())
        return [(str(resource.uri), resource.name) for resource in listed.resources]

    async def resource(self, uri: str) -> Sequence[Any]:
        return tuple((await self._asked(lambda client: client.read_resource(uri))).contents)

    async def prompts(self) -> list[Any]:
        return list((await self._asked(lambda client: client.list_prompts())).prompts)

    async def prompt(self, name: str, arguments: dict[str, str]) -> list[Any]:
        return list((await self._asked(lambda client: client.get_prompt(name, arguments))).messages)

    async def _asked(self, ask: Callable[[Any], Any]) -> Any:
        """Connect, ask and return the answer; raises `ServerFailed` if the server ends, floods, is slow or is wrong."""
        connection = await self.connected()
        from bridle.mcp.connection import told

        asking = begin(ask(await connection.client()))
        over = begin(connection.over())
        try:
            async with asyncio.timeout(self.server.seconds):
                await asyncio.wait([asking, over], return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                raise ServerFailed(connection.failure or "it has ended")
            answer = asking.result()
            self._starts.clear()
            return answer
        except TimeoutError:
            raise ServerFailed(f"it did not answer within {self.server.seconds:g} s") from None
        except ServerFailed:
            raise
        except Exception as error:
            # The library raises many kinds of errors for bad input; each ends this call, never the turn.
            raise ServerFailed(self._without_secrets(connection.failure or told(error))) from error
        finally:
            for task in (asking, over):
                task.cancel()
            await asyncio.wait([asking, over])

    def _way(self) -> Any:
        from bridle.mcp.transport import Remote

        server = self.server
        if bool(server.command) == bool(server.url):
            raise ConfigError("it needs a command or a url, and not both")
        values = server.headers if server.url else server.environment
        fill = {name: self._filled(value) for name, value in values.items()}
        if server.url:
            if any(not value.isprintable() for value in fill.values()):
                raise ConfigError("a header has a line break or another control character in it")
            url = self._filled(server.url)
            return Remote(url, server.transport == "sse", fill, self._auth(url), server.seconds).opened
        words = [self._filled(word) for word in server.command]
        self._started = self._command(words, {**self._around.known, **fill})
        return self._started.opened

    def _filled(self, text: str) -> str:
        value = filled(text, self._around.environment, self._around.directory)
        if value != text:
            self._secrets.update(filled_in(text, self._around.environment, self._around.directory))
        return value

    def _without_secrets(self, text: str) -> str:
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "[…]")
        return text

    def _auth(self, url: str) -> Any:
        if self._around.auth is None or any(name.lower() == "authorization" for name in self.server.headers):
            return None
        from bridle.mcp.login import login

        given = {name: self._filled(getattr(self.server, name)) for name in ("client_id", "client_secret", "scope")}
        server = msgspec.structs.replace(self.server, **given)
        return login(self.key, url, server, self._around.auth, self._around.seams.clock, show=self._show)

    def _command(self, words: list[str], environment: dict[str, str]) -> Started:
        from bridle.mcp.transport import Started

        around = self._around
        place = located(around.directory, self.server.folder or ".")
        watch = None
        sandbox = around.commands.sandbox(f"mcp-{re.sub(r'[^A-Za-z0-9_-]', '_', self.name)}")
        if sandbox is None or not self.server.sandbox:
            program = shutil.which(words[0], path=environment.get("PATH"))
            if program is None:
                raise ConfigError(f"there is no program {words[0]}")
            command = [program, *words[1:]]
        else:
            contained = contain(
                sandbox,
                place.project,
                place.path,
                environment,
                opened=Openings(network=self.server.network or sandbox.network),
                permits=around.commands.permits,
                lasting=True,
            )
            command = [*contained.words, *words]
            environment, watch = contained.environment, contained.watch
        return Started(
            command=command,
            folder=place.path,
            environment=environment,
            bounds=around.commands.bounds(),
            lifelines=around.commands.lifelines(""),
            protected=watch,
        )

    async def close(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
        await self._let_go()
