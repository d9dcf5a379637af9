"""`OutputStream`: starts a command under `supervisor`, streams its output, and ends it with everything it started.

A command finishes even if a grandchild process keeps the pipe open.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import marshal
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from bridle.process.egress_proxy import EgressProxy
from bridle.process.lifelines import Lifelines
from bridle.process.protected_places import PlaceDifference, PlaceWatch
from bridle.seams import begin

SUPERVISOR = Path(__file__).with_name("supervisor.py")
CHUNK = 65_536
LONGEST = 1 << 20
DRAIN_SECONDS = 0.3
END_SECONDS = 2.0
LOOK_SECONDS = 0.02
WAKE_SECONDS = 1.0


class OutputStream:
    """A command and everything that it starts, under a supervisor of its own; to be used in one event loop.

    The command is given by its full path. It reads from `given`, if that is not None, and inherits the handles in
    `passes`. `apart` reads standard error separately from standard output. `bounds` limit the number of processes, and
    the bytes of memory, of disk and of a file. The paths that `watch` names are compared when everything has ended.
    The egress proxy ends with the command. With `lifelines` the command ends too when those give no signal. `end` must
    be called, and may be called twice; reading starts with the first await.

    Only the lifeline, a pipe, ends the supervisor. It is never killed, since its processes would then run free. That
    is why asyncio's own subprocesses are not used here: the event loop kills those when it drops them.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        bounds: Mapping[str, int] | None = None,
        given: int | None = None,
        apart: bool = False,
        egress_proxy: EgressProxy | None = None,
        passes: Sequence[int] = (),
        watch: PlaceWatch | None = None,
        lifelines: Lifelines | None = None,
    ) -> None:
        self._egress_proxy, self._lifelines = egress_proxy, lifelines
        readers = [asyncio.StreamReader(limit=LONGEST) for _ in range(2 if apart else 1)]
        self.output, self.errors = readers[0], readers[-1]
        pipes = [os.pipe() for _ in readers]
        lifeline, self._lifeline = os.pipe()
        self._report: int | None = None
        try:
            self._report = _written(watch) if watch is not None else None
            until = lifelines.until() if lifelines is not None else None
            limits = {"parent": os.getpid(), **(bounds or {}), "input": given, "watch": self._report, "until": until}
            words = [f"{name}={value}" for name, value in limits.items() if value is not None]
            handles = (given, self._report, egress_proxy.handle if egress_proxy is not None else None)
            self._process = subprocess.Popen(
                # Isolated and without site-packages: nothing of the project is loaded.
                [sys.executable, "-I", "-S", str(SUPERVISOR), *words, "--", *command],
                pass_fds=(*passes, *(handle for handle in handles if handle is not None)),
                cwd=folder,
                env=environment,
                stdin=lifeline,
                stdout=pipes[0][1],
                stderr=pipes[-1][1],
                start_new_session=True,
            )
        except BaseException:
            self._undo([mine for mine, _ in pipes])
            raise
        finally:
            for handle in (lifeline, *(theirs for _, theirs in pipes)):
                os.close(handle)
            if egress_proxy is not None:
                egress_proxy.started()
        if lifelines is not None:
            lifelines.add(self._lifeline)
        self._transports: list[asyncio.ReadTransport] = []
        self._over = begin(self._ended())
        self._connected = begin(self._connect([mine for mine, _ in pipes], readers))

    def _undo(self, handles: list[int]) -> None:
        """Close everything that was opened for a command that could not be started."""
        for handle in (self._lifeline, *handles):
            os.close(handle)
        self.differences()
        if self._egress_proxy is not None:
            self._egress_proxy.drop()

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
            if self._lifelines is not None:
                self._lifelines.remove(self._lifeline)
            os.close(self._lifeline)
            self._lifeline = -1

    async def _connect(self, handles: list[int], readers: list[asyncio.StreamReader]) -> None:
        loop = asyncio.get_running_loop()
        for handle, reader in zip(handles, readers, strict=True):
            pipe = os.fdopen(handle, "rb", buffering=0)
            transport, _ = await loop.connect_read_pipe(partial(asyncio.StreamReaderProtocol, reader), pipe)
            self._transports.append(transport)

    async def pass_on(self, show: Callable[[str], None]) -> None:
        """Pass the output to `show`, as text, until no process holds the other end of the pipe."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := await self.output.read(CHUNK):
            show(decoder.decode(chunk))

    async def run(self, show: Callable[[str], None]) -> int:
        """Return the exit status, once the command and all that it started has ended and its output was passed on."""
        passing = begin(self.pass_on(show))
        try:
            return await asyncio.shield(self._over)
        finally:
            await self._end_command()
            # Only a process that the kernel cannot end still holds the other end: it is not awaited.
            await asyncio.wait([passing], timeout=DRAIN_SECONDS)
            passing.cancel()
            await self.end()

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

    async def _end_command(self) -> None:
        self._let_go()
        if not self._over.done():
            # A command without a sandbox may have stopped its supervisor.
            self._process.send_signal(signal.SIGCONT)
        # A process that the kernel cannot end must not delay an abort; its supervisor stays with it.
        await asyncio.wait([self._over], timeout=END_SECONDS)

    async def end(self) -> None:
        """End the command with everything that it started, and stop reading. May be called twice, and after its end."""
        await self._end_command()
        if self._egress_proxy is not None:
            await self._egress_proxy.close()
        await asyncio.wait([self._connected])
        for transport in self._transports:
            transport.close()


def _written(watch: PlaceWatch) -> int:
    """Return a file without a name, from which the supervisor reads the watch and to which it writes its report."""
    handle, path = tempfile.mkstemp()
    Path(path).unlink()
    os.pwrite(handle, marshal.dumps(vars(watch)), 0)
    return handle
