"""Commands that are owned: whatever they start ends with them, with their call, and with Bridle."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

KEEPER = Path(__file__).with_name("keeper.py")
END_SECONDS = 2.0


class Owned:
    """A command and everything that it starts, under a keeper of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(
        cls, command: Sequence[str], *, folder: Path, output: int, environment: Mapping[str, str] | None = None
    ) -> Owned:
        """Start a command by its full path; what it prints goes to the handle `output`. It gets no input."""
        process = await asyncio.create_subprocess_exec(
            # Isolated and without site-packages: nothing of the project is loaded.
            *(sys.executable, "-I", "-S", str(KEEPER), *command),
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        return cls(process)

    async def wait(self) -> int:
        """The exit status of the command, once it and everything that it started has ended."""
        return await self._process.wait()

    async def end(self) -> None:
        """End it and everything that it started. May be called twice, and after its end.

        The lifeline is all that holds it: if Bridle is killed, that is cut too, and the keeper does the rest.
        """
        lifeline = self._process.stdin
        if lifeline is not None:
            lifeline.close()
        waiting = asyncio.ensure_future(self._process.wait())
        # What the kernel does not let go of must not hold up an abort; its keeper stays with it.
        await asyncio.wait([waiting], timeout=END_SECONDS)
        waiting.cancel()
