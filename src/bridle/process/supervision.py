"""Supervised subprocesses: everything they start ends with them, with their tool call, and with Bridle."""

from __future__ import annotations

import asyncio
import contextlib
import marshal
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bridle.process.protected_places import PlaceDifference, PlaceWatch
from bridle.seams import begin

SUPERVISOR = Path(__file__).with_name("supervisor.py")
END_SECONDS = 2.0
LOOK_SECONDS = 0.02
WAKE_SECONDS = 1.0


class Supervised:
    """A command and everything that it starts, under a supervisor of its own; to be used in one event loop.

    Only the lifeline, a pipe, ends the supervisor. It is never killed, since its processes would then run free. That
    is why asyncio's own subprocesses are not used here: the event loop kills those when it drops them.
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
        watch: PlaceWatch | None = None,
    ) -> None:
        """Start a command by its full path; standard error goes to `output` too if `errors` is None.

        It reads from `given`, if that is not None, and inherits the handles in `passes`. `bounds` limit the number
        of processes, and the bytes of memory, of disk and of a file. The paths that `watch` names are compared when
        everything has ended.
        """
        self._report = _written(watch) if watch is not None else None
        handles = {"input": given, "watch": self._report}
        handed = {name: handle for name, handle in handles.items() if handle is not None}
        limits = {"parent": os.getpid(), **(bounds or {}), **handed}
        words = [f"{name}={value}" for name, value in limits.items()]
        theirs, self._lifeline = os.pipe()
        try:
            self._process = subprocess.Popen(
                # Isolated and without site-packages: nothing of the project is loaded.
                [sys.executable, "-I", "-S", str(SUPERVISOR), *words, "--", *command],
                pass_fds=(*passes, *handed.values()),
                cwd=folder,
                env=environment,
                stdin=theirs,
                stdout=output,
                stderr=output if errors is None else errors,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._lifeline)
            self.differences()
            raise
        finally:
            os.close(theirs)
        self._over = begin(self._ended())

    async def _ended(self) -> int:
        if not hasattr(os, "pidfd_open"):
            while self._process.poll() is None:
                await asyncio.sleep(LOOK_SECONDS)
                self._wake()
            return self._process.wait()
        handle = os.pidfd_open(self._process.pid)
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        loop.add_reader(handle, over.set)
        try:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(over.wait(), WAKE_SECONDS)
                self._wake()
        finally:
            loop.remove_reader(handle)
            os.close(handle)
        self._let_go()
        return self._process.wait()

    def _wake(self) -> None:
        """Wake the supervisor if a command without a sandbox has stopped it: nothing else would end the command."""
        if hasattr(os, "waitid"):
            # It may have ended.
            with contextlib.suppress(ChildProcessError):
                if os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None:
                    os.kill(self._process.pid, signal.SIGCONT)

    def _let_go(self) -> None:
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    async def wait(self) -> int:
        """Return the exit status of the command, once it and everything that it started has ended."""
        return await asyncio.shield(self._over)

    def differences(self) -> list[PlaceDifference]:
        """Return the changes of a command to protected paths. Call it once, after the command's end."""
        if self._report is None:
            return []
        with os.fdopen(self._report, "rb") as report:
            self._report = None
            report.seek(0)
            found = marshal.load(report)
        # A supervisor that was killed leaves the watch itself, which is no list.
        return (
            [PlaceDifference(**one) for one in found] if isinstance(found, list) else [PlaceDifference("/", "unknown")]
        )

    async def end(self) -> None:
        """End the command and everything that it started. May be called twice, and after its end."""
        self._let_go()
        if not self._over.done():
            # A command without a sandbox may have stopped its supervisor.
            self._process.send_signal(signal.SIGCONT)
        # A process that the kernel cannot end must not delay an abort; its supervisor stays with it.
        await asyncio.wait([self._over], timeout=END_SECONDS)


def _written(watch: PlaceWatch) -> int:
    """Return a file without a name, from which the supervisor reads the watch and to which it writes its report."""
    handle, path = tempfile.mkstemp()
    Path(path).unlink()
    os.pwrite(handle, marshal.dumps(vars(watch)), 0)
    return handle
