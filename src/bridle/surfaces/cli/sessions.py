"""`bridle sessions`: list, search, rename, pin, archive, delete and prune sessions, or move one to other workers."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated

import typer

from bridle.core.limits import counted
from bridle.core.parts import Call, Prompt, Text
from bridle.core.session import Session
from bridle.errors import ConfigError, JournalRefused
from bridle.runtime import Runtime
from bridle.runtime.project import Backend
from bridle.runtime.retention import expired, prune
from bridle.runtime.sessions import SessionQuery, pinned_first
from bridle.surfaces.cli import completion
from bridle.surfaces.cli.commands import LastSession, ListingGroup, Yes, with_runtime, with_sessions
from bridle.surfaces.cli.output import confirmed, say, tell
from bridle.surfaces.cli.session_ids import named_session
from bridle.surfaces.shared.safe_text import plain

sessions = typer.Typer(cls=ListingGroup, invoke_without_command=True)
LONGEST_TITLE = 100


@sessions.callback()
@with_sessions
async def listed(
    runtime: Backend,
    all: Annotated[bool, typer.Option("--all", help="Include subagents' sessions and those without a prompt.")] = False,
    search: Annotated[str, typer.Option(help="List only sessions that contain this text.")] = "",
    archived: Annotated[bool, typer.Option("--archived", help="List the archived sessions instead.")] = False,
) -> None:
    """List sessions, most recently changed first, pinned ones before the others.

    Example: bridle sessions --search "failing test"
    """
    rows = await runtime.sessions(SessionQuery(archived="only" if archived else "without"))
    for row in pinned_first(rows):
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
        pin = "* " if row.info.pinned else ""
        line = f"{row.info.id}  {when}  {status.state:<11}  {pin}{plain(row.info.title or first)[:60]}"
        say(line.replace("\n", " ").rstrip())


def _has(session: Session, words: str) -> bool:
    """Return whether the title, a prompt, an answer or a call's arguments contain these words."""
    assert session.info is not None
    texts = [session.info.title]
    for part in session.parts.values():
        texts.append(
            part.text if isinstance(part, (Prompt, Text)) else part.arguments if isinstance(part, Call) else ""
        )
    return any(words in text.casefold() for text in texts)


@sessions.command("rename")
@with_sessions
async def rename(
    runtime: Backend,
    first: Annotated[
        str,
        typer.Argument(
            metavar="session", help="Session id; without it, this directory's last.", autocompletion=completion.sessions
        ),
    ] = "",
    second: Annotated[str | None, typer.Argument(metavar="title", help="The new title, in quotes.")] = None,
) -> None:
    """Give a session a title.

    Example: bridle sessions rename "The failing test"
    """
    session, title = ("", first) if second is None else (first, second)
    shown = " ".join(title.split())
    if not 0 < len(shown) <= LONGEST_TITLE:
        raise ConfigError(f"a title must have 1 to {LONGEST_TITLE} characters, not {len(shown)}")
    await runtime.rename(await named_session(runtime, session), shown)


@sessions.command("pin")
@with_sessions
async def pin(runtime: Backend, session: LastSession = "") -> None:
    """Keep a session at the top of lists, and out of `bridle sessions prune`.

    Example: bridle sessions pin ses_01m7f61fgm8e25fmtbew1j8mk4
    """
    await runtime.pin(session, pinned=True)


@sessions.command("unpin")
@with_sessions
async def unpin(runtime: Backend, session: LastSession = "") -> None:
    """List a session among the others again.

    Example: bridle sessions unpin ses_01m7f61fgm8e25fmtbew1j8mk4
    """
    await runtime.pin(session, pinned=False)


@sessions.command("archive")
@with_sessions
async def archive(runtime: Backend, session: LastSession = "") -> None:
    """Leave a session out of lists; `bridle sessions --archived` shows it.

    Example: bridle sessions archive ses_01m7f61fgm8e25fmtbew1j8mk4
    """
    await runtime.archive(session, archived=True)


@sessions.command("unarchive")
@with_sessions
async def unarchive(runtime: Backend, session: LastSession = "") -> None:
    """Take a session out of the archive.

    Example: bridle sessions unarchive ses_01m7f61fgm8e25fmtbew1j8mk4
    """
    await runtime.archive(session, archived=False)


@sessions.command("move")
@with_sessions
async def move(
    runtime: Backend,
    place: Annotated[str, typer.Option(help="Name of the machine, as `bridle workers` shows it after the @.")],
    session: LastSession = "",
) -> None:
    """Let the workers of another machine take a session with its subagents.

    Its project directory must exist there, with the files.

    Example: bridle sessions move ses_01m7f61fgm8e25fmtbew1j8mk4 --place build-2
    """
    for id in await runtime.move(session, place):
        say(f"moved: {id} to {place}")
    if missing := await runtime.worker_notice(session):
        tell(f"bridle: {missing}")


@sessions.command("delete")
@with_sessions
async def delete(
    runtime: Backend,
    session: Annotated[
        list[str],
        typer.Argument(help="Session ids, as listed by `bridle sessions`.", autocompletion=completion.sessions),
    ],
    yes: Yes = False,
) -> None:
    """Delete sessions permanently, with their subagents, stored outputs and snapshots.

    Example: bridle sessions delete ses_01m7f61fgm8e25fmtbew1j8mk4
    """
    for id in session:
        # A damaged session can still be deleted; an unknown one is an error before anything is deleted.
        with suppress(JournalRefused):
            await runtime.status(id)
    _confirm(len(session), yes=yes)
    for id in dict.fromkeys(session):
        for gone in await runtime.delete(id):
            say(f"deleted: {gone}")


@sessions.command("prune")
@with_runtime
async def prune_sessions(
    runtime: Runtime,
    days: Annotated[float, typer.Option(help="Delete sessions unused for longer than this.", min=0)] = 0,
    megabytes: Annotated[float, typer.Option(help="Delete the oldest until all take less than this.", min=0)] = 0,
    yes: Yes = False,
) -> None:
    """Delete old sessions by age or size; without options, by [sessions] of the configuration.

    Sessions with an unfinished turn are always kept.

    Example: bridle sessions prune --days 30
    """
    given = runtime.settings.sessions
    bounds = {"days": days or given.keep_days, "megabytes": megabytes or given.keep_mb}
    if not any(bounds.values()):
        raise ConfigError("no age or size is set: give --days or --megabytes, or set sessions.keep_days")
    wanted = await expired(runtime, **bounds)
    if wanted:
        _confirm(len(wanted), yes=yes)
    gone = await prune(runtime, **bounds) if wanted else []
    say(f"deleted: {counted(len(gone), 'session')}")


def _confirm(number: int, *, yes: bool) -> None:
    """Ask before deleting; without a terminal, `--yes` is required. Raises `ConfigError` or `typer.Exit`."""
    if not yes and not sys.stdin.isatty():
        raise ConfigError("sessions are deleted permanently: confirm with --yes")
    if not yes and not confirmed(f"Delete {counted(number, 'session')} permanently?"):
        raise typer.Exit(1)
