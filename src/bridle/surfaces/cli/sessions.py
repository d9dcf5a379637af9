"""`bridle sessions`: list, search, rename, delete and prune sessions."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bridle.core.parts import Call, Prompt, Text
from bridle.core.session import Session
from bridle.errors import ConfigError, JournalRefused
from bridle.runtime import Runtime
from bridle.runtime.retention import expired, prune, size_of
from bridle.surfaces.cli.group_options import goes_on
from bridle.surfaces.cli.manage import SessionId, with_runtime
from bridle.surfaces.cli.output import confirmed, say
from bridle.surfaces.shared.safe_text import plain

sessions = typer.Typer(help="What has been done.", invoke_without_command=True)
LONGEST_TITLE = 100


@sessions.callback()
def listed(
    context: typer.Context,
    all: Annotated[bool, typer.Option("--all", help="Also those of subagents, and those without a prompt.")] = False,
    search: Annotated[str, typer.Option(help="Only those in which these words occur.")] = "",
) -> None:
    """List sessions, the one that changed last first.

    Example: bridle sessions --search "failing test"
    """
    if goes_on(context):
        return

    async def work(runtime: Runtime) -> None:
        for row in await runtime.sessions():
            if not all and (row.info.parent or not await runtime.is_begun(row)):
                continue
            try:
                state = await runtime.load(row.info.id)
            except JournalRefused:
                say(f"{row.info.id}  damaged")
                continue
            if search and not _has(state, search.casefold()):
                continue
            status = await runtime.status(row.info.id)
            when = datetime.fromtimestamp(row.updated, UTC).strftime("%Y-%m-%d %H:%M")
            first = next((part.text for part in state.parts.values() if isinstance(part, Prompt)), "")
            title = row.info.title or first
            line = f"{row.info.id}  {when}  {status.state:<11}  {plain(title)[:60]!s}".replace("\n", " ")
            say(line.rstrip())

    asyncio.run(with_runtime(Path(), work))


def _has(session: Session, words: str) -> bool:
    """Return whether the title, a prompt, an answer or a call's arguments contain these words."""
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
        await runtime.rename(session, words)

    asyncio.run(with_runtime(Path(), work))


@sessions.command("delete")
def delete(
    session: Annotated[list[str], typer.Argument(help="Sessions, as `bridle sessions` lists them.")],
    yes: Annotated[bool, typer.Option("--yes", help="Without a question.")] = False,
) -> None:
    """Delete sessions for good, with their subagents, long outputs and kept files.

    Example: bridle sessions delete ses_01m7f61fgm8e25fmtbew1j8mk4
    """

    async def work(runtime: Runtime) -> None:
        for id in session:
            await size_of(runtime, id)
        _confirmed(len(session), yes=yes)
        for id in dict.fromkeys(session):
            for gone in await runtime.delete(id):
                say(f"deleted: {gone}")

    asyncio.run(with_runtime(Path(), work))


@sessions.command("prune")
def prune_sessions(
    days: Annotated[float, typer.Option(help="Those that have rested for longer.", min=0)] = 0,
    megabytes: Annotated[float, typer.Option(help="The oldest, if all take more than this.", min=0)] = 0,
    yes: Annotated[bool, typer.Option("--yes", help="Without a question.")] = False,
) -> None:
    """Delete old sessions, by age or by size; without options, as [sessions] in the configuration says.

    Turns that can still go on are kept in any case.

    Example: bridle sessions prune --days 30
    """

    async def work(runtime: Runtime) -> None:
        given = runtime.settings.sessions
        bounds = {"days": days or given.keep_days, "megabytes": megabytes or given.keep_mb}
        if not any(bounds.values()):
            raise ConfigError("nothing says which: give --days or --megabytes, or set sessions.keep_days")
        wanted = await expired(runtime, **bounds)
        if wanted:
            _confirmed(len(wanted), yes=yes)
        gone = await prune(runtime, **bounds) if wanted else []
        say(f"deleted: {len(gone)} sessions")

    asyncio.run(with_runtime(Path(), work))


def _confirmed(number: int, *, yes: bool) -> None:
    """Ask before deleting; without a terminal, `--yes` is required. Raises `ConfigError` or `typer.Exit`."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError("deleting is for good: say --yes")
    if not confirmed(f"Delete {number} session{'s' if number != 1 else ''} for good?"):
        raise typer.Exit(1)
