"""`Fleet`: the worker processes of a run, which are killed, frozen, told to stop and replaced."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from bench.workers.tree import Journaled


class Fleet:
    """Workers by number. Each may have an address of its own; what they complain about goes into a file."""

    def __init__(self, given: Journaled, number: int, addresses: dict[int, str] | None = None) -> None:
        self._given = given
        self._addresses = addresses or {}
        self._log = (Path(given.folder) / "workers.log").open("ab")
        self.workers = [self._start(each) for each in range(number)]
        for worker in self.workers:
            self._ready(worker)

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        given = msgspec.structs.replace(self._given, url=self._addresses.get(number, self._given.url))
        words = [sys.executable, "-m", "bench.workers.tree", msgspec.json.encode(given).decode()]
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)

    @staticmethod
    def _ready(worker: subprocess.Popen[bytes]) -> None:
        assert worker.stdout is not None and worker.stdout.readline() == b"ready\n", worker.poll()

    def kill(self, number: int) -> int:
        """Kill a worker, and return its process id."""
        worker = self.workers[number]
        worker.kill()
        worker.wait()
        assert worker.stdin is not None and worker.stdout is not None
        worker.stdin.close()
        worker.stdout.close()
        return worker.pid

    def replace(self, number: int) -> None:
        """Start another worker in the place of one that has ended."""
        self.workers[number] = self._start(number)

    def tell(self, number: int, signal_number: signal.Signals) -> int:
        """Send a signal to a worker, and return its process id."""
        os.kill(self.workers[number].pid, signal_number)
        return self.workers[number].pid

    def show_tasks(self) -> None:
        """Have all workers write where they wait into the file."""
        for number in range(len(self.workers)):
            self.tell(number, signal.SIGUSR1)
        time.sleep(2.0)

    def close(self) -> None:
        for number in range(len(self.workers)):
            self.kill(number)
        self._log.close()

    @property
    def complaints(self) -> str:
        return Path(self._log.name).read_text(errors="replace")
