"""`Leash`: starts the git subprocesses of one job; they end with it, when `end` is called, and when Bridle dies."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bridle.errors import SnapshotFailed

WATCH = "read end; kill -KILL 0"


class Leash:
    """The subprocesses of one job in one thread. `end` may be called from another thread, and twice.

    A shell waits for EOF on a pipe that only Bridle holds open, then kills its process group, to which all commands of
    the job belong. The supervisor for foreign commands is not used: it starts a new Python for each of them, which
    takes several times as long as most of these commands, and git does not leave its process group.
    """

    def __init__(self) -> None:
        self._watcher: subprocess.Popen[bytes] | None = None
        self._ended = ""

    def __enter__(self) -> Leash:
        return self

    def __exit__(self, *error: object) -> None:
        self.end("it is over")
        if self._watcher is not None:
            self._watcher.wait()

    def start(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a command with piped stdin, stdout and stderr; raises `OSError`, or `SnapshotFailed` after `end`."""
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
            # The command joined the group after the kill. The shell has not been waited for yet, so its pid has not
            # been reused.
            self._let_go()
            with suppress(ProcessLookupError):
                os.killpg(self._watcher.pid, signal.SIGKILL)
        return started

    def check(self) -> None:
        """Raise `SnapshotFailed` with the reason if `end` was called."""
        if self._ended:
            raise SnapshotFailed(self._ended)

    def end(self, why: str) -> None:
        """Kill all subprocesses and refuse to start more. The first reason is kept."""
        self._ended = self._ended or why
        self._let_go()

    def _let_go(self) -> None:
        if self._watcher is not None and self._watcher.stdin is not None:
            self._watcher.stdin.close()
