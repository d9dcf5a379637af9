"""A leash for Bridle's own git: what is on it ends with its work, at a deadline, and with Bridle, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from bridle.errors import SnapshotFailed

WATCH = "read end; kill -KILL 0"


class Leash:
    """For one piece of work in one thread; `end` may be called from another, and twice.

    A shell waits for the end of a pipe whose other side only Bridle holds, then kills its process group, to which all
    commands of this work belong. The supervisor of foreign commands is not used: it takes a new Python for each of
    them, several times as long as most of these commands do, and git does not leave its group.
    """

    def __init__(self) -> None:
        self._watcher: subprocess.Popen[bytes] | None = None
        self._ended = ""

    def __enter__(self) -> Leash:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end("it is over")
        if self._watcher is not None:
            self._watcher.wait()

    def start(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a command with pipes for all that it reads and prints; raises `OSError`, and `SnapshotFailed`."""
        self.check()
        if self._watcher is None:
            self._watcher = subprocess.Popen(
                ["/bin/sh", "-c", WATCH],
                cwd="/",
                env={},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        started = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=self._watcher.pid,
        )
        if self._ended:
            # It came into the group when that had been killed already. Nobody has waited for the shell yet, so its
            # number is nobody else's.
            self._let_go()
            with suppress(ProcessLookupError):
                os.killpg(self._watcher.pid, signal.SIGKILL)
        return started

    def check(self) -> None:
        """Raises `SnapshotFailed` with the reason if it has ended."""
        if self._ended:
            raise SnapshotFailed(self._ended)

    def end(self, why: str) -> None:
        """End everything on it, and start nothing any more."""
        self._ended = self._ended or why
        self._let_go()

    def _let_go(self) -> None:
        if self._watcher is not None and self._watcher.stdin is not None:
            self._watcher.stdin.close()
