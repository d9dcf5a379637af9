"""Prompts with a name: a template in which arguments, files and the output of commands are put in their places."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from bridle.config.settings import TEMPLATE_SHELL, CommandSettings
from bridle.core.inbox import TurnOptions
from bridle.core.parts import File
from bridle.core.permission import Access, Verdict
from bridle.errors import ConfigError, ToolFailed
from bridle.shelter import Shelter
from bridle.tools.bash import TOOL as BASH
from bridle.tools.tool import Invocation
from bridle.workspace.files import located

FILE = re.compile(r"(?<![\w@`])@((?:\.{0,2}/)?[\w.-]+(?:/[\w.-]+)*)")
PLACE = re.compile(r"\$(ARGUMENTS|[1-9]\d?)")
MOST_FILE_BYTES = 200_000

SHELL_SECONDS = 60.0
Run = Callable[[str], Awaitable[str]]
Judge = Callable[[Access], Verdict]


class Expanded(NamedTuple):
    """A prompt that a command has become."""

    text: str
    files: tuple[File, ...]
    agent: str | None = None
    model: str | None = None

    def over(self, options: TurnOptions) -> TurnOptions:
        """The options of a prompt, with what the command says where they say nothing."""
        agent, model = options.agent or self.agent, options.model or self.model
        given = {name: getattr(options, name) for name in options.__struct_fields__}
        return TurnOptions(**{**given, "agent": agent, "model": model})


def named(text: str, commands: Mapping[str, CommandSettings]) -> tuple[str, str] | None:
    """The name of the command that a prompt begins with, and its arguments; None if it is no command."""
    found = re.match(r"/([\w./:-]+)(?:\s+(.*))?\Z", text.strip(), flags=re.DOTALL)
    if found is None or (found[1] not in commands and ":" not in found[1]):
        return None
    return found[1], (found[2] or "").strip()


async def expanded(
    command: CommandSettings, arguments: str, directory: Path, run: Run, may_read: Callable[[str], Awaitable[bool]]
) -> Expanded:
    """Put everything in its place. Commands come from the template alone, and get the arguments as parameters."""
    words = _words(command.template, arguments)
    pieces: list[str] = []
    at = 0
    for place in TEMPLATE_SHELL.finditer(command.template):
        pieces += [_filled(command.template[at : place.start()], words, arguments), await run(_shell(place[1], words))]
        at = place.end()
    pieces.append(_filled(command.template[at:], words, arguments))
    text = "".join(pieces)
    if arguments and not PLACE.search(command.template):
        text = f"{text}\n\n{arguments}"
    plain = "".join(pieces[::2]) + arguments
    return Expanded(text.strip(), await _files(plain, directory, may_read), command.agent, command.model)


def _words(template: str, arguments: str) -> list[str]:
    """The arguments one by one; the last that the template names takes all that is left."""
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()
    last = max((int(place[1]) for place in PLACE.finditer(template) if place[1] != "ARGUMENTS"), default=0)
    return [*words[: last - 1], " ".join(words[last - 1 :])] if 0 < last < len(words) else words


def _shell(command: str, words: list[str]) -> str:
    """A command in which arguments are parameters of the shell: whatever is in them, they are no words of it."""
    if not PLACE.search(command):
        return command
    given = " ".join(shlex.quote(word) for word in words)
    return f"set -- {given}; {command.replace('$ARGUMENTS', '$*')}"


async def run_shell(
    command: str,
    *,
    directory: Path,
    environment: Mapping[str, str] | None,
    shelter: Shelter,
    judge: Judge,
    confirm: Callable[[str], Awaitable[bool]],
    read_only: bool = False,
) -> str:
    """What a command of a template prints; raises `ConfigError` if the rules deny it, or nobody allows it."""
    given = BASH.check({"command": command})
    needed = BASH.accesses(given, directory)
    verdicts = {judge(access) for access in needed}
    if "deny" in verdicts:
        raise ConfigError(f"the rules deny !`{command}`")
    if "ask" in verdicts and not await confirm(command):
        raise ConfigError(f"!`{command}` needs a person's permission; a rule for bash may allow it beforehand")
    invocation = Invocation("command", "command", directory, {}, SHELL_SECONDS, environment=environment)
    invocation.sandbox, invocation.bounds = shelter.sandbox("command", read_only=read_only), shelter.bounds()
    invocation.permits = lambda access: access in needed or judge(access) == "allow"
    try:
        async with asyncio.timeout(SHELL_SECONDS):
            return (await BASH.run(given, invocation)).text.strip()
    except ToolFailed as error:
        raise ConfigError(f"!`{command}`: {error}") from error
    except TimeoutError:
        raise ConfigError(f"!`{command}` did not end within {SHELL_SECONDS:g} s") from None


def _filled(text: str, words: list[str], arguments: str) -> str:
    def found(place: re.Match[str]) -> str:
        if place[1] == "ARGUMENTS":
            return arguments
        number = int(place[1])
        return words[number - 1] if number <= len(words) else ""

    return PLACE.sub(found, text)


async def _files(text: str, directory: Path, may_read: Callable[[str], Awaitable[bool]]) -> tuple[File, ...]:
    """The files of the project that the words name with an @."""
    found: dict[str, File] = {}
    for name in (found.rstrip(".") for found in FILE.findall(text)):
        place = located(directory, name)
        if place.inside and place.path.is_file() and name not in found:
            if not await may_read(place.shown):
                raise ConfigError(f"@{name} may not be read: the rules deny it, or nobody has allowed it")
            found[name] = File(name, _read(name, place.path))
    return tuple(found.values())


def _read(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MOST_FILE_BYTES + 1)
        text = content[:MOST_FILE_BYTES].decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"@{name} cannot be read: {error}") from error
    return f"{text}\n[… it goes on]" if len(content) > MOST_FILE_BYTES else text
