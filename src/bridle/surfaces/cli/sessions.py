"""Commands about all sessions: list, search, rename."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bridle.core.parts import Call, Prompt, Text
from bridle.core.session import Session
from bridle.errors import ConfigError, JournalRefused
from bridle.runtime import Runtime
from bridle.runtime.moving import rename_session
from bridle.surfaces.cli.manage import SessionId, with_runtime
from bridle.surfaces.cli.text import plain

sessions = typer.Typer(help="What has been done.", invoke_without_command=True)
LONGEST_TITLE = 100


@sessions.callback()
def listed(
    context: typer.Context,
    all: Annotated[bool, typer.Option("--all", help="Also those of subagents.")] = False,
    search: Annotated[str, typer.Option(help="Only those in which these words occur.")] = "",
) -> None:
    """List sessions, the one that changed last first.

    Example: bridle sessions --search "failing test"
    """
    if context.invoked_subcommand is not None:
        return

    async def work(runtime: Runtime) -> None:
        for row in await runtime.sessions():
            if row.info.parent and not all:
                continue
            try:
                state = await runtime.load(row.info.id)
            except JournalRefused:
                typer.echo(f"{row.info.id}  damaged")
                continue
            if search and not _has(state, search.casefold()):
                continue
            status = await runtime.status(row.info.id)
            when = datetime.fromtimestamp(row.updated, UTC).strftime("%Y-%m-%d %H:%M")
            first = next((part.text for part in state.parts.values() if isinstance(part, Prompt)), "")
            title = row.info.title or first
            line = f"{row.info.id}  {when}  {status.state:<11}  {plain(title)[:60]!s}".replace("\n", " ")
            typer.echo(line.rstrip())

    asyncio.run(with_runtime(Path(), work))


def _has(session: Session, words: str) -> bool:
    """Whether something that was said, called or answered has these words in it."""
    assert session.info is not None
    if words in session.info.title.casefold():
        return True
    for part in session.parts.values():
        said = part.text if isinstance(part, (Prompt, Text)) else part.arguments if isinstance(part, Call) else ""
        if words in said.casefold():
            return True
    return False


@sessions.command("rename")
def rename(session: SessionId, title: Annotated[str, typer.Argument(help="What it is called from now on.")]) -> None:
    """Give a session a title.

    Example: bridle sessions rename ses_01m7f61fgm8e25fmtbew1j8mk4 "The failing test"
    """
    words = " ".join(title.split())
    if not words or len(words) > LONGEST_TITLE:
        raise ConfigError(f"a title has 1 to {LONGEST_TITLE} letters")

    async def work(runtime: Runtime) -> None:
        await rename_session(runtime, session, words)

    asyncio.run(with_runtime(Path(), work))
