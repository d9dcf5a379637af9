"""`bridle export`, `import`, `fork` and `report`: write or read a session as a file, copy it, make its HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bridle.errors import ConfigError
from bridle.runtime import Runtime
from bridle.runtime.sessions import Sessions
from bridle.runtime.transfer import read_bundle
from bridle.surfaces.cli.commands import LastSession, Output, with_runtime
from bridle.surfaces.cli.new_files import write_file
from bridle.surfaces.cli.output import say, say_json_document


@with_runtime
async def export(
    runtime: Runtime,
    session: LastSession = "",
    output: Output = None,
    redact: Annotated[bool, typer.Option("--redact", help="Remove secrets.")] = False,
) -> None:
    """Write a session, with its subagents and stored outputs, as one JSON file.

    Example: bridle export ses_01m7f61fgm8e25fmtbew1j8mk4 --redact -o session.json
    """
    raw = await runtime.export(session, redact=redact)
    if output is None:
        say_json_document(raw)
    else:
        write_file(output, raw)


@with_runtime
async def take_in(
    runtime: Runtime, file: Annotated[Path, typer.Argument(help="A file written by `bridle export`.")]
) -> None:
    """Import an exported session, and print its id; it can be continued.

    Example: bridle import session.json
    """
    say(await runtime.import_bundle(read_bundle(file)))


@with_runtime
async def fork(
    runtime: Runtime,
    session: LastSession = "",
    turn: Annotated[int | None, typer.Option(help="Leave out this turn and all later ones.", min=1)] = None,
) -> None:
    """Copy a session's history into a new session, and print its id; the old session stays unchanged.

    Example: bridle fork ses_01m7f61fgm8e25fmtbew1j8mk4 --turn 3
    """
    say(await runtime.fork(session, turn))


@with_runtime
async def report(
    runtime: Runtime,
    session: LastSession = "",
    output: Annotated[Path, typer.Option("-o", "--output", help="Output file.")] = Path("report.html"),
) -> None:
    """Write a session as one HTML page: its timeline, usage, endings and file changes.

    Secrets are removed. The page needs no network.

    Example: bridle report -o report.html
    """
    page = await made(runtime, session)
    write_file(output, page.encode())


async def made(runtime: Sessions, session: str) -> str:
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
            turn.notes.append((turn.seconds, f"the changes of this turn cannot be shown: {missing}"))
    return page(state.info, turns, diffs, f"Made by Bridle {__version__}")
