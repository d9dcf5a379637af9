"""A server of tools that says anything: each line is what it sends when it is asked by the method before it."""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
from support.virtual import run_virtually

from bridle.assembly.command_environment import CommandEnvironment
from bridle.config.settings import McpServer, SandboxSettings
from bridle.errors import ServerFailed, ToolFailed
from bridle.mcp.accepted_tools import AcceptedTools
from bridle.mcp.connection import Connection
from bridle.mcp.server_link import Link, Surroundings
from bridle.mcp.tools import resource_tool, server_tool, shown
from bridle.mcp.transport import OutputWatch, Started, Streams
from bridle.tools.command_setup import CommandSetup
from bridle.tools.tool import Invocation, Output
from fuzz.target import Target

PLACE = "/dev/shm" if Path("/dev/shm").is_dir() else None
UNKNOWN = b'x {"jsonrpc": "2.0", "id": $ID, "error": {"code": -32601, "message": "unknown"}}'
SECONDS = 20.0


class Peer(Started):
    """A server in this process; what it sends comes as the bytes of a command would, and is read as those are."""

    def __init__(self, script: bytes) -> None:
        super().__init__(command=(), folder=Path(), environment={})
        self._script = script.split(b"\n")

    @asynccontextmanager
    async def opened(self, watch: OutputWatch) -> AsyncIterator[Streams]:
        printed = SimpleNamespace(output=asyncio.StreamReader())
        into, incoming = anyio.create_memory_object_stream[Any](0)
        outgoing, out_of = anyio.create_memory_object_stream[Any](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen, printed, into, watch)
                tasks.start_soon(self._answer, printed.output, out_of)
                try:
                    yield incoming, outgoing
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            for stream in (into, incoming, outgoing, out_of):
                stream.close()

    async def _answer(self, printed: asyncio.StreamReader, out_of: Any) -> None:
        async for sent in out_of:
            method, id = getattr(sent.message, "method", ""), getattr(sent.message, "id", None)
            if id is None:
                continue
            known = [line for line in self._script if line.startswith(method.encode() + b" ")]
            for line in known or [UNKNOWN]:
                printed.feed_data(line.partition(b" ")[2].replace(b"$ID", str(id).encode()) + b"\n")
            if b"" in self._script and not known:
                # It ends where it was not prepared for the question.
                printed.feed_eof()
                return


class InProcess(Link):
    """A link to a peer; all but the start of its command is real."""

    def __init__(self, script: bytes, folder: Path, seams: Any) -> None:
        commands = CommandEnvironment(SandboxSettings(mode="off"), {})
        around = Surroundings(
            directory=folder,
            environment={},
            known={},
            commands=commands,
            pins=AcceptedTools(folder / "mcp.json"),
            seams=seams,
            auth=folder / "auth.json",
        )
        super().__init__("peer", McpServer(command=["peer"], seconds=SECONDS), around)
        self._peer = Peer(script)

    async def _connect(self) -> Connection:
        self._connection = Connection(self._peer.opened, self._changed, self._around.directory)
        await self._take(self._connection)
        return self._connection


@contextmanager
def told_nobody() -> Iterator[None]:
    """Nothing that is logged meanwhile would reach a terminal: every logger has somebody who takes it."""
    used: set[str] = set()
    before = logging.getLogRecordFactory()

    def noted(name: str, *given: Any, **more: Any) -> logging.LogRecord:
        used.add(name)
        return before(name, *given, **more)

    logging.setLogRecordFactory(noted)
    try:
        yield
    finally:
        logging.setLogRecordFactory(before)
    for name in used:
        above = [".".join(name.split(".")[:length]) for length in range(1, name.count(".") + 2)]
        assert any(logging.getLogger(each).handlers for each in above), f"{name} writes to the terminal"


def check(data: bytes) -> None:
    with tempfile.TemporaryDirectory(dir=PLACE) as folder, told_nobody():
        run_virtually(lambda seams: used(seams, Path(folder), data))


async def used(seams: Any, folder: Path, data: bytes) -> None:
    link = InProcess(data, folder, seams)
    invocation = Invocation(call="c", session="s", commands=CommandSetup(directory=folder), timeout_seconds=SECONDS)
    try:
        async with asyncio.timeout(100 * SECONDS):
            await link.connected()
            assert link.pin is not None
            definitions = list(link.pin.now.tools.values())[:2]
            runs = [lambda each=each: server_tool(link, each).run({"a": 1}, invocation) for each in definitions]
            resources = resource_tool({"peer": link})
            for uri in ("", "x://y"):
                given = resources.check({"server": "peer", "uri": uri})
                runs.append(lambda given=given: resources.run(given, invocation))
            for run in runs:
                try:
                    output = await run()
                    assert isinstance(output, Output) and len(output.text) <= 10 * len(data) + 1_000
                except ToolFailed as error:
                    assert str(error).startswith("peer: ") and len(str(error)) <= 2_000
            for prompt in (await link.prompts())[:1]:
                assert isinstance(shown([each.content for each in await link.prompt(prompt.name, {})]), str)
    except ServerFailed as error:
        assert str(error) and len(str(error)) <= 2_000, "it fails without a word, or with too many"
    finally:
        await link.close()


HELLO = (
    'initialize {"jsonrpc": "2.0", "id": $ID, "result": {"protocolVersion": "2025-06-18", "capabilities": '
    '{"tools": {"listChanged": true}, "resources": {}, "prompts": {}}, "serverInfo": {"name": "raw", "version": "1"}, '
    '"instructions": "Be kind."}}'
)
TOOLS = (
    'tools/list {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n'
    'tools/list {"jsonrpc": "2.0", "id": $ID, "result": {"tools": [{"name": "go", "description": "Go.", '
    '"inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}}}, {"name": "stay", "inputSchema": '
    '{"type": "object"}, "outputSchema": {"type": "object"}}], "nextCursor": null}}'
)
CALLED = (
    'tools/call {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}\n'
    'tools/call {"jsonrpc": "2.0", "id": "r1", "method": "roots/list"}\n'
    'tools/call {"jsonrpc": "2.0", "id": $ID, "result": {"content": [{"type": "text", "text": "ok"}, {"type": "image", '
    '"data": "aGk=", "mimeType": "image/png"}, {"type": "resource", "resource": {"uri": "x://y", "text": "t"}}], '
    '"structuredContent": {"a": 1}, "isError": false}}'
)
MORE = (
    'resources/list {"jsonrpc": "2.0", "id": $ID, "result": {"resources": [{"uri": "x://y", "name": "n"}]}}\n'
    'resources/read {"jsonrpc": "2.0", "id": $ID, "result": {"contents": [{"uri": "x://y", "blob": "aGk="}]}}\n'
    'prompts/list {"jsonrpc": "2.0", "id": $ID, "result": {"prompts": [{"name": "p"}]}}\n'
    'prompts/get {"jsonrpc": "2.0", "id": $ID, "result": {"messages": [{"role": "user", "content": '
    '{"type": "text", "text": "t"}}]}}'
)
REFUSED = 'tools/call {"jsonrpc": "2.0", "id": $ID, "error": {"code": -32000, "message": "closed", "data": [1]}}'
WORDS = (
    *("$ID", "result", "error", "method", "params", "jsonrpc", "tools", "nextCursor", "isError", "content", "type"),
    *("tools/list ", "tools/call ", "initialize ", "ping", "sampling/createMessage", "elicitation/create", "null"),
    *("notifications/progress", "notifications/cancelled", "text", "image", "audio", "resource_link", "2024-11-05"),
)
TARGETS = (
    Target(
        "servers",
        "Whatever a server sends, each use of it gives an answer or fails in a few words, in bounded time, and nothing "
        "is written to the terminal.",
        check,
        tuple("\n".join(lines).encode() for lines in ((HELLO, TOOLS, CALLED, MORE), (HELLO, TOOLS, REFUSED, ""))),
        tuple(word.encode() for word in WORDS),
        20,
        structured=True,
    ),
)
