"""A server of OpenCode's API on loopback, with a scripted model: for tests, and as a program for real clients."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from bridle import Runtime, RuntimeConfig, ScriptedModel, Settings, call
from bridle.assembly.user_setup import UserSetup
from bridle.config.settings import CommandSettings
from bridle.core.access import Grant, PageSecrets, Right
from bridle.core.agent import AgentDefinition
from bridle.core.permission import Rule
from bridle.runtime.working_tree import WorkingTrees
from bridle.snapshots.snapshots import Snapshots
from bridle.surfaces.server.access import Policy
from bridle.surfaces.server.application import HttpServer, create_app
from bridle.surfaces.server.directories import Directories
from bridle.surfaces.server.limits import Followers
from bridle.surfaces.server.opencode.failures import on_unknown
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.opencode.table import guarded_routes
from bridle.testing.scripted import Reply, Scripted
from bridle.tools.registry import builtin_tools
from support.opencode_schema import Answer, Recorder

ALLOWED = (Rule("*", "*", "allow"),)
ASKS = (*ALLOWED, Rule("bash", "*", "ask"), Rule("edit", "lines.txt", "ask"))


class NoLogins:
    """The tokens of a server that needs none; see `Logins`."""

    async def token(self, secret: str) -> Grant | None:
        return None

    async def page(self, cookie: str, header: str) -> Grant | None:
        return None

    async def new_code(self, name: str, right: Right, maker: str = "") -> str:
        return ""

    async def exchange(self, code: str) -> PageSecrets | None:
        return None

    async def holds(self, digest: str) -> bool:
        return False


def scripted_runtime(directory: Path, replies: Any, *, rules: tuple[Rule, ...] = ALLOWED, **more: Any) -> Runtime:
    """A runtime with the built-in tools; subagents are answered by a model of their own."""
    scout = ScriptedModel(scouted, ref="scout")
    agents = [
        AgentDefinition(
            "build", model="m", permission=rules, mode="primary", description="Builds.", steps=more.pop("steps", None)
        ),
        AgentDefinition(
            "plan", model="m", permission=rules, mode="primary", description="Plans.", tools={"question": False}
        ),
        AgentDefinition("scout", model="s", permission=rules, mode="subagent", description="Looks."),
    ]
    return Runtime(
        RuntimeConfig(
            models={"m": ScriptedModel(replies), "s": scout},
            settings=Settings(model="m", agent="build", commands={"greet": CommandSettings("Greet $1 kindly.")}),
            agents=agents,
            tools=builtin_tools(),
            subagents=None,
            directory=directory,
            **more,
        )
    )


def with_snapshots(home: Path) -> UserSetup:
    """A user whose files can be restored."""
    return UserSetup(files=Snapshots(home / "snapshots", {"PATH": os.environ["PATH"], "HOME": str(home)}))


@asynccontextmanager
async def served(runtime: Runtime, port: int = 0, answers: list[Answer] | None = None) -> AsyncIterator[str]:
    """Serve a runtime, and give the address; `answers` gets all that the server answers."""

    async def open_backend(path: Path) -> Runtime:
        return runtime

    directories, policy = Directories([runtime.directory], open_backend), Policy(is_local=True)
    limits = Followers(policy.limits.followers)
    shared = HttpServer(directories=directories, logins=NoLogins(), policy=policy, followers=limits)
    hub = Hub(directories)
    app: ASGIApp = create_app(shared, guarded_routes(hub, shared, WorkingTrees(open_backend)), unknown=on_unknown)
    if answers is not None:
        app = Recorder(app, answers)
    listener = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        shared.leaving.set()
        await hub.close()
        server.should_exit = True
        await task
        listener.close()


EDIT = (
    call("read", filePath="lines.txt"),
    call("edit", filePath="lines.txt", oldString="line 4", newString="line four"),
)
LINES = "".join(f"line {number}\n" for number in range(9))
"""The content of `lines.txt`, which `edit` changes."""


def _done(messages: Any) -> int:
    """Return the number of replies since the last words of a person."""
    place = max(number for number, each in enumerate(messages) if hasattr(each, "attachments"))
    return (len(messages) - 1 - place) // 2


def told_by_words(request: Any) -> Scripted:
    """Answer as the last words of a person ask for."""
    asked = next((each.text for each in reversed(request.messages) if hasattr(each, "attachments")), "")
    has_result = not hasattr(request.messages[-1], "attachments")
    if "edit" in asked and request.purpose == "step" and len(EDIT) > (done := _done(request.messages)):
        return EDIT[done]
    if has_result or request.purpose != "step":
        return Reply(text="All done after the tool.", chunk=4)
    if "shell" in asked:
        return Reply(text="Let me look. ", calls=(call("bash", command="echo hello; date", description="Say hello"),))
    if "write" in asked:
        return call("write", filePath="notes.txt", content="one\ntwo\n")
    if "todo" in asked:
        return call("todowrite", todos=[{"content": "Look", "status": "in_progress"}])
    if "delegate" in asked:
        return call("task", description="a command", prompt="run the shell", subagent_type="scout")
    if "task" in asked:
        return call("task", description="a piece", prompt="look into it", subagent_type="scout")
    if "question" in asked:
        options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
        return call("question", questions=[{"question": "Which color?", "header": "Color", "options": options}])
    if "a long answer" in asked:
        return Reply(text="".join(f"This is sentence {number}.\n" for number in range(1, 301)), chunk=2_000)
    if "slow" in asked:
        return Reply(text="word " * 200, chunk=5, pace=0.1)
    if "boom" in asked:
        return Reply(text="I fail", cut=2)
    return Reply(
        text=f"You said: {asked[:200]}. This is **the answer**.", reasoning="Hm, let me think.", chunk=6, pace=0.02
    )


def scouted(request: Any) -> Scripted:
    """Answer as a subagent."""
    last = request.messages[-1]
    if hasattr(last, "attachments") and "shell" in last.text:
        return call("bash", command="echo hello; date", description="Say hello")
    return "The person wants: use python instead" if "use python" in str(last) else "Found by the scout."


async def main(port: int, directory: str) -> None:
    home = Path(directory).with_name("home")
    home.mkdir(exist_ok=True)
    runtime = scripted_runtime(
        Path(directory), told_by_words, rules=ASKS, journal=home / "journal.db", user=with_snapshots(home)
    )
    async with runtime, served(runtime, port) as address:
        sys.stdout.write(f"opencode server listening on {address}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
