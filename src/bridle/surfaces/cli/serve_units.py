"""Makes systemd units for `bridle serve`, without the settings that would take the sandbox from commands."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

SERVICE = """\
[Unit]
Description=Bridle

[Service]
Type=notify
ExecStart={command}
ExecReload=/bin/kill -USR1 $MAINPID
Environment={path}
# The server leaves its turns to its next start; the commands of running calls end with it.
KillMode=mixed
TimeoutStopSec={patience:.0f}
Restart=on-failure
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
# Left out on purpose, since commands would lose their sandbox: RestrictNamespaces, PrivateUsers, SystemCallFilter and
# all that mounts over /proc or /sys (ProtectKernelTunables, ProtectProc, ProtectControlGroups).

[Install]
WantedBy=default.target
"""
SOCKET = """\
[Unit]
Description=The port of Bridle

[Socket]
ListenStream={address}

[Install]
WantedBy=sockets.target
"""
STOP_SECONDS = 30.0
"""Time to stop besides the grace of running work."""


def service_unit(directories: Sequence[Path], port: int, grace: float) -> str:
    """Return the unit of a server for these directories."""
    program = shutil.which(sys.argv[0]) or sys.argv[0]
    words = [str(Path(program).absolute()), "serve", "--port", str(port), "--grace", f"{grace:g}"]
    for directory in directories:
        words += ["--dir", str(directory.absolute())]
    return SERVICE.format(
        command=" ".join(_quoted(word).replace("$", "$$") for word in words),
        path=_quoted(f"PATH={os.environ.get('PATH', os.defpath)}"),
        patience=grace + STOP_SECONDS,
    )


def socket_unit(port: int) -> str:
    """Return the unit of a socket that starts the server with its first connection."""
    return SOCKET.format(address=f"127.0.0.1:{port}")


def _quoted(word: str) -> str:
    """Return a word for a unit, in which no specifier is expanded."""
    for mark, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("%", "%%")):
        word = word.replace(mark, written)
    return f'"{word}"'
