"""`bridle undo`, `bridle redo` and `bridle diff`: undo turns with their files, and show changes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bridle.runtime import Runtime
from bridle.runtime.sessions import Reverted
from bridle.surfaces.cli.manage import with_runtime
from bridle.surfaces.cli.output import say, say_diff, tell

MaybeSession = Annotated[str | None, typer.Argument(help="A session; without it, the last of this directory.")]
MOST_NAMED = 20


def undo_turns(
    session: MaybeSession = None,
    to: Annotated[str, typer.Option(help="The first turn that goes, by number, or by a prompt's id.")] = "",
    keep_files: Annotated[bool, typer.Option("--keep-files", help="Undo the history alone.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also files that somebody else has changed since.")] = False,
) -> None:
    """Undo the last turn, or all from one on: the history, and the files that it changed.

    Example: bridle undo --to 3
    """

    async def work(runtime: Runtime) -> None:
        id = session or await runtime.last_session()
        undone = await runtime.undo(id, to=to, keep_files=keep_files, force=force)
        finished = " (the files had not followed, and have now)" if undone.finished else ""
        say(f"undone: turn {undone.turn} and what came after it, in {id}{finished}")
        if undone.prompt:
            say(f"> {undone.prompt.strip().splitlines()[0][:100] if undone.prompt.strip() else ''}")
        _tell(undone)
        say("`bridle redo` brings it back, until the next prompt.")

    asyncio.run(with_runtime(Path(), work))


def redo_turns(
    session: MaybeSession = None,
    keep_files: Annotated[bool, typer.Option("--keep-files", help="Redo the history alone.")] = False,
) -> None:
    """Take the last undo back, history and files.

    Example: bridle redo
    """

    async def work(runtime: Runtime) -> None:
        id = session or await runtime.last_session()
        done = await runtime.redo(id, keep_files=keep_files)
        say(f"redone: turn {done.turn} and what came after it, in {id}")
        _tell(done)

    asyncio.run(with_runtime(Path(), work))


def _tell(reverted: Reverted) -> None:
    for name in reverted.files[:MOST_NAMED]:
        say(f"  {name}")
    if len(reverted.files) > MOST_NAMED:
        say(f"  and {len(reverted.files) - MOST_NAMED} more files")
    for words in reverted.unknown:
        tell(f"! {words}")


def show_diff(
    session: MaybeSession = None,
    turn: Annotated[int, typer.Option(help="Only what this turn changed.", min=0)] = 0,
) -> None:
    """Show what a session has changed in the files, by its own calls and by its subagents.

    Example: bridle diff --turn 2
    """

    async def work(runtime: Runtime) -> str:
        return await runtime.diff(session or await runtime.last_session(), turn)

    printed = asyncio.run(with_runtime(Path(), work))
    say_diff(printed)
