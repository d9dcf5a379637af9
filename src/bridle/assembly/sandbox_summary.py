"""Describes the sandbox of a project in words, for people: what commands may write, read and never see."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from bridle.assembly.command_environment import OWN, CommandEnvironment
from bridle.process.containment import Contained, contain
from bridle.process.sandbox import Sandbox

MOST_NAMED = 12
Row = tuple[bool, str]


def effective_sandbox(commands: CommandEnvironment, directory: Path) -> list[Row]:
    """Return one row for each restriction on commands in a project: whether it is in force, and its description."""
    sandbox = commands.sandbox("doctor")
    if sandbox is None:
        return [(False, f"commands run without a sandbox: {commands.warning() or 'sandbox.mode is off'}")]
    try:
        project = directory.resolve()
        contained = contain(sandbox, project, project, commands.environment, permits=commands.permits)
        return [(True, words) for words in (*_files(commands, sandbox, contained), *_bounds(commands))]
    finally:
        commands.drop()


def _files(commands: CommandEnvironment, sandbox: Sandbox, contained: Contained) -> Iterable[str]:
    layout, home = contained.layout, sandbox.home()
    yield f"writable: {_listed((layout.project, *layout.writable, *sandbox.writable))}, and a /tmp of its own"
    yield f"writable: caches of Bridle's own in {home.caches}"
    yield "readable: the system, without sockets and without other homes"
    yield f"readable in your home: {_listed(home.seen())}"
    if home.opened:
        yield f"readable in your home, as sandbox.home says: {_listed(home.opened)}"
    yield f"hidden: the rest of {home.named}, including keys and configuration"
    hidden = [path for path in (*sandbox.hidden, *sandbox.journal) if os.path.exists(path)]
    if hidden:
        yield f"hidden: {_listed(hidden)}, as Bridle's own or as sandbox.hidden says"
    inner = layout.project
    locked = [path.relative_to(inner) if path.is_relative_to(inner) else path for path in layout.locked]
    if locked:
        yield f"read-only, since git or another program obeys it: {_listed(locked)}"
    own = [path for path in OWN if path.resolve().is_relative_to(layout.project)]
    if own:
        yield f"read-only, since Bridle runs from it: {_listed(own)}"
    yield f"restored after a command that changes it, at any depth: {_listed(sorted(contained.watch.names))}"
    masked = _listed(contained.masked) if contained.masked else "no file here"
    yield f"cannot be opened ({', '.join(sandbox.masks)}): {masked}"


def _bounds(commands: CommandEnvironment) -> Iterable[str]:
    yield "network: open, as sandbox.network says" if commands.settings.network else "network: none but allowed hosts"
    given = commands.settings
    bounds = {
        "processes": given.processes,
        "MB of memory for each": given.memory_mb,
        "MB of memory for all": given.total_memory_mb,
        "MB for a file": given.file_mb,
        "MB less free disk": given.disk_mb,
    }
    yield "at most " + ", ".join(f"{most:,} {name}" for name, most in bounds.items() if most) + " for a command"


def _listed(names: Iterable[object]) -> str:
    every = list(map(str, names))
    more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
    return (", ".join(every[:MOST_NAMED]) or "nothing") + more
