"""`bridle export`, `bridle import` and `bridle fork`: copy sessions to and from files, or fork them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bridle.runtime import Runtime
from bridle.runtime.transfer import read_bundle
from bridle.surfaces.cli.manage import SessionId
from bridle.surfaces.cli.new_files import write_file
from bridle.surfaces.cli.output import say, say_json_document


def export(
    session: SessionId,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The file, if not standard output.")] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Without what is called or looks secret.")] = False,
) -> None:
    """Write a session, with its subagents and stored outputs, as one JSON file.

    Example: bridle export ses_01m7f61fgm8e25fmtbew1j8mk4 --redact -o session.json
    """

    async def work() -> bytes:
        async with Runtime.open() as runtime:
            return await runtime.export(session, redact=redact)

    raw = asyncio.run(work())
    if output is None:
        say_json_document(raw)
        return
    write_file(output, raw)
    say(f"written: {output}")


def take_in(file: Annotated[Path, typer.Argument(help="What `bridle export` wrote.")]) -> None:
    """Take an exported session into the journal; it goes on where it ended.

    Example: bridle import session.json
    """

    async def work() -> str:
        async with Runtime.open() as runtime:
            return await runtime.import_bundle(read_bundle(file))

    say(asyncio.run(work()))


def fork(
    session: SessionId,
    turn: Annotated[int | None, typer.Option(help="Without this turn and what came after it.", min=1)] = None,
) -> None:
    """Make a new session with the same history, and print its id; the old one stays as it is.

    Example: bridle fork ses_01m7f61fgm8e25fmtbew1j8mk4 --turn 3
    """

    async def work() -> str:
        async with Runtime.open() as runtime:
            return await runtime.fork(session, turn)

    say(asyncio.run(work()))
