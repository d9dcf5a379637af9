"""A person with MCP servers: every turn is a runtime of its own, as in a new process."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from bridle import ScriptedModel
from bridle.assembly.user_setup import UserSetup
from bridle.config.settings import AnyPermissions, McpServer, SandboxSettings, Settings
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call, Notice, Part
from bridle.core.result import Result
from bridle.mcp.accepted_tools import AcceptedTools
from bridle.runtime import Runtime, RuntimeConfig
from bridle.testing.scripted import Scripted
from support.paths import TESTS

SERVER = TESTS / "support" / "mcp_server.py"
ALLOWED: AnyPermissions = {"*": "allow"}
LOOP = """
import json, os, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, answer = asked["method"], {{}}
    if method == "initialize":
        answer = {{"result": {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}},
                  "serverInfo": {{"name": "raw", "version": "1"}}}}}}
    elif method == "tools/list":
        answer = {{"result": {{"tools": {tools}}}}}
        {before_list}
    elif method == "tools/call":
        answer = {called}
    else:
        answer = {{"error": {{"code": -32601, "message": "unknown"}}}}
    print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], **answer}}), flush=True)
"""
OK = '{"result": {"content": [{"type": "text", "text": "ok"}]}}'


class World:
    """A person with servers; each `turn` is a runtime of its own, as in a new process."""

    def __init__(self, place: Path, **servers: Any) -> None:
        self.place, self.servers = place, servers
        self.permission = ALLOWED
        self.mode: Literal["auto", "off", "required"] = "off"
        self.wait = 20.0
        self.environment = {**os.environ, "HOME": str(place / "home"), "XDG_DATA_HOME": "", "SECRET_TOKEN": "hunter2"}

    def runtime(self, *replies: Scripted) -> Runtime:
        settings = Settings(
            model="scripted:x",
            mcp={"start_wait": self.wait, **self.servers},
            permission=self.permission,
            sandbox=SandboxSettings(mode=self.mode),
        )
        self.model = ScriptedModel(replies)
        data = self.place / "home" / ".local" / "share" / "bridle"
        return Runtime(
            RuntimeConfig(
                user=UserSetup(pins=AcceptedTools(data / "mcp.json"), logins=data / "mcp-auth.json"),
                settings=settings,
                models={"scripted:x": self.model},
                directory=self.place / "project",
                environment=self.environment,
            )
        )

    async def prompted(self, runtime: Runtime, **options: Any) -> Turn:
        session = await runtime.create()
        id = await runtime.prompt(session, "go", options=TurnOptions(**options) if options else None)
        result = await runtime.wait(session, id)
        parts = (await runtime.load(session)).parts.values()
        return Turn(result, [part for part in parts if isinstance(part, Call)], notices(parts))

    def turn(self, *replies: Scripted, **options: Any) -> Turn:
        async def play() -> Turn:
            async with self.runtime(*replies) as runtime:
                return await self.prompted(runtime, **options)

        return asyncio.run(play())

    def seen(self) -> tuple[list[str], str]:
        """The tools and the system prompt of the last request."""
        request = self.model.requests[-1]
        return [spec.name for spec in request.tools], request.system


class Turn:
    """How a turn ended, and what its calls gave."""

    def __init__(self, result: Result, made: list[Call], told: list[str]) -> None:
        self.reason, self.text, self.told = result.reason, result.text, told
        self.outputs = [getattr(part.state, "output", getattr(part.state, "text", "")) for part in made]
        self.states = [type(part.state).__name__ for part in made]


def notices(parts: Iterable[Part]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Notice)]


def stdio(*words: object, **more: Any) -> McpServer:
    return McpServer(command=[sys.executable, str(SERVER), "stdio", *map(str, words)], **more)


def seen(place: Path, **more: Any) -> McpServer:
    """A server that commands in the sandbox can see, also where these tests lie in a folder that is hidden there."""
    copied = str(shutil.copy(SERVER, place / "server.py"))
    return McpServer(command=[sys.executable, copied, "stdio"], **more)


def described(*pairs: tuple[str, str]) -> str:
    """Tools by name and description, as a `raw` server lists them."""
    return json.dumps(
        [{"name": name, "description": words, "inputSchema": {"type": "object"}} for name, words in pairs]
    )


def raw(place: Path, tools: str, called: str = OK, before_list: str = "pass", name: str = "raw.py") -> McpServer:
    """A server without the library, which starts at once and answers a call with the expression `called`."""
    path = place / name
    path.write_text(LOOP.format(tools=tools, called=called, before_list=before_list))
    return McpServer(command=[sys.executable, str(path)])


def habit(name: str, **more: Any) -> McpServer:
    return McpServer(command=[sys.executable, str(SERVER), name], **more)
