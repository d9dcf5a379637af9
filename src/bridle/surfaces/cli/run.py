"""`bridle run`: run one prompt, from its flags to its exit status."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO, cast

import msgspec
import typer

from bridle.core.inbox import PromptItem, TurnOptions
from bridle.core.limits import LimitName, wrong_limit
from bridle.core.parts import OnAsk
from bridle.errors import ConfigError
from bridle.runtime import Runtime
from bridle.runtime.argument_checks import file_bytes, stream_text
from bridle.runtime.inside_call import refuse_inside_call
from bridle.runtime.project import Expanded, submit_prompt
from bridle.surfaces.cli.foreground import ForegroundView, drive
from bridle.surfaces.cli.limit_flags import given_flags, limit_flags
from bridle.surfaces.cli.output import tell
from bridle.surfaces.cli.project import ask_for_trust, existing, project_here
from bridle.surfaces.shared.attachments import attached

Format = Literal["text", "json"]


@limit_flags("variant", "max_", lambda limit: f"Limit on {limit.units}{limit.help}.")
def run(
    prompt: Annotated[list[str] | None, typer.Argument(help="The prompt; also read from standard input.")] = None,
    agent: Annotated[str | None, typer.Option(help="Who runs.")] = None,
    model: Annotated[str | None, typer.Option(help="PROVIDER/MODEL, gguf:FILE or scripted:FILE.")] = None,
    variant: Annotated[str | None, typer.Option(help="How hard the model thinks, as `bridle models` names it.")] = None,
    session: Annotated[str | None, typer.Option(help="Go on in this session.")] = None,
    continue_last: Annotated[bool, typer.Option("--continue", help="Go on in the last one of this directory.")] = False,
    fork: Annotated[bool, typer.Option("--fork", help="In a copy of that session, which stays as it is.")] = False,
    queue: Annotated[bool, typer.Option("--queue", help="Wait for the running turn, instead of steering it.")] = False,
    no_reply: Annotated[bool, typer.Option("--no-reply", help="Only record the prompt.")] = False,
    system: Annotated[str, typer.Option(help="More for the system prompt.")] = "",
    tool: Annotated[list[str] | None, typer.Option(help="NAME=on or NAME=off; may be repeated.")] = None,
    schema: Annotated[Path | None, typer.Option(help="A JSON schema that the answer must fit.")] = None,
    file: Annotated[list[Path] | None, typer.Option(help="Attach a text, an image or a PDF; may be repeated.")] = None,
    format: Annotated[str, typer.Option(help="text or json.")] = "text",
    on_ask: Annotated[str | None, typer.Option(help="deny, pause or allow what needs a person.")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Trust this project's files for this run.")] = False,
    dir: Annotated[Path | None, typer.Option(help="The project; without it, this directory.")] = None,
    log_level: Annotated[str, typer.Option(help="quiet shows the answer alone; info also the steps.")] = "info",
    **limits: str | None,
) -> None:
    """Answer a prompt, and exit with what became of it.

    0 answered, 1 failed, 2 wrong usage, 3 a limit, 4 something was denied, 5 a person is awaited, 130 aborted.

    Examples: bridle run "fix the failing test"; git diff | bridle run --steps 5 "review this"; bridle run /review
    """
    asks, tools, output = _on_ask(on_ask, format, trust=trust), _tools(tool or []), _schema(schema)
    options = TurnOptions(agent, model, asks, system, tools, limits=_limits(limits), variant=variant, output=output)
    text, folder = _prompt(prompt or []), project_here() if dir is None else existing(dir)
    levels = _one_of("--format", format, ("text", "json")), _one_of("--log-level", log_level, ("info", "quiet"))
    if session and continue_last:
        raise ConfigError("give --session or --continue, not both")
    if not trust and options.on_ask == "person" and sys.stdin.isatty():
        ask_for_trust(folder)

    async def work(runtime: Runtime) -> tuple[str, str]:
        asked = await _expanded(runtime, *text, options)
        files = [attached(path, f"--file {path}") for path in file or []]
        wanted = asked.over(options) if not no_reply else None
        where = await _session(runtime, session, asked.text, wanted, continue_last=continue_last, fork=fork)
        return where, await submit_prompt(runtime, where, asked, options, files=files, queue=queue, reply=not no_reply)

    sys.exit(asyncio.run(drive(folder, work, ForegroundView(*levels, tells_of_others=True), trusted=trust)))


async def _expanded(runtime: Runtime, said: str, piped: str, options: TurnOptions) -> Expanded:
    """Expand a prompt's command and files; piped text beside typed words is data and names no files."""
    # Command arguments may be piped in; beside other words, piped text is data.
    data = piped if said and not said.startswith("/") else ""
    text = "\n\n".join(piece for piece in (said, "" if data else piped) if piece)
    asked = Expanded(text, ())
    if text.startswith("/") or "@" in text:
        asked = await runtime.expand(text, _confirm(options.on_ask), typed=said, agent=options.agent)
    return asked._replace(text=f"{asked.text}\n\n{data}") if data else asked


def _confirm(on_ask: OnAsk | None) -> Callable[[str], Awaitable[bool]]:
    """Return the confirmation of a template's shell commands: ask the person, or follow `--on-ask`."""

    async def confirm(command: str) -> bool:
        if on_ask != "person":
            return on_ask == "allow"
        tell(f"? Run `{command}` for this prompt? [y/N]: ", end="")
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    return confirm


async def _session(
    runtime: Runtime, given: str | None, words: str, wanted: TurnOptions | None, *, continue_last: bool, fork: bool
) -> str:
    """Return the session for a prompt; a new one or a fork is created only if the turn can begin."""
    found = await _found(runtime, given, continue_last)
    if found is None:
        if fork:
            raise ConfigError("--fork needs a session: give --session or --continue")
        return await runtime.begin(runtime.new_id(), words, wanted)
    if not fork:
        return found

    if wanted is not None:
        await runtime.check(await runtime.load(found), PromptItem("first", words, options=wanted))
    return await runtime.fork(found)


async def _found(runtime: Runtime, given: str | None, continue_last: bool) -> str | None:
    if given:
        await runtime.load(given)
        return given
    return await runtime.last_session("--continue: ") if continue_last else None


def _limits(given: Mapping[str, str | None]) -> dict[LimitName, int | float]:
    limits: dict[LimitName, int | float] = {}
    for limit, flag, text in given_flags(given, "max_"):
        value = _number(text)
        problem = wrong_limit(limit.name, value)
        if problem is not None:
            raise ConfigError(f"{flag} {problem}")
        limits[limit.name] = cast(int | float, value)
    return limits


def _schema(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        found = msgspec.json.decode(file_bytes(path, f"--schema {path}"))
    except msgspec.MsgspecError as error:
        raise ConfigError(f"--schema {path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"--schema {path}: a JSON schema is an object, not {found!r}")
    return found


def _number(text: str) -> int | float | str:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return text
    return value if not math.isnan(value) else text


def _one_of(flag: str, value: str, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise ConfigError(f"{flag} must be {' or '.join(allowed)}, not {value!r}")
    return value


def _on_ask(given: str | None, format: str, *, trust: bool) -> OnAsk:
    if trust or given == "allow":
        refuse_inside_call("`bridle run --trust`" if trust else "`bridle run --on-ask allow`")
    if given is None:
        interactive = format == "text" and _is_terminal(sys.stdin) and sys.stderr.isatty()
        return "person" if interactive else "deny"
    return cast(OnAsk, _one_of("--on-ask", given, ("deny", "pause", "allow")))


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _tools(given: list[str]) -> dict[str, bool]:
    tools: dict[str, bool] = {}
    for item in given:
        name, _, state = item.partition("=")
        if not name or state not in ("on", "off"):
            raise ConfigError(f"--tool must be NAME=on or NAME=off, not {item!r}")
        tools[name] = state == "on"
    return tools


def _prompt(words: list[str]) -> tuple[str, str]:
    """Return the prompt words of the command line, and the piped text. Raises `ConfigError` if both are empty."""
    piped = ""
    if sys.stdin is not None and not sys.stdin.isatty():
        piped = stream_text("the prompt on standard input")
    said, piped = " ".join(words).strip(), piped.strip()
    if not said and not piped:
        raise ConfigError('no prompt: give one as in `bridle run "fix the test"`, or pipe it in')
    return said, piped
