"""`bridle report`: write a session as one HTML page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bridle.errors import ConfigError
from bridle.runtime import Runtime
from bridle.surfaces.cli.manage import with_runtime
from bridle.surfaces.cli.new_files import write_file
from bridle.surfaces.cli.output import say
from bridle.surfaces.cli.undo import MaybeSession


def report(
    session: MaybeSession = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")] = Path("report.html"),
) -> None:
    """Write a session as one HTML page: what ran when, what it used, what closed it, and what it changed.

    What is called or looks secret is left out. The page needs no network.

    Example: bridle report -o report.html
    """

    async def work(runtime: Runtime) -> str:
        return await made(runtime, session or await runtime.last_session())

    page = asyncio.run(with_runtime(Path(), work))
    write_file(output, page.encode())
    say(f"written: {output}")


async def made(runtime: Runtime, session: str) -> str:
    """Return the HTML page of a session."""
    # Imported here because no other command needs it.
    from bridle import __version__
    from bridle.surfaces.report.gather import gathered
    from bridle.surfaces.report.page import page

    state = await runtime.load(session)
    assert state.info is not None
    tree = await runtime.tree_entries(session)
    turns = gathered(tree[session], tree)
    diffs: dict[int, str] = {}
    for turn in turns:
        try:
            diffs[turn.start.number] = await runtime.diff(session, turn.start.number)
        except ConfigError as missing:
            turn.notes.append((turn.seconds, f"what this turn changed cannot be shown: {missing}"))
    return page(state.info, turns, diffs, f"Made by Bridle {__version__}")
