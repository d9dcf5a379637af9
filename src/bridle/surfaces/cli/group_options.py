"""Options of a command group: they apply to its list, and are rejected before a subcommand."""

from __future__ import annotations

import typer

from bridle.errors import ConfigError


def goes_on(context: typer.Context) -> bool:
    """Return whether a subcommand follows. Raises `ConfigError` if an option before it would have no effect."""
    if context.invoked_subcommand is None:
        return False
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            option = parameter.opts[0]
            behind = f"`{context.command_path} {context.invoked_subcommand} {option}`"
            raise ConfigError(f"{option} has no effect there: write it behind the command, as in {behind}")
    return True
