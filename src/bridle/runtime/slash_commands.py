"""Expands a user's prompt: slash commands become their templates, with shell output; @files are attached."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from base64 import b64encode
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path

import msgspec

from bridle.assembly.prompts import named_agents
from bridle.config.settings import TEMPLATE_SHELL, CommandSettings
from bridle.core.agent import AgentDefinition
from bridle.core.parts import File
from bridle.core.permission import Access, Verdict
from bridle.errors import ConfigError, ToolFailed
from bridle.runtime.own_prompts import with_own
from bridle.runtime.project import Confirm, Expanded
from bridle.runtime.project_files import list_folder
from bridle.runtime.runtime import Runtime
from bridle.tools.bash import TOOL as BASH
from bridle.tools.command_setup import CommandSetup
from bridle.tools.tool import Invocation
from bridle.values.media import media_of
from bridle.workspace.files import Files, Place, accesses
from bridle.workspace.mentions import mentioned

PLACE = re.compile(r"\$(ARGUMENTS|[1-9]\d?)")
MOST_FILE_BYTES = 200_000
MOST_MEDIA_BYTES = 5_000_000
MOST_NAMES = 500
SHELL_SECONDS = 60.0
SUBTASK_AGENT = "general"
PLAIN_NAME = re.compile(r"[A-Za-z][\w-]*")


async def expand_prompt(
    runtime: Runtime, text: str, confirm: Confirm, *, typed: str, agent: str | None = None
) -> Expanded:
    """Return a user's prompt with slash commands expanded and files attached; `agent` is the one that will run it.

    Only the text that the user `typed` may name subagents. `confirm` is called for shell commands and files that need
    permission. Raises `ConfigError` for a command that does not exist, and for a file that may not be read.
    """
    asked = await _expanded(runtime, text, confirm, agent)
    subagents = runtime.turns.subagents
    if asked.subtask and asked.subtask not in subagents:
        known = ", ".join(sorted(subagents)) or "none"
        raise ConfigError(f"agent {asked.subtask} of this command cannot run as a subagent (these can: {known})")
    wants = (*named_agents(typed, subagents), *filter(None, [asked.subtask]))
    return msgspec.structs.replace(asked, wants=wants)


async def _expanded(runtime: Runtime, text: str, confirm: Confirm, agent: str | None) -> Expanded:
    commands = with_own(runtime.settings.commands)
    found = _find_command(text, commands)
    if found is not None and found[0] not in commands:
        asked = await _server_prompt(runtime, *found)
        if asked is not None:
            return asked
        found = None
    if found is None:
        return Expanded(text, await _Expansion(runtime, _agent(runtime, agent), confirm).attached(text))
    name, arguments = found
    given = commands[name]
    return await _Expansion(runtime, _agent(runtime, given.agent), confirm).filled(given, arguments)


def _agent(runtime: Runtime, name: str | None) -> AgentDefinition:
    return runtime.turns.agents.get(name or runtime.settings.agent) or AgentDefinition("")


async def _server_prompt(runtime: Runtime, name: str, arguments: str) -> Expanded | None:
    server, _, prompt = name.partition(":")
    if runtime.servers is None or server not in runtime.servers.links:
        return None
    pairs = (word.partition("=") for word in arguments.split())
    return Expanded(await runtime.servers.prompt(server, prompt, {key: value for key, _, value in pairs}), ())


def _find_command(text: str, commands: Collection[str]) -> tuple[str, str] | None:
    """Return the name of the command that a prompt begins with, and its arguments; None for other prompts.

    Raises `ConfigError` with a suggestion if the first word can only be a command and is not a known one.
    """
    found = re.match(r"/([\w./:-]+)(?:\s+(.*))?\Z", text.strip(), flags=re.DOTALL)
    if found is None:
        return None
    name = found[1]
    if name in commands or ":" in name:
        return name, (found[2] or "").strip()
    if PLAIN_NAME.fullmatch(name) and not os.path.lexists(f"/{name}"):
        near = get_close_matches(name, commands, 1)
        known = f"known: {', '.join(f'/{each}' for each in sorted(commands))}" if commands else "none is defined"
        hint = f"did you mean /{near[0]}?" if near else f"({known})"
        raise ConfigError(
            f"there is no command /{name}; {hint} If you mean no command, begin the prompt with another word"
        )
    return None


def _words(template: str, arguments: str) -> list[str]:
    """Return the arguments as a list; the last one that the template uses takes all the rest."""
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()
    last = max((int(place[1]) for place in PLACE.finditer(template) if place[1] != "ARGUMENTS"), default=0)
    return [*words[: last - 1], " ".join(words[last - 1 :])] if 0 < last < len(words) else words


def _shell(command: str, words: list[str]) -> str:
    """Return a command that gets the arguments as shell parameters, so that none of them is run as code."""
    if not PLACE.search(command):
        return command
    given = " ".join(shlex.quote(word) for word in words)
    return f"set -- {given}; {command.replace('$ARGUMENTS', '$*')}"


def _filled(text: str, words: list[str], arguments: str) -> str:
    def found(place: re.Match[str]) -> str:
        if place[1] == "ARGUMENTS":
            return arguments
        number = int(place[1])
        return words[number - 1] if number <= len(words) else ""

    return PLACE.sub(found, text)


def _read(name: str, place: Place, files: Files) -> File:
    try:
        files.check("read", place)
        with files.opened(place) as handle:
            content = os.pread(handle, MOST_MEDIA_BYTES + 1, 0)
        media = media_of(content)
        if media:
            if len(content) > MOST_MEDIA_BYTES:
                raise ConfigError(f"@{name} is larger than {MOST_MEDIA_BYTES} bytes")
            return File(name, media=media, data=b64encode(content).decode())
        text = content[:MOST_FILE_BYTES].decode("utf-8", "strict" if len(content) <= MOST_FILE_BYTES else "ignore")
    except (ToolFailed, UnicodeDecodeError) as error:
        raise ConfigError(f"@{name} cannot be read: {error}") from error
    return File(name, f"{text}\n[… it goes on]" if len(content) > MOST_FILE_BYTES else text)


def _listing(runtime: Runtime, name: str) -> File:
    """Return a folder as an attachment: the names in it."""
    rows = [f"{Path(each.path).name}{'/' if each.kind == 'folder' else ''}" for each in list_folder(runtime, name)]
    more = f"\n[… {len(rows) - MOST_NAMES} more]" if len(rows) > MOST_NAMES else ""
    return File(name, "\n".join(rows[:MOST_NAMES]) + more)


@dataclass(frozen=True, slots=True)
class _Expansion:
    """Expands a prompt under the rules of the agent that runs it."""

    runtime: Runtime
    agent: AgentDefinition
    confirm: Confirm

    def _judge(self, access: Access) -> Verdict:
        return self.runtime.turns.verdict(access, self.agent)

    async def filled(self, command: CommandSettings, arguments: str) -> Expanded:
        """Fill a template. Shell commands come from the template alone, and get the arguments as shell parameters."""
        words = _words(command.template, arguments)
        places = list(TEMPLATE_SHELL.finditer(command.template))
        # All are asked for before the first one runs: a person who says no to the last has changed nothing.
        for place in places:
            await self._permit(_shell(place[1], words))
        pieces: list[str] = []
        at = 0
        for place in places:
            pieces.append(_filled(command.template[at : place.start()], words, arguments))
            pieces.append(await self._run_shell(_shell(place[1], words)))
            at = place.end()
        pieces.append(_filled(command.template[at:], words, arguments))
        text = "".join(pieces)
        # The output of commands must not attach files, so only the template and the arguments are searched for names.
        plain = pieces[::2]
        if not PLACE.search(command.template):
            text = f"{text}\n\n{arguments}" if arguments else text
            plain.append(arguments)
        found = await self.attached("\n".join(plain))
        if not command.subtask:
            return Expanded(text.strip(), found, command.agent, command.model)
        return Expanded(text.strip(), found, model=command.model, subtask=command.agent or SUBTASK_AGENT)

    async def _permit(self, command: str) -> None:
        """Raise `ConfigError` if the rules or the user do not allow a template's command."""
        verdicts = set(map(self._judge, BASH.accesses(BASH.check({"command": command}), self.runtime.directory)))
        if "deny" in verdicts:
            raise ConfigError(f"the rules deny !`{command}`")
        if "ask" in verdicts and not await self.confirm("command", command):
            raise ConfigError(f"!`{command}` needs a person's permission; a rule for bash may allow it beforehand")

    async def _run_shell(self, command: str) -> str:
        """Return the output of a template's command, which is permitted."""
        directory, commands = self.runtime.directory, self.runtime.commands
        given = BASH.check({"command": command})
        needed = BASH.accesses(given, directory)
        setup = CommandSetup(
            directory=directory,
            find_environment=commands.variables,
            find_sandbox=partial(commands.sandbox, "command", read_only=self.agent.reads_only),
            bounds=commands.bounds(),
        )
        invocation = Invocation(
            call="command",
            session="command",
            commands=setup,
            timeout_seconds=SHELL_SECONDS,
            permits=lambda access: access in needed or self._judge(access) == "allow",
        )
        try:
            async with asyncio.timeout(SHELL_SECONDS):
                return (await BASH.run(given, invocation)).text.strip()
        except ToolFailed as error:
            raise ConfigError(f"!`{command}`: {error}") from error
        except TimeoutError:
            raise ConfigError(f"!`{command}` did not end within {SHELL_SECONDS:g} s") from None

    async def attached(self, text: str) -> tuple[File, ...]:
        """Return the files that the text names with @, read under the rules of the read tool; raises `ConfigError`."""
        found: list[File] = []
        for name, place in mentioned(text, self.runtime.directory).items():
            needed = accesses("read", place)
            verdicts = set(map(self._judge, needed))
            asks = "ask" in verdicts
            if "deny" in verdicts or (asks and not await self.confirm("file", f"read {needed[0].pattern}")):
                raise ConfigError(f"@{name} may not be read: the rules deny it, or you did not allow it")
            if place.path.is_dir():
                found.append(_listing(self.runtime, name))
            else:
                found.append(_read(name, place, Files(self.runtime.directory, needed.__contains__)))
        return tuple(found)
