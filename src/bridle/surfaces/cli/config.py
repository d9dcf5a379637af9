"""`bridle config` and `bridle init`: show effective settings, check files, write a starter file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from bridle.core.inbox import TurnOptions
from bridle.runtime import Runtime, config_faults, config_schema, config_values, write_starter
from bridle.surfaces.cli.group_options import goes_on
from bridle.surfaces.cli.output import say, tell_notices
from bridle.wire.events import lines_schema

config = typer.Typer(help="What is in force.", invoke_without_command=True)
Dir = Annotated[Path, typer.Option(help="The project.")]
Trusted = Annotated[bool, typer.Option("--trust", help="Trust this project's files for this run.")]


@config.callback()
def listed(context: typer.Context, dir: Dir = Path(), trust: Trusted = False) -> None:
    """Show every setting with its value, and where it came from.

    Example: bridle config
    """
    if goes_on(context):
        return
    rows, notices = config_values(dir, trusted=trust)
    tell_notices(notices)
    width = max(len(key) for key, _, _ in rows)
    for key, value, origin in rows:
        say(f"{key:<{width}}  {value}  ({origin})")


@config.command("check")
def check(dir: Dir = Path()) -> None:
    """Name everything that is wrong in the files that count for a project.

    Example: bridle config check
    """
    found = config_faults(dir)
    for line in found:
        say(line)
    if found:
        raise typer.Exit(2)
    say("nothing is wrong")


@config.command("schema")
def schema(
    lines: Annotated[bool, typer.Option("--lines", help="Of what `--format json` prints, instead.")] = False,
) -> None:
    """Print the JSON schema of bridle.toml, for editors.

    Example: bridle config schema > bridle.schema.json
    """
    say(json.dumps(lines_schema() if lines else config_schema(), indent=2))


@config.command("prompt")
def prompt(
    agent: Annotated[str | None, typer.Option(help="Whose.")] = None,
    model: Annotated[str | None, typer.Option(help="PROVIDER/MODEL, or scripted:FILE.")] = None,
    system: Annotated[str, typer.Option(help="More for the system prompt.")] = "",
    trust: Trusted = False,
) -> None:
    """Show the system prompt as a turn would send it now.

    Example: bridle config prompt --agent plan
    """
    options = TurnOptions(agent, model, system=system)
    runtime = Runtime.open(trusted=trust, in_memory=True)
    tell_notices(runtime.notices)
    say(runtime.preview(options).system)


def init(dir: Dir = Path()) -> None:
    """Write a bridle.toml to begin with, everything in it as a comment.

    Example: bridle init
    """
    say(f"written: {write_starter(dir)}")
