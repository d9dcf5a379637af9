"""Shared building blocks of commands: common parameters, listing groups, decorators that open a runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from bridle.errors import ConfigError
from bridle.runtime import Runtime
from bridle.runtime.project import Backend
from bridle.runtime.sessions import Sessions
from bridle.surfaces.cli import completion
from bridle.surfaces.cli.output import tell_notices
from bridle.surfaces.cli.remote import Attach, SessionsPlace, TokenFile
from bridle.surfaces.cli.session_ids import named_session

Dir = Annotated[Path, typer.Option(help="Project directory.")]
Trusted = Annotated[bool, typer.Option("--trust", help="Trust this project's files for this run.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Format = Annotated[
    str, typer.Option(help="Output format: text or json.", autocompletion=completion.words("text", "json"))
]
Formats = Literal["text", "json"]
Model = Annotated[
    str | None,
    typer.Option("-m", "--model", help="PROVIDER/MODEL, gguf:FILE or scripted:FILE.", autocompletion=completion.models),
]
SystemText = Annotated[str, typer.Option(help="Additional text for the system prompt.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Output file instead of standard output.")]
LastSession = Annotated[
    str,
    typer.Argument(
        help="Session id, or its beginning; without it, the last session of this directory.",
        autocompletion=completion.sessions,
    ),
]

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

    def command(**given: Any) -> None:
        given["session"], directory = session_and_project(given["session"])
        finish(_in_runtime(directory, work, given))

    return signed(command, work)


def with_sessions(work: Work) -> Command:
    """Make a command of a coroutine whose first parameter is the user's runtime, or with `--attach` a server."""
    return _with_sessions(work, of_session=False)


def in_project_sessions(work: Work) -> Command:
    """Like `with_sessions`, but a runtime is that of the project of the parameter `session`."""
    return _with_sessions(work, of_session=True)


def _with_sessions(work: Work, *, of_session: bool) -> Command:
    def command(*, attach: Attach = None, token_file: TokenFile = None, **given: Any) -> None:
        place = SessionsPlace(attach, token_file)
        place.check()
        directory: Path | str = Path() if attach is None else ""
        if of_session and attach is None:
            given["session"], directory = session_and_project(given["session"])
        finish(_in_backend(place.opened(directory), work, given))

    return signed(command, work)


async def _in_backend(opening: AbstractAsyncContextManager[Backend], work: Work, given: dict[str, Any]) -> int | None:
    async with opening as backend:
        tell_notices(backend.new_notices())
        await _name_sessions(backend, given)
        return await work(backend, **given)


async def _in_runtime(directory: Path, work: Work, given: dict[str, Any]) -> int | None:
    async with Runtime.open(directory) as runtime:
        tell_notices(runtime.new_notices())
        await _name_sessions(runtime, given)
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


async def _name_sessions(sessions: Sessions, given: dict[str, Any]) -> None:
    """Replace what a person gave as sessions by their ids: the beginning of one, or nothing for the last."""
    match given.get("session"):
        case str(named):
            given["session"] = await named_session(sessions, named)
        case [*several]:
            given["session"] = [await named_session(sessions, each) for each in several]


def session_and_project(given: str) -> tuple[str, Path]:
    """Return the session that a person means, and its project: the current directory if that no longer exists."""

    async def find() -> tuple[str, Path]:
        async with Runtime.open() as runtime:
            session = await named_session(runtime, given)
            info = (await runtime.load(session)).info
        assert info is not None
        return session, Path(info.directory)

    session, folder = asyncio.run(find())
    return session, folder if folder.is_dir() else Path()
