"""Prompts with a name: a template in which arguments, files and the output of commands are put in their places."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from bridle.config.settings import CommandSettings
from bridle.core.inbox import TurnOptions
from bridle.core.parts import File
from bridle.core.permission import Access, Verdict
from bridle.errors import ConfigError, ToolFailed
from bridle.shelter import Shelter
from bridle.tools.bash import TOOL as BASH
from bridle.tools.tool import Invocation
from bridle.workspace.files import located

SHELL = re.compile(r"!`([^`\n]+)`")
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


async def expanded(command: CommandSettings, arguments: str, directory: Path, run: Run, judge: Judge) -> Expanded:
    """Put everything in its place: commands of the template run first, so that no argument can become one."""
    pieces: list[str] = []
    at = 0
    for place in SHELL.finditer(command.template):
        asked = _filled(place[1], arguments, quoted=True)
        pieces += [_filled(command.template[at : place.start()], arguments), await run(asked)]
        at = place.end()
    pieces.append(_filled(command.template[at:], arguments))
    text = "".join(pieces)
    if arguments and not PLACE.search(command.template):
        text = f"{text}\n\n{arguments}"
    plain = "".join(pieces[::2]) + arguments
    return Expanded(text.strip(), _files(plain, directory, judge), command.agent, command.model)


async def run_shell(
    command: str,
    *,
    directory: Path,
    environment: Mapping[str, str] | None,
    shelter: Shelter,
    judge: Judge,
    confirm: Callable[[str], bool],
) -> str:
    """What a command of a template prints; raises `ConfigError` if the rules deny it, or nobody allows it."""
    given = BASH.check({"command": command})
    needed = BASH.accesses(given, directory)
    verdicts = {judge(access) for access in needed}
    if "deny" in verdicts:
        raise ConfigError(f"the rules deny !`{command}`")
    if "ask" in verdicts and not confirm(command):
        raise ConfigError(f"!`{command}` needs a person's permission; a rule for bash may allow it beforehand")
    invocation = Invocation("command", "command", directory, {}, SHELL_SECONDS, environment=environment)
    invocation.sandbox, invocation.bounds = shelter.sandbox("command"), shelter.bounds()
    invocation.permits = lambda access: access in needed or judge(access) == "allow"
    try:
        async with asyncio.timeout(SHELL_SECONDS):
            return (await BASH.run(given, invocation)).text.strip()
    except ToolFailed as error:
        raise ConfigError(f"!`{command}`: {error}") from error
    except TimeoutError:
        raise ConfigError(f"!`{command}` did not end within {SHELL_SECONDS:g} s") from None


def _filled(text: str, arguments: str, *, quoted: bool = False) -> str:
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()
    last = max((int(place[1]) for place in PLACE.finditer(text) if place[1] != "ARGUMENTS"), default=0)

    if quoted:
        # For a shell each of them is one word, whatever is in it.
        words = [shlex.quote(word) for word in words]
        arguments = " ".join(words)

    def found(place: re.Match[str]) -> str:
        if place[1] == "ARGUMENTS":
            return arguments
        number = int(place[1])
        if number == last:
            # The last of them takes all that is left.
            return " ".join(words[number - 1 :])
        return words[number - 1] if number <= len(words) else ""

    return PLACE.sub(found, text)


def _files(text: str, directory: Path, judge: Judge) -> tuple[File, ...]:
    """The files of the project that the words name with an @."""
    found: dict[str, File] = {}
    for name in FILE.findall(text):
        place = located(directory, name)
        if place.inside and place.path.is_file() and name not in found:
            if judge(Access("read", place.shown)) == "deny":
                raise ConfigError(f"the rules deny reading @{name}")
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
