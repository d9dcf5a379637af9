"""`bridle permissions` and `bridle trust`: permanent permissions of a project, and trust in its files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bridle.errors import ConfigError
from bridle.runtime import open_project
from bridle.surfaces.cli.group_options import goes_on
from bridle.surfaces.cli.output import say, tell

permissions = typer.Typer(help="What you have said always to in this project.", invoke_without_command=True)
Dir = Annotated[Path, typer.Option(help="The project.")]


@permissions.callback()
def listed(context: typer.Context, dir: Dir = Path()) -> None:
    """List what passes without a question in this project, because you said always.

    Example: bridle permissions
    """
    if goes_on(context):
        return
    found = open_project(dir).approvals()
    for number, line in enumerate(found, 1):
        say(f"{number:>3}  {line}")
    if not found:
        say("nothing: whatever needs a person is asked")


@permissions.command("revoke")
def revoke(
    which: Annotated[str, typer.Argument(help="The number in the list, or all.")],
    dir: Dir = Path(),
) -> None:
    """Forget an always; it is asked again from then on.

    Example: bridle permissions revoke 2
    """
    if which != "all" and not which.isdecimal():
        raise ConfigError(f"give a number of the list, or all, not {which!r}")
    for line in open_project(dir).revoke(None if which == "all" else int(which)):
        say(f"revoked  {line}")


def trust(
    directory: Annotated[Path, typer.Argument(help="The project.")] = Path(),
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust it no more.")] = False,
) -> None:
    """Let a project's own files count as they are now: its settings, tools and commands.

    When they change, it is asked again. Example: bridle trust
    """
    if not directory.is_dir():
        raise ConfigError(f"{directory} is not a directory")
    project = open_project(directory)
    if revoke:
        say(f"{project.root} is not trusted any more" if project.distrust() else f"{project.root} was not trusted")
        return
    for words in project.ignored():
        say(f"  {words}")
    project.trust()
    say(f"{project.root} is trusted, as it is now")


def project_here() -> Path:
    """Return the current directory. Raises `ConfigError` if it contains the home, which needs an explicit `--dir`."""
    here = Path()
    if Path("~").expanduser().resolve().is_relative_to(here.resolve()):
        raise ConfigError(
            f"{here.resolve()} holds your home with everything in it: go to the folder of a project, "
            'or name this one: `bridle run --dir . "…"`'
        )
    return here


def existing(directory: Path) -> Path:
    """Return the directory given with `--dir`. Raises `ConfigError` if it is not a directory."""
    if not directory.is_dir():
        raise ConfigError(f"--dir {directory} is not a directory")
    return directory


def ask_for_trust(directory: Path) -> None:
    """Ask on the terminal whether to trust a project's files, if they are new or changed; remember the answer."""
    project = open_project(directory)
    ignored = project.ignored() if project.state() in ("unknown", "changed") else ()
    if not ignored:
        return
    again = "have changed since you trusted them. They ask" if project.state() == "changed" else "ask"
    tell(f"? The files of {project.root} {again} for this:")
    tell("".join(f"    {words}\n" for words in ignored), end="")
    tell("  Trust them, as they are now? [y/N]: ", end="")
    line = sys.stdin.readline().strip().lower()
    if line in ("y", "yes"):
        project.trust()
    elif line:
        project.decline()
