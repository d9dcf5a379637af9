"""`bridle undo`, `bridle redo` and `bridle diff`: undo turns with their files, and show changes."""

from __future__ import annotations

from typing import Annotated

import typer

from bridle.runtime import Runtime
from bridle.runtime.sessions import Reverted
from bridle.surfaces.cli.commands import LastSession, with_runtime
from bridle.surfaces.cli.output import say, say_diff, tell_notices

MOST_NAMED = 20


@with_runtime
async def undo_turns(
    runtime: Runtime,
    session: LastSession = "",
    to: Annotated[str, typer.Option(help="First turn to undo: its number, or the id of its prompt.")] = "",
    keep_files: Annotated[bool, typer.Option("--keep-files", help="Undo only the history.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also revert files that were changed since.")] = False,
) -> None:
    """Undo the last turn, or all turns from one on: the history and its file changes.

    Example: bridle undo --to 3
    """
    id = session
    undone = await runtime.undo(id, to=to, keep_files=keep_files, force=force)
    finished = " (this completes an interrupted undo: its files were not restored yet)" if undone.finished else ""
    say(f"undone: turn {undone.turn} and all later turns, in {id}{finished}")
    if undone.prompt:
        say(f"> {(undone.prompt.strip().splitlines() or [''])[0][:100]}")
    _tell(undone)
    say("`bridle redo` brings it back, until the next prompt.")


@with_runtime
async def redo_turns(
    runtime: Runtime,
    session: LastSession = "",
    keep_files: Annotated[bool, typer.Option("--keep-files", help="Redo only the history.")] = False,
) -> None:
    """Reverse the last undo: the history and its file changes.

    Example: bridle redo
    """
    id = session
    done = await runtime.redo(id, keep_files=keep_files)
    say(f"redone: turn {done.turn} and all later turns, in {id}")
    _tell(done)


def _tell(reverted: Reverted) -> None:
    for name in reverted.files[:MOST_NAMED]:
        say(f"  {name}")
    if len(reverted.files) > MOST_NAMED:
        say(f"  and {len(reverted.files) - MOST_NAMED} more files")
    tell_notices(reverted.unknown)


@with_runtime
async def show_diff(
    runtime: Runtime,
    session: LastSession = "",
    turn: Annotated[int, typer.Option(help="Only the changes of this turn.", min=0)] = 0,
) -> None:
    """Show the file changes of a session, including those of its subagents.

    Example: bridle diff --turn 2
    """
    say_diff(await runtime.diff(session, turn))
