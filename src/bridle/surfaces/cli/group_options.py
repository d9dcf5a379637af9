"""Options of a group of commands: they are for its list, and mean nothing before one of its commands."""

from __future__ import annotations

import typer

from bridle.errors import ConfigError


def goes_on(context: typer.Context) -> bool:
    """Whether a command of the group follows; raises `ConfigError` if an option stands before it that has no effect."""
    if context.invoked_subcommand is None:
        return False
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            option = parameter.opts[0]
            behind = f"`{context.command_path} {context.invoked_subcommand} {option}`"
            raise ConfigError(f"{option} has no effect there: write it behind the command, as in {behind}")
    return True
