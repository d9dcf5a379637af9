"""Parameters that several commands share, command groups that list, and decorators that open a runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from bridle.errors import ConfigError
from bridle.runtime import Runtime
from bridle.surfaces.cli.output import tell_notices

Dir = Annotated[Path, typer.Option(help="Project directory.")]
Trusted = Annotated[bool, typer.Option("--trust", help="Trust this project's files for this run.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Format = Annotated[str, typer.Option(help="Output format: text or json.")]
Formats = Literal["text", "json"]
Model = Annotated[str | None, typer.Option(help="PROVIDER/MODEL, gguf:FILE or scripted:FILE.")]
SystemText = Annotated[str, typer.Option(help="Additional text for the system prompt.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Output file instead of standard output.")]
SessionId = Annotated[str, typer.Argument(help="Session id, as listed by `bridle sessions`.")]
LastSession = Annotated[str, typer.Argument(help="Session id; without it, the last session of this directory.")]

Work = Callable[..., Awaitable[int | None]]
Command = Callable[..., None]


class ListingGroup(TyperGroup):
    """A command group that lists if no subcommand follows; the options of the list are rejected before one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the subcommand instead of the list; raises `ConfigError` if an option would have no effect."""
        found = super().resolve_command(ctx, args)
        for parameter in self.params:
            source = ctx.get_parameter_source(parameter.name)
            if source is not None and source.name == "COMMANDLINE" and not ctx.resilient_parsing:
                option = parameter.opts[0]
                behind = f"`{ctx.command_path} {found[0]} {option}`"
                raise ConfigError(f"{option} has no effect there: write it behind the command, as in {behind}")
        self.callback = None
        return found


def with_runtime(work: Work) -> Command:
    """Make a command of a coroutine whose first parameter is the user's runtime; it may return an exit status."""
    return signed(lambda **given: finish(_in_runtime(Path(), work, given)), work)


def in_project(work: Work) -> Command:
    """Like `with_runtime`, but in the project of the parameter `session`, so that the project's settings apply."""
    return signed(lambda **given: finish(_in_runtime(project_of(given["session"]), work, given)), work)


async def _in_runtime(directory: Path, work: Work, given: dict[str, Any]) -> int | None:
    async with Runtime.open(directory) as runtime:
        tell_notices(runtime.new_notices())
        return await work(runtime, **given)


def signed(command: Command, work: Work) -> Command:
    """Give a command the parameters of `work` except the first, followed by its own named ones, for Typer to parse."""
    _, *parameters = signature(work, eval_str=True).parameters.values()
    parameters += [
        each for each in signature(command, eval_str=True).parameters.values() if each.kind is not Parameter.VAR_KEYWORD
    ]
    named = [each.replace(kind=max(each.kind, Parameter.KEYWORD_ONLY)) for each in parameters]
    signed = wraps(work)(command)
    vars(signed)["__signature__"] = Signature(named)
    return signed


def finish(work: Coroutine[Any, Any, int | None]) -> None:
    """Run the work of a command to its end; raises `typer.Exit` with its status unless that is 0."""
    if status := asyncio.run(work):
        raise typer.Exit(status)


def project_of(session: str) -> Path:
    """Return the project directory of a session, or the current directory if it no longer exists."""

    async def find() -> Path:
        async with Runtime.open() as runtime:
            info = (await runtime.load(session)).info
        assert info is not None
        return Path(info.directory)

    folder = asyncio.run(find())
    return folder if folder.is_dir() else Path()
