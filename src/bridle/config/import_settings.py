"""Finds OpenCode, Claude Code, `.bridle` and AGENTS.md files of a project or user, and yields the settings of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridle.config.import_agents import Imported, Table
from bridle.config.import_opencode import from_opencode
from bridle.config.import_servers import servers_from_claude
from bridle.config.markdown import agents_md, claude_agents, commands, opencode_agents
from bridle.errors import ConfigError
from bridle.workspace.bounded_read import read_text
from bridle.workspace.instructions import NAME as AGENTS_MD

CLAUDE_SERVERS = ".mcp.json"
OPENCODE = ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")
Reader = Callable[[Path], Iterator[Imported]]
DEFINITIONS: dict[str, dict[str, Reader]] = {
    ".claude": {"agents": claude_agents, "commands": commands},
    ".opencode": {
        **dict.fromkeys(("mode", "modes", "agent", "agents"), opencode_agents),
        **dict.fromkeys(("command", "commands"), commands),
    },
    ".bridle": {"agents": opencode_agents, "commands": commands},
}
"""The folders of definitions of each program; later ones win."""


def imported(folder: Path) -> Iterator[Imported]:
    """Yield the imports from one folder of a project, in increasing priority."""
    if (folder / AGENTS_MD).is_file():
        yield from agents_md(folder / AGENTS_MD)
    yield from _read(folder / CLAUDE_SERVERS, _claude)
    for name in OPENCODE:
        yield from _read(folder / name, from_opencode)
    yield from _definitions({program: folder / program for program in DEFINITIONS})


def _definitions(folders: Mapping[str, Path]) -> Iterator[Imported]:
    """Yield the agents and commands in the folders of each program."""
    for program, readers in DEFINITIONS.items():
        for name, read in readers.items():
            if (folders[program] / name).is_dir():
                yield from read(folders[program] / name)


def _claude(content: Table, _: Path) -> tuple[Table, list[str]]:
    servers, problems = servers_from_claude(content.get("mcpServers"))
    return {"mcp": servers} if servers else {}, problems


def _read(path: Path, convert: Callable[[Table, Path], tuple[Table, list[str]]]) -> Iterator[Imported]:
    """Yield the import from a JSON file, if it exists."""
    if not path.is_file():
        return
    try:
        yield Imported(path, *convert(read_json(path), path))
    except (ConfigError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        # A foreign file may contain anything; every failure becomes a message.
        yield Imported(path, {}, [], error=str(error).removeprefix(f"{path}: "))


def imported_for_user(home: Path, own: Path) -> Iterator[Imported]:
    """Yield the imports from the user's own folders; `own` is Bridle's."""
    opencode = home / ".config" / "opencode"
    for name in OPENCODE[:2]:
        yield from _read(opencode / name, from_opencode)
    yield from _definitions({".claude": home / ".claude", ".opencode": opencode, ".bridle": own})


def read_json(path: Path) -> Table:
    """Read a JSON object that may have comments and trailing commas; raises `ConfigError`."""
    try:
        text = read_text(path, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    try:
        content = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        content = _lenient(path, text)
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: not a JSON object")
    return content


def _lenient(path: Path, text: str) -> Any:
    # Imported only for files that are not plain JSON.
    import pyjson5

    try:
        return pyjson5.decode(text, maxdepth=100)
    except pyjson5.Json5DecoderException as error:
        place = re.search(r"near (\d+)", str(error))
        line = text.count("\n", 0, int(place[1])) + 1 if place else 1
        raise ConfigError(f"{path}: line {line}: not valid JSON: {error.args[0]}") from error
