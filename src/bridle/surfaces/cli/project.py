"""`bridle permissions` and `bridle trust`: a project's permanent permissions, and trust, which `run` asks for too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bridle.errors import ConfigError
from bridle.runtime import without_runtime
from bridle.surfaces.cli.commands import Dir, ListingGroup
from bridle.surfaces.cli.output import say, tell

permissions = typer.Typer(cls=ListingGroup, invoke_without_command=True)


@permissions.callback()
def listed(dir: Dir = Path()) -> None:
    """List the permanent permissions of a project, which were granted with "always".

    Example: bridle permissions
    """
    found = [f"{number:>3}  {line}" for number, line in enumerate(without_runtime.open_project(dir).approvals(), 1)]
    say("\n".join(found or ["no permanent permissions"]))


@permissions.command("revoke")
def revoke(
    which: Annotated[str, typer.Argument(help="Number in the list, or all.")],
    dir: Dir = Path(),
) -> None:
    """Revoke a permanent permission; Bridle asks again from then on.

    Example: bridle permissions revoke 2
    """
    if which != "all" and not which.isdecimal():
        raise ConfigError(f"give a number of the list, or all, not {which!r}")
    for line in without_runtime.open_project(dir).revoke(None if which == "all" else int(which)):
        say(f"revoked  {line}")


def trust(
    directory: Annotated[Path, typer.Argument(help="Project directory.")] = Path(),
    revoke: Annotated[bool, typer.Option("--revoke", help="Stop trusting it.")] = False,
) -> None:
    """Trust a project's own files in their present state: its settings, tools and commands.

    When they change, Bridle asks again. Example: bridle trust
    """
    project = without_runtime.open_project(existing(directory))
    if revoke:
        say(f"{project.root} is no longer trusted" if project.distrust() else f"{project.root} was not trusted")
        return
    for words in project.ignored():
        say(f"  {words}")
    project.trust()
    say(f"{project.root} is trusted, as it is now")


def project_here(named: str = 'bridle run --dir . "…"') -> Path:
    """Return the current directory. Raises `ConfigError` if it contains the home, which must be `named`."""
    here = Path()
    if contains_home(here):
        raise ConfigError(
            f"{here.resolve()} contains your home directory: change to the directory of a project, "
            f"or name this one: `{named}`"
        )
    return here


def contains_home(directory: Path) -> bool:
    """Return whether a directory is the user's home directory or above it, with all links followed."""
    return Path("~").expanduser().resolve().is_relative_to(directory.resolve())


def existing(directory: Path, flag: str = "") -> Path:
    """Return a given directory. Raises `ConfigError` if it is not a directory."""
    if not directory.is_dir():
        raise ConfigError(f"{flag}{directory} is not a directory")
    return directory


def ask_for_trust(directory: Path) -> None:
    """Ask on the terminal whether to trust a project's files, if they are new or changed; remember the answer."""
    project = without_runtime.open_project(directory)
    ignored = project.ignored() if project.state() in ("unknown", "changed") else ()
    if not ignored:
        return
    again = "have changed since you trusted them. They request" if project.state() == "changed" else "request"
    tell(f"? The files of {project.root} {again} this:")
    tell("".join(f"    {words}\n" for words in ignored), end="")
    tell("  Trust them in their present state? [y/N]: ", end="")
    line = sys.stdin.readline().strip().lower()
    if line in ("y", "yes"):
        project.trust()
    elif line:
        project.decline()
