"""One contender in one row: started with a provider of its own, watched, killed with all below it, started again."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.contender import PATHS
from bench.limits.judges import Seen
from bench.limits.roster import Compared
from bench.limits.rows import Row
from bench.limits.server import Asked, Provider
from bench.processes import kill_tree

TICK_SECONDS = 0.02
DYING_REQUEST = 3
ACT = """#!/bin/sh
# The tool of contenders that have a shell: the same effect as theirs who have functions.
echo "$1" >> "{folder}/effects"
case "$1" in
  die*) sleep 10 ;;
  poll*) echo "$(wc -l < "{folder}/effects") lines" ;;
  long*) yes "a long line of output" | head -n 2000 ;;
  *) echo "nothing new" ;;
esac
"""


class Play:
    """The state of one contender in one row."""

    def __init__(self, contender: Compared, row: Row, folder: Path) -> None:
        self.contender, self.row, self.folder = contender, row, folder
        self.provider = Provider(row.script, contender.speech, self._arrived)
        self.dying = row.crash != ""
        self.stopped = ""
        self.stop = asyncio.Event()

    def _arrived(self, asked: Asked) -> None:
        if self.dying and self.row.crash == "request" and asked.number == DYING_REQUEST:
            self.stop.set()
        elif asked.number > self.row.most_requests:
            self._end(f"stopped at {self.row.most_requests} requests")

    def _end(self, why: str) -> None:
        self.stopped = self.stopped or why
        self.stop.set()

    def effects(self) -> list[str]:
        path = self.folder / "effects"
        return path.read_text().splitlines() if path.exists() else []

    async def _watch(self) -> None:
        """Look for the effect at which it has to die, and at the clock."""
        begin = time.monotonic()
        while time.monotonic() - begin < self.row.seconds:
            if self.dying and self.row.crash == "effect" and "die" in self.effects():
                self.stop.set()
            await asyncio.sleep(TICK_SECONDS)
        self._end(f"killed after {self.row.seconds:g} s")

    async def start(self, *flags: str) -> dict[str, Any] | None:
        """Run it until it ends or is ended; returns what it said last."""
        command = [*self.contender.command, "--address", self.provider.address, "--data", self.folder]
        self.stop.clear()
        with (self.folder / "log").open("a") as log:
            process = await asyncio.create_subprocess_exec(
                *command,
                "--limits",
                json.dumps(dict(self.row.ask)),
                *flags,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder), **PATHS},
                limit=2**24,
            )
        said = asyncio.create_task(process.communicate())
        watch, stop = asyncio.create_task(self._watch()), asyncio.create_task(self.stop.wait())
        await asyncio.wait([said, stop], return_when=asyncio.FIRST_COMPLETED)
        watch.cancel()
        stop.cancel()
        if not said.done():
            kill_tree(process.pid)
        output, _ = await said
        lines = [line for line in output.decode().splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else None

    async def play(self) -> Seen:
        act = self.folder / "act"
        act.write_text(ACT.format(folder=self.folder))
        act.chmod(0o755)
        begin, before = time.monotonic(), 0
        async with self.provider:
            outcome = await self.start()
            if self.dying and not self.stopped:
                self.dying, before = False, len(self.provider.asked)
                outcome = await self.start("--resume")
        if outcome is None and not self.stopped:
            self.stopped = "ended without a word"
        return Seen(self.provider, self.effects(), outcome, self.stopped, time.monotonic() - begin, before)


async def play(contender: Compared, row: Row) -> Seen:
    """Play a row in a fresh folder."""
    with tempfile.TemporaryDirectory(prefix="bridle-limits-", ignore_cleanup_errors=True) as folder:
        return await Play(contender, row, Path(folder)).play()
