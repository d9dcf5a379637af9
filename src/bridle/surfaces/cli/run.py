"""`bridle run`: makes a prompt and its options from flags, files and piped text; `foreground` follows the turn."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
import typer

from bridle.core.inbox import TurnOptions
from bridle.core.parts import OnAsk
from bridle.errors import ConfigError
from bridle.runtime.argument_checks import file_bytes, fitting, stream_text
from bridle.runtime.inside_call import refuse_inside_call
from bridle.runtime.project import Backend, Confirm, Expanded, submit_prompt
from bridle.surfaces.cli import completion
from bridle.surfaces.cli.commands import Format, Formats, Model, SystemText, Trusted
from bridle.surfaces.cli.foreground import Begun, drive
from bridle.surfaces.cli.limit_flags import given_limits, limit_flags
from bridle.surfaces.cli.output import tell
from bridle.surfaces.cli.project import ask_for_trust, existing, project_here
from bridle.surfaces.cli.remote import Attach, SessionsPlace, TokenFile
from bridle.surfaces.cli.session_ids import named_session
from bridle.surfaces.shared.attachments import attached

Given = Annotated[
    str | None,
    typer.Option(
        "-s",
        "--session",
        help="Continue the session with this id or beginning of an id.",
        autocompletion=completion.sessions,
    ),
]
Agent = Annotated[str | None, typer.Option(help="The agent that runs the prompt.", autocompletion=completion.agents)]
Answering = Annotated[
    str | None,
    typer.Option(
        help="Answer to permission requests: deny, pause or allow.",
        autocompletion=completion.words("deny", "pause", "allow"),
    ),
]
LogLevel = Annotated[
    str,
    typer.Option(
        help="quiet shows only the answer; info also shows steps.", autocompletion=completion.words("info", "quiet")
    ),
]
Last = Annotated[bool, typer.Option("-c", "--continue", help="Continue this directory's last session.")]
Files = Annotated[
    list[Path] | None, typer.Option("-f", "--file", help="Attach a text, an image or a PDF; may be repeated.")
]


@limit_flags("variant", "max_", lambda limit: f"Limit on {limit.units}{limit.help}.")
def run(
    prompt: Annotated[list[str] | None, typer.Argument(help="The prompt; standard input is appended.")] = None,
    agent: Agent = None,
    model: Model = None,
    variant: Annotated[str | None, typer.Option(help="Thinking effort, as listed by `bridle models`.")] = None,
    session: Given = None,
    continue_last: Last = False,
    fork: Annotated[bool, typer.Option("--fork", help="Continue in a copy; the session stays unchanged.")] = False,
    queue: Annotated[bool, typer.Option("--queue", help="Wait for the running turn instead of steering it.")] = False,
    no_reply: Annotated[bool, typer.Option("--no-reply", help="Only record the prompt.")] = False,
    system: SystemText = "",
    tool: Annotated[list[str] | None, typer.Option(help="NAME=on or NAME=off; may be repeated.")] = None,
    schema: Annotated[Path | None, typer.Option(help="File with a JSON schema for the answer.")] = None,
    file: Files = None,
    format: Format = "text",
    on_ask: Answering = None,
    trust: Trusted = False,
    dir: Annotated[Path | None, typer.Option(help="Project directory; without it, this directory.")] = None,
    log_level: LogLevel = "info",
    attach: Attach = None,
    token_file: TokenFile = None,
    **limits: str | None,
) -> None:
    """Run a prompt and exit with a status that tells how it ended.

    0 answered, 1 failed, 2 wrong usage, 3 limit reached, 4 permission denied, 5 waiting for an answer, 130 aborted.

    Examples: bridle run "fix the failing test"; git diff | bridle run --steps 5 "review this"; bridle run /review
    """
    asks, tools, output = _on_ask(on_ask, format, trust=trust), _tools(tool or []), _schema(schema)
    options = TurnOptions(
        agent, model, asks, system, tools, limits=given_limits(limits, "max_"), variant=variant, output=output
    )
    place = SessionsPlace(attach, token_file)
    place.check(trusted=trust)
    _check_flags(format, log_level, session, continue_last=continue_last)
    text, folder = _prompt(prompt or []), _directory(dir, place, asks=asks == "person" and not trust)

    async def work(runtime: Backend) -> Begun:
        asked = await _expanded(runtime, *text, options)
        files = [attached(path, f"--file {path}") for path in file or []]
        wanted = asked.over(options) if not no_reply else None
        where = await _session(runtime, session, asked.text, wanted, continue_last=continue_last, fork=fork)
        before = await runtime.load(where)
        id = await submit_prompt(runtime, where, asked, options, files=files, queue=queue, reply=not no_reply)
        return Begun(where, id, before)

    opening = place.opened(folder, trusted=trust, pruning=True)
    sys.exit(asyncio.run(drive(opening, work, json=format == "json", quiet=log_level == "quiet", tells_of_others=True)))


def _check_flags(format: str, log_level: str, session: str | None, *, continue_last: bool) -> None:
    """Raise `ConfigError` for unknown values, and for flags that exclude each other."""
    fitting("--format", format, Formats)
    fitting("--log-level", log_level, Literal["info", "quiet"])
    if session and continue_last:
        raise ConfigError("give --session or --continue, not both")


def _directory(given: Path | None, place: SessionsPlace, *, asks: bool) -> Path | str:
    """Return the project directory, and ask a person whether to trust it; that of a server is on its machine."""
    if place.url is not None:
        return str(given) if given is not None else ""
    folder = project_here() if given is None else existing(given, "--dir ")
    if asks and sys.stdin.isatty():
        ask_for_trust(folder)
    return folder


async def _expanded(runtime: Backend, said: str, piped: str, options: TurnOptions) -> Expanded:
    """Expand a prompt's command and files; piped text beside typed words is data and names no files."""
    # Command arguments may be piped in; beside other words, piped text is data.
    data = piped if said and not said.startswith("/") else ""
    text = "\n\n".join(piece for piece in (said, "" if data else piped) if piece)
    asked = Expanded(text, ())
    if text.startswith("/") or "@" in text:
        asked = await runtime.expand(text, _confirm(options.on_ask), typed=said, agent=options.agent)
    return msgspec.structs.replace(asked, text=f"{asked.text}\n\n{data}") if data else asked


def _confirm(on_ask: OnAsk | None) -> Confirm:
    """Return the confirmation of a template's shell commands: ask the person, or follow `--on-ask`."""

    async def confirm(kind: Literal["command", "file"], command: str) -> bool:
        if on_ask != "person":
            return on_ask == "allow"
        tell(f"? Run `{command}` for this prompt? [y/N]: ", end="")
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    return confirm


async def _session(
    runtime: Backend, given: str | None, words: str, wanted: TurnOptions | None, *, continue_last: bool, fork: bool
) -> str:
    """Return the session for a prompt; a new one or a fork is created only if the turn can begin."""
    if not given and not continue_last:
        if fork:
            raise ConfigError("--fork needs a session: give --session or --continue")
        return await runtime.begin(runtime.new_id(), words, wanted)
    found = await named_session(runtime, given) if given else await runtime.last_session("--continue: ")
    info = (await runtime.load(found)).info
    if info is not None and info.approvals == "auto":
        refuse_inside_call("a prompt to a session that approves calls automatically")
    if not fork:
        return found
    if wanted is not None:
        await runtime.check_prompt(found, words, wanted)
    return await runtime.fork(found)


def _schema(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        return msgspec.json.decode(file_bytes(path, f"--schema {path}"), type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise ConfigError(f"--schema {path} is not a JSON schema: {error}") from error


def _on_ask(given: str | None, format: str, *, trust: bool) -> OnAsk:
    if trust or given == "allow":
        refuse_inside_call("`bridle run --trust`" if trust else "`bridle run --on-ask allow`")
    if given is None:
        seated = format == "text" and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        return "person" if seated else "deny"
    return cast(OnAsk, fitting("--on-ask", given, Literal["deny", "pause", "allow"]))


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
    has_input = sys.stdin is not None and not sys.stdin.isatty()
    said = " ".join(words).strip()
    piped = stream_text("the prompt on standard input").strip() if has_input else ""
    if not said and not piped:
        raise ConfigError('no prompt: give one as in `bridle run "fix the test"`, or pipe it in')
    return said, piped
