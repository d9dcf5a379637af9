"""Programs that run OpenCode's clients against Bridle; `python -m support.opencode_clients` runs all of them."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

from support.opencode_packages import NODE, QUIET, Packages
from support.paths import ROOT

PATIENCE = 120.0
DATA = ROOT / "tests" / "data" / "opencode"


class Clients:
    """The installed clients, a server for them, and a place for their files."""

    def __init__(self, packages: Packages, home: Path, project: Path, address: str) -> None:
        self.packages, self.home, self.project, self.address = packages, home, project, address

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a person who has nothing but these clients."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "TERM": "xterm", **QUIET}

    async def run(self, *words: str | Path, **variables: str) -> str:
        """Run a program to its end and return its output; fails for another status than 0."""
        made = await asyncio.create_subprocess_exec(
            *words, cwd=self.home, env={**self.environment, **variables}, stdin=-3, stdout=-1, stderr=-1
        )
        async with asyncio.timeout(PATIENCE):
            output, errors = await made.communicate()
        assert made.returncode == 0, (words, output.decode(), errors.decode())
        return output.decode()

    async def node(self, program: str, *words: str | Path, **variables: str) -> str:
        """Run a program of ours in node, beside the installed packages."""
        place = self.home / "programs"
        place.mkdir(exist_ok=True)
        if not (place / "node_modules").exists():
            (place / "node_modules").symlink_to(self.packages.modules)
        shutil.copy(DATA / program, place / program)
        return await self.run(NODE, place / program, *words, **variables)

    async def opencode(self, *words: str | Path) -> str:
        """Run `opencode run --attach` with these words."""
        return await self.run(self.packages.binary, "run", "--attach", self.address, *words)


async def sdk(clients: Clients) -> None:
    """Both clients of the SDK, `createOpencode` through a shim, and the AI SDK's `generateText` and `streamText`."""
    told = await clients.node("flow.mjs", clients.address, clients.project)
    assert "events" in told
    shims = clients.home / "shims"
    shims.mkdir(exist_ok=True)
    shim = shims / "opencode"
    shim.write_text(f'#!/bin/sh\necho "opencode server listening on {clients.address}"\nexec sleep 1000\n')
    shim.chmod(0o755)
    assert "created" in await clients.node("shim.mjs", PATH=f"{shims}:{os.environ['PATH']}")
    assert "generated and streamed" in await clients.node("ai.mjs", clients.address, clients.project)


async def run_attach(clients: Clients) -> None:
    """`opencode run --attach` with each of its options."""
    opencode = clients.opencode
    lines = (await opencode("--format", "json", "todo")).splitlines()
    assert len(lines) == 6 and "All done after the tool." in lines[4], lines
    session = lines[0].partition('"sessionID":"')[2].partition('"')[0]
    (facts := clients.project / "facts.txt").write_text("The number is 7.")
    assert "Found by the scout." in await opencode("-c", "--agent", "plan", "-m", "bridle/s", "-f", facts, "--", "Look")
    forked = await opencode("-s", session, "--fork", "--format", "json", "again")
    # It goes on with the agent and the model of the session.
    assert "Found by the scout." in forked and session not in forked
    assert "All done after the tool." in await opencode("--auto", "run the shell")
    assert "You said: Greet Ann kindly." in await opencode("--command", "greet", "Ann")


async def main(names: list[str]) -> None:
    """Run these programs, each against a new server, and compare all that it answered with the published schema."""
    # The long form needs more than a test does: these import browsers.
    from support.opencode_long import PROGRAMS, tried

    faults: Counter[str] = Counter()
    for name in names or PROGRAMS:
        sys.stdout.write(f"{name}: {PROGRAMS[name].__doc__}\n")
        sys.stdout.flush()
        answers, found = await tried(PROGRAMS[name])
        sys.stdout.write(f"  {answers} answers, {len(found)} differ from the schema\n")
        faults.update(found)
    for fault, count in faults.most_common():
        sys.stdout.write(f"{count} times {fault}\n")
    assert not faults
    sys.stdout.write("all clients work\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
