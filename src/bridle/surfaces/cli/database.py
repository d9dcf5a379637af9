"""`bridle database`: create, check, migrate, copy and prune a journal, in SQLite or on PostgreSQL."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bridle.core.limits import counted
from bridle.runtime import Runtime, database as databases
from bridle.runtime.argument_checks import fitting
from bridle.surfaces.cli.commands import Format, Formats, Yes, finish, with_runtime
from bridle.surfaces.cli.output import confirmed, progress_bar, say, say_json, tell

database = typer.Typer(help="Create, check, migrate, copy and prune a journal.", no_args_is_help=True)
MARKS = {"good": "✓", "warning": "!", "fault": "✗"}
WHERE = "A SQLite file or a postgresql:// address."


@database.command("init")
def init(
    role: Annotated[str, typer.Option(help="Let this role of PostgreSQL work with the data, and print how.")] = "",
    only_print: Annotated[bool, typer.Option("--print", help="Print the grants instead of executing them.")] = False,
) -> None:
    """Create the journal of your settings, with its queue; tables that exist stay as they are.

    On PostgreSQL, run it as the role that will own the tables.

    Example: bridle database init --role agents
    """

    async def work() -> None:
        for line in await databases.init_database(databases.own_journal(), role, only_print=only_print):
            say(line)

    finish(work())


@database.command("check")
def check(
    deep: Annotated[bool, typer.Option("--deep", help="Read every session and the ledger.")] = False,
    format: Format = "text",
) -> None:
    """Check the journal of your settings without changing it; exit with 1 if it is not sound.

    Example: bridle database check --deep
    """
    wanted = fitting("--format", format, Formats)

    async def work() -> int:
        health = await databases.check_database(databases.own_journal(), deep=deep)
        if wanted == "json":
            say_json(health)
        else:
            for finding in health.findings:
                say(f"{MARKS[finding.level]} {finding.text}")
            has = health.numbers
            items, workers = counted(has.open_items, "open inbox item"), counted(has.workers, "live worker")
            say(f"{counted(has.sessions, 'session')}, {_entries(has.entries, has.bytes)}, {items}, {workers}")
        return 0 if health.sound else 1

    finish(work())


@database.command("migrate")
def migrate() -> None:
    """Bring the tables of an older release up to date, also those of the queue.

    Example: bridle database migrate
    """

    async def work() -> None:
        for line in await databases.migrate_database(databases.own_journal()):
            say(line)

    finish(work())


@database.command("copy")
def copy(
    source: Annotated[str, typer.Argument(help=WHERE, show_default=False)],
    target: Annotated[str, typer.Argument(help=WHERE, show_default=False)],
    source_schema: Annotated[str, typer.Option(help="Schema of the source, if not journal.schema.")] = "",
    target_schema: Annotated[str, typer.Option(help="Schema of the target, if not journal.schema.")] = "",
) -> None:
    """Copy all sessions, inboxes, budgets and the ledger to another journal, and compare them.

    Run it again after an interruption to continue. Give passwords by ~/.pgpass, not in the address.

    Example: bridle database copy ~/.local/share/bridle/journal.db postgresql://db.example/agents
    """
    addresses = databases.named_journal(source, source_schema), databases.named_journal(target, target_schema)

    async def work() -> int:
        with progress_bar("sessions copied and compared") as advance:
            done = await databases.copy_database(*addresses, advance)
        there = f", {done.present} were there already" if done.present else ""
        say(f"copied: {counted(done.sessions, 'session')}{there}")
        say(
            f"compared: {_entries(done.entries, done.bytes)}, {counted(done.items, 'inbox item')}, "
            f"{counted(done.accounts, 'account')}, {counted(done.budgets, 'budget')}: all are the same"
        )
        for session in done.changed:
            tell(f"! {session} changed in the source meanwhile: delete the copy, and start again")
        return 1 if done.changed else 0

    finish(work())


@database.command("prune")
@with_runtime
async def prune(
    runtime: Runtime,
    days: Annotated[float, typer.Option(help="Delete sessions unused for longer than this.", min=0)] = 0,
    mb: Annotated[float, typer.Option(help="Delete the oldest until all take less than this.", min=0)] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be deleted.")] = False,
    yes: Yes = False,
) -> None:
    """Delete old sessions by age or size, and rows of dead workers and finished jobs.

    Without options, [sessions] of the configuration decides. Sessions with an unfinished turn are always kept. On a
    terminal, it asks first.

    Example: bridle database prune --days 30 --dry-run
    """
    asks = not dry_run and not yes and sys.stdin.isatty()
    if dry_run or asks:
        found = await databases.prune_database(runtime, days=days, megabytes=mb, dry_run=True)
        for session in found.sessions:
            say(f"would be deleted: {session}")
        say(f"would be deleted: {_counts(found)}")
        if dry_run:
            return
        if not confirmed("Delete them permanently?"):
            raise typer.Exit(1)
    say(f"deleted: {_counts(await databases.prune_database(runtime, days=days, megabytes=mb))}")


def _entries(number: int, size: int) -> str:
    return f"{number} {'entry' if number == 1 else 'entries'} with {counted(size, 'byte')}"


def _counts(found: databases.PruneResult) -> str:
    rows = f"{counted(found.workers, 'dead worker')}, {counted(found.jobs, 'finished job')}"
    return f"{counted(len(found.sessions), 'session')}, {rows}"
