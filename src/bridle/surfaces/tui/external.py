"""Programs that take the terminal for a while: the person's editor, and commands of Bridle that ask on the terminal."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.errors import ConfigError
from bridle.runtime.project import own_program

if TYPE_CHECKING:
    from bridle.surfaces.tui.widgets import PlainApp

EDITORS = ("VISUAL", "EDITOR")


async def run_in_terminal(app: PlainApp, words: Sequence[str]) -> int:
    """Run a program that uses the terminal, while turns go on; return its exit status. Raises `ConfigError`."""
    if not app.can_lend:
        raise ConfigError("this terminal cannot be lent to another program")
    try:
        # The batch keeps the application, which goes on, from drawing over the program.
        with app.batch_update(), app.suspend():
            running = await asyncio.create_subprocess_exec(*words)
            return await running.wait()
    except OSError as error:
        raise ConfigError(f"{words[0]} cannot be started: {error.strerror or error}") from error


async def output_of(words: Sequence[str]) -> tuple[int, str]:
    """Run a program without the terminal; return its exit status and all that it printed."""
    running = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await running.communicate()
    return running.returncode or 0, printed.decode(errors="replace")


async def edited(app: PlainApp, words: str, project: Path) -> str:
    """Return a text as the person has edited it in the program of $VISUAL or $EDITOR; raises `ConfigError`.

    A program's name leads to none of the project: a model may have written it.
    """
    program = next((os.environ[name] for name in EDITORS if os.environ.get(name, "").strip()), "")
    if not program:
        raise ConfigError("no editor is set: set EDITOR, as in: export EDITOR=vim")
    handle, name = tempfile.mkstemp(prefix="bridle-prompt-", suffix=".md")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(words)
        command, *options = shlex.split(program)
        found = own_program(command, project)
        if found is None:
            raise ConfigError(f"{command} was not found, except perhaps in this project: set EDITOR to its path")
        status = await run_in_terminal(app, [found, *options, name])
        if status:
            raise ConfigError(f"{program} ended with status {status}: the draft is as it was")
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except ValueError as error:
        raise ConfigError(f"EDITOR cannot be read: {error}") from error
    finally:
        path.unlink(missing_ok=True)
