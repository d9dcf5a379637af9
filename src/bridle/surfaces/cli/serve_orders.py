"""`Orders`: the signals that stop a server or start it again, and the new start in the same process."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import NoReturn

from bridle.errors import ConfigError
from bridle.runtime.server_process import ServerProcess
from bridle.surfaces.cli.output import tell
from bridle.surfaces.server.listen import FIRST_PASSED

RELOAD = signal.SIGUSR1
MANAGER = "NOTIFY_SOCKET"
"""The environment variable with the socket of systemd that wants to hear of this process."""


class Orders:
    """The signals of a server: SIGTERM and SIGINT stop it; SIGUSR1 starts it again if its settings are valid.

    SIGHUP does so where there is no terminal; else it means that the terminal was closed.
    """

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        # For this process, and not for the commands that it starts.
        self._manager = os.environ.pop(MANAGER, "")
        self.stopping = asyncio.Event()
        self.reload = False
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        loop.add_signal_handler(RELOAD, self._reload)
        loop.add_signal_handler(signal.SIGHUP, self._stop if sys.stderr.isatty() else self._reload)

    def notify(self, state: str) -> None:
        """Tell the service manager a state of this process; does nothing without a manager."""
        if self._manager:
            address = f"\0{self._manager[1:]}" if self._manager.startswith("@") else self._manager
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out, suppress(OSError):
                out.connect(address)
                out.send(state.encode())

    def start_again(self, sockets: list[socket.socket]) -> NoReturn:
        """Replace this process by a new start of the same command, which listens on these sockets."""
        for number, each in enumerate(sockets, FIRST_PASSED):
            # Those that are still to be moved must not be overwritten.
            os.dup2(fcntl.fcntl(each.fileno(), fcntl.F_DUPFD_CLOEXEC, FIRST_PASSED + len(sockets)), number)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(sockets)))
        if self._manager:
            os.environ[MANAGER] = self._manager
        os.execv(sys.executable, [sys.executable, *sys.argv])

    def _stop(self) -> None:
        if self.stopping.is_set() and not self.reload:
            # Nothing is lost: the turns stay interrupted.
            os._exit(130)
        self.reload = False
        self.stopping.set()

    def _reload(self) -> None:
        if self.stopping.is_set():
            return
        try:
            self._process.check()
        except ConfigError as error:
            tell(f"bridle serve: the settings are as before, because they cannot be read: {error}")
            return
        self.reload = True
        self.stopping.set()
