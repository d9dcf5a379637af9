"""What a command costs from the start of its process to its first request: the CPU of all its processes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.contender import CONTENDERS, HOMES, PATHS
from bench.processes import cpu_seconds
from bench.wire_server import serve

LONGEST_SECONDS = 60.0
END_SECONDS = 5.0
INSTALL_SECONDS = 300.0
OPENCODE = HOMES / "opencode"
QUIET = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")
"""What OpenCode would fetch or send besides: left out, since it is no part of asking a model."""


BRIDLE_SETTINGS = """
[providers.bench]
wire = "chat"
base_url = "{address}"
auth = "none"

[models."bench/scripted"]
context_window = 10_000_000

[behavior]
ceiling = 10_000

[limits]
tool_calls = 10_000

[tree]
steps = 10_000
"""
"""OpenCode has no bounds unless they are set, so that Bridle gets wide ones."""


class NoRequest(Exception):
    """The command ended without a request, or took too long for one."""


@dataclass(frozen=True)
class Cost:
    """In seconds, up to the first request."""

    cpu: float
    wall: float


@dataclass
class Command:
    """A command, with what it needs in a home of its own."""

    name: str
    version: Callable[[], str]
    words: Callable[[str], list[str | Path]]
    configure: Callable[[Path, str], None]
    environment: dict[str, str] = field(default_factory=dict)
    fresh: list[Cost] = field(default_factory=list)
    again: list[Cost] = field(default_factory=list)


def nothing(home: Path, address: str) -> None:
    """No file is needed."""


def bridle_files(home: Path, address: str) -> None:
    folder = home / ".config" / "bridle"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(BRIDLE_SETTINGS.format(address=address))


def opencode_files(home: Path, address: str) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": address, "apiKey": "none"},
        "models": {"scripted": {"name": "scripted"}},
    }
    (home / "project" / "opencode.json").write_text(json.dumps({"provider": {"bench": provider}}))


def opencode_version() -> str:
    package = OPENCODE / "node_modules" / "opencode-ai" / "package.json"
    return str(json.loads(package.read_text())["version"])


def commands() -> list[Command]:
    """What always runs: one request without anything around it, and Bridle."""
    beside = Path(sys.executable).parent
    asked = ["run", "--model", "bench/scripted", "Say hello."]
    return [
        Command(
            "bare httpx2, one request",
            lambda: version("httpx2"),
            lambda address: [sys.executable, CONTENDERS / "bare" / "wire.py", "--ask", address],
            nothing,
            PATHS,
        ),
        Command("bridle run", lambda: version("bridle"), lambda _: [beside / "bridle", *asked], bridle_files),
    ]


def opencode() -> Command:
    binary = OPENCODE / "node_modules" / ".bin" / "opencode"
    environment = {f"OPENCODE_DISABLE_{name}": "1" for name in QUIET}
    words: list[str | Path] = [binary, "run", "--title", "hello", "--model", "bench/scripted", "Say hello."]
    return Command("opencode run", opencode_version, lambda _: words, opencode_files, environment)


def prepare_opencode() -> str:
    """Install OpenCode; returns why that failed, or nothing."""
    if (OPENCODE / "node_modules" / ".bin" / "opencode").exists():
        return ""
    if shutil.which("npm") is None:
        return "there is no npm"
    OPENCODE.mkdir(parents=True, exist_ok=True)
    install: list[str | Path] = ["npm", "install", "--prefix", OPENCODE, "--no-audit", "--loglevel", "error"]
    install.append("opencode-ai")
    try:
        done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        return f"npm took longer than {INSTALL_SECONDS:g} s"
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


async def start(command: Command, home: Path) -> Cost:
    """Run the command in this home until its first request is here; raises `NoRequest` if none comes."""
    first: asyncio.Future[Cost] = asyncio.get_running_loop().create_future()
    process: asyncio.subprocess.Process | None = None
    begin = time.monotonic()

    def arrived() -> None:
        if process is not None and not first.done():
            first.set_result(Cost(cpu_seconds(process.pid), time.monotonic() - begin))

    server, port = await serve(arrived)
    address = f"http://127.0.0.1:{port}/steps/0/together/v1"
    command.configure(home, address)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), **command.environment}
    begin = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *command.words(address),
        cwd=home / "project",
        env=environment,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ended = asyncio.create_task(process.wait())
    waited: list[asyncio.Future[Any]] = [first, ended]
    await asyncio.wait(waited, timeout=LONGEST_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait([ended], timeout=END_SECONDS if first.done() else 0)
    if not ended.done():
        # It has a session of its own, so that nothing else is in its group.
        os.killpg(process.pid, signal.SIGKILL)
    status = await ended
    server.close()
    if not first.done():
        raise NoRequest(f"no request came within {LONGEST_SECONDS:g} s; exit status {status}")
    return first.result()


def start_twice(command: Command) -> str:
    """Start the command in a fresh home and then once more in it; returns why that failed, or nothing."""
    with tempfile.TemporaryDirectory(prefix="bridle-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        (home / "project").mkdir()
        try:
            command.fresh.append(asyncio.run(start(command, home)))
            command.again.append(asyncio.run(start(command, home)))
        except NoRequest as error:
            return str(error)
    return ""
