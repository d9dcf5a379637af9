"""Clients of the Agent Client Protocol that others wrote: acpx and the Python SDK, installed once into a cache."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from support.cli_home import BRIDLE, Home
from support.editor import REQUESTS, RESPONSES, checked
from support.opencode_packages import NODE
from support.paths import ROOT, TESTS

ACPX = "0.19.1"
SDK = "0.12.1"
NPM = NODE.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
SDK_PROGRAM = TESTS / "data" / "acp" / "sdk_client.py"
PATIENCE_SECONDS = 300


class Clients:
    """The installed clients."""

    def __init__(self) -> None:
        above = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.folder = above / "bridle-tests" / f"acp-{ACPX}-{SDK}"
        self.acpx = self.folder / "node_modules" / "acpx"
        self.python = self.folder / "python" / "bin" / "python"


def installed() -> Clients:
    """Return the clients; the first call installs them."""
    found = Clients()
    found.folder.mkdir(parents=True, exist_ok=True)
    with (found.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = found.folder / "done"
        if not done.exists():
            path = {**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}", "UV_SYSTEM_CERTS": "1"}
            npm = ("install", "--prefix", found.folder, "--no-audit", "--no-fund", "--ignore-scripts", f"acpx@{ACPX}")
            _ran(path, NODE, NPM, *npm)
            uv = ROOT / ".uv" / "bin" / "uv"
            _ran(path, uv, "venv", "--quiet", "--clear", "--python", sys.executable, found.folder / "python")
            _ran(path, uv, "pip", "install", "--quiet", "--python", found.python, f"agent-client-protocol=={SDK}")
            done.touch()
    return found


def _ran(environment: dict[str, str], *words: str | Path) -> None:
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])


class Agent:
    """`bridle acp` of a person as a command for a client, which keeps every line that is written to it and by it."""

    def __init__(self, home: Home, *words: str) -> None:
        self.home = home
        self.lines = home.folder / "lines"
        self.lines.mkdir()
        self.command = home.folder / "agent"
        started = shlex.join([str(BRIDLE), "acp", *words])
        place = shlex.quote(str(self.lines))
        # A tee that kept the client's error output open would keep it waiting after a kill.
        kept = (f"(exec tee -a {place}/{way}.$$ 2>/dev/null)" for way in ("in", "out"))
        self.command.write_text("#!/bin/bash\nexec {} < <{} > >{}\n".format(started, *kept))
        self.command.chmod(0o755)

    @property
    def started(self) -> int:
        """The number of processes that were started."""
        return len(list(self.lines.glob("out.*")))

    def kill(self) -> None:
        """Kill the processes that still run."""
        for path in self.lines.glob("out.*"):
            pid = int(path.suffix[1:])
            # Another process may have its number by now.
            with suppress(FileNotFoundError, ProcessLookupError):
                if f"{BRIDLE}\0acp".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)

    def until(self, words: str) -> None:
        """Return once it has written a line with these words."""
        ends = time.monotonic() + PATIENCE_SECONDS
        while not any(words in path.read_text() for path in self.lines.glob("out.*")):
            assert time.monotonic() < ends, f"it never wrote {words!r}"
            time.sleep(0.05)

    def current(self, option: str) -> list[str]:
        """Return the values of a configuration option, as it was told after each change."""
        told = [line.get("result") or {} for path in self.lines.glob("out.*") for line in _read(path)]
        listed = [each for result in told for each in result.get("configOptions") or ()]
        return [each["currentValue"] for each in listed if each["id"] == option]

    def check(self) -> int:
        """Validate every line of every process by the schema of the protocol; return their number."""
        count = 0
        for out in self.lines.glob("out.*"):
            given = _read(out.with_name(f"in{out.suffix}"))
            asked = {each["id"]: each["method"] for each in given if "method" in each and "id" in each}
            for line in _read(out):
                _check(line, asked)
                count += 1
        return count


def _read(path: Path) -> list[dict[str, Any]]:
    # A process that was killed may have left half a line.
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _check(line: dict[str, Any], asked: dict[Any, str]) -> None:
    assert line["jsonrpc"] == "2.0", line
    if method := line.get("method"):
        checked(REQUESTS[method], line["params"])
    elif "result" in line:
        checked(RESPONSES[asked[line["id"]]], line["result"])
    else:
        assert isinstance(line["error"]["code"], int) and line["error"]["message"], line


class Acpx:
    """A person who uses acpx with Bridle as its agent."""

    def __init__(self, clients: Clients, agent: Agent) -> None:
        self.agent = agent
        found = json.loads((clients.acpx / "package.json").read_text())["bin"]
        program = found if isinstance(found, str) else found["acpx"]
        self._words = [str(NODE), str(clients.acpx / program)]
        self._environment = {**agent.home.environment, "PATH": f"{NODE.parent}:{os.environ['PATH']}"}

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start acpx."""
        return subprocess.Popen(
            [*self._words, *words],
            cwd=self.agent.home.project,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, given: str, *words: str, status: int = 0) -> str:
        """Run acpx to its end, with these options, and return what it printed."""
        process = self.start(*given.split(), "--agent", str(self.agent.command), *words)
        out, problem = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == status, (words, out, problem)
        return out


def sdk(clients: Clients, agent: Agent, story: str) -> list[Any]:
    """Run a story of the SDK's program, and return what it tells, line by line."""
    done = subprocess.run(
        [clients.python, SDK_PROGRAM, agent.command, story],
        cwd=agent.home.project,
        env=agent.home.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]
