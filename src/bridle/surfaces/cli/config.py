"""`bridle config` and `bridle init`: show settings, schema and system prompt, check files, write a starter file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer

from bridle.core.inbox import TurnOptions
from bridle.runtime import Runtime, without_runtime
from bridle.surfaces.cli import completion
from bridle.surfaces.cli.commands import Dir, ListingGroup, Model, SystemText, Trusted
from bridle.surfaces.cli.output import say, tell_notices
from bridle.wire.events import LineEvent, json_schema

config = typer.Typer(cls=ListingGroup, invoke_without_command=True)


@config.callback()
def listed(dir: Dir = Path(), trust: Trusted = False) -> None:
    """Show every setting with its value and origin.

    Example: bridle config
    """
    runtime = Runtime.open(dir, trusted=trust, in_memory=True)
    tell_notices(runtime.notices)
    rows = asyncio.run(runtime.configuration())
    width = max(len(row.key) for row in rows)
    for row in rows:
        say(f"{row.key:<{width}}  {row.value}  ({row.origin})")


@config.command("check")
def check(dir: Dir = Path()) -> None:
    """List all problems in the configuration files of a project.

    Example: bridle config check
    """
    found = without_runtime.config_faults(dir)
    say("\n".join(found or ["nothing is wrong"]))
    if found:
        raise typer.Exit(2)


@config.command("schema")
def schema(
    lines: Annotated[bool, typer.Option("--lines", help="Print the schema of `--format json` output instead.")] = False,
) -> None:
    """Print the JSON schema of bridle.toml, for editors.

    Example: bridle config schema > bridle.schema.json
    """
    say(json.dumps(json_schema(LineEvent) if lines else without_runtime.config_schema(), indent=2))


@config.command("prompt")
def prompt(
    agent: Annotated[str | None, typer.Option(help="The agent.", autocompletion=completion.agents)] = None,
    model: Model = None,
    system: SystemText = "",
    trust: Trusted = False,
) -> None:
    """Show the system prompt that a turn would send now.

    Example: bridle config prompt --agent plan
    """
    runtime = Runtime.open(trusted=trust, in_memory=True)
    tell_notices(runtime.notices)
    say(runtime.preview(TurnOptions(agent, model, system=system)).system)


def init(dir: Dir = Path()) -> None:
    """Write a starter bridle.toml in which every setting is commented out.

    Example: bridle init
    """
    say(f"written: {without_runtime.write_starter(dir)}")
