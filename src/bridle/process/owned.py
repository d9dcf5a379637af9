"""Commands that are owned: whatever they start ends with them, with their call, and with Bridle."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bridle.seams import begin

KEEPER = Path(__file__).with_name("keeper.py")
END_SECONDS = 2.0
LOOK_SECONDS = 0.02


class Owned:
    """A command and everything that it starts, under a keeper of its own; to be used in one event loop.

    The lifeline is all that holds the keeper: nobody ever kills it, since what it keeps would then go free. That is
    why asyncio's own processes are not used here: those are killed when their event loop lets go of them.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        output: int,
        errors: int | None = None,
        given: int | None = None,
        passes: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        bounds: Mapping[str, int] | None = None,
    ) -> None:
        """Start a command by its full path; what it prints goes to `output`, complaints perhaps elsewhere.

        It reads from `given`, if that is not None, and has the handles that it `passes`. `bounds` are its most
        processes, and the most bytes of memory and of a file for each of them.
        """
        limits = dict(bounds or {}) | ({"input": given} if given is not None else {})
        theirs, self._lifeline = os.pipe()
        try:
            self._process = subprocess.Popen(
                # Isolated and without site-packages: nothing of the project is loaded.
                [sys.executable, "-I", "-S", str(KEEPER), *map("{0[0]}={0[1]}".format, limits.items()), "--", *command],
                pass_fds=(*passes, *(() if given is None else (given,))),
                cwd=folder,
                env=environment,
                stdin=theirs,
                stdout=output,
                stderr=output if errors is None else errors,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(theirs)
        self._over = begin(self._ended())

    async def _ended(self) -> int:
        if not hasattr(os, "pidfd_open"):
            while self._process.poll() is None:
                await asyncio.sleep(LOOK_SECONDS)
            return self._process.wait()
        handle = os.pidfd_open(self._process.pid)
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        loop.add_reader(handle, over.set)
        try:
            await over.wait()
        finally:
            loop.remove_reader(handle)
            os.close(handle)
        self._let_go()
        return self._process.wait()

    def _let_go(self) -> None:
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    async def wait(self) -> int:
        """The exit status of the command, once it and everything that it started has ended."""
        return await asyncio.shield(self._over)

    async def end(self) -> None:
        """End it and everything that it started. May be called twice, and after its end."""
        self._let_go()
        # What the kernel does not let go of must not hold up an abort; its keeper stays with it.
        await asyncio.wait([self._over], timeout=END_SECONDS)
