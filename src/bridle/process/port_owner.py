"""`port_owner`: names the process that listens on a TCP port, from /proc."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
LISTENS = "0A"
LONGEST = 80


def port_owner(port: int) -> str:
    """Return the number and the command of the process that listens on a port; empty if it is not known."""
    sockets = _listening(port)
    for entry in PROC.iterdir() if sockets else ():
        if entry.name.isdecimal() and not sockets.isdisjoint(_sockets(entry)):
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                command = " ".join(os.fsdecode(word) for word in words)[:LONGEST]
                return f"process {entry.name} ({command})"
    return ""


def _listening(port: int) -> set[str]:
    """Return the kernel's numbers of the sockets that listen on a port."""
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (PROC / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(f"socket:[{fields[9]}]")
    return found


def _sockets(process: Path) -> set[str]:
    found: set[str] = set()
    # Processes of other users cannot be looked into, and any may end meanwhile.
    with suppress(OSError):
        for handle in (process / "fd").iterdir():
            with suppress(OSError):
                found.add(str(handle.readlink()))
    return found
