"""Import of settings from OpenCode and Claude Code files and from Markdown definitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridle.config.import_agents import Table
from bridle.config.import_opencode import from_opencode
from bridle.config.import_servers import servers_from_claude
from bridle.config.markdown import Found, agents_md, claude_agents, commands, opencode_agents
from bridle.errors import ConfigError
from bridle.workspace.bounded_read import read_text
from bridle.workspace.instructions import NAME as AGENTS_MD

CLAUDE_SERVERS = ".mcp.json"
OPENCODE = ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")
FOLDERS: tuple[tuple[str, Callable[[Path], Iterator[Found]]], ...] = (
    (".claude/agents", claude_agents),
    (".claude/commands", commands),
    (".opencode/mode", opencode_agents),
    (".opencode/modes", opencode_agents),
    (".opencode/agent", opencode_agents),
    (".opencode/agents", opencode_agents),
    (".opencode/command", commands),
    (".opencode/commands", commands),
    (".bridle/agents", opencode_agents),
    (".bridle/commands", commands),
)
"""Folders of definitions; later ones win."""


class Imported(NamedTuple):
    """The settings imported from one file, and the problems."""

    path: Path
    table: Table
    problems: list[str]
    broken: tuple[str, ...] = ()
    """Agents in it that could not be read."""
    error: str = ""
    """Why nothing could be imported."""


def imported(folder: Path) -> Iterator[Imported]:
    """Yield the imports from one folder of a project, in increasing priority."""
    multiple = folder / AGENTS_MD
    if multiple.is_file():
        yield from (Imported(*found) for found in agents_md(multiple))
    claude = folder / CLAUDE_SERVERS
    if claude.is_file():
        yield _guarded(claude, _claude)
    for name in OPENCODE:
        yield from _opencode(folder / name)
    for name, read in FOLDERS:
        if (folder / name).is_dir():
            yield from (Imported(*found) for found in read(folder / name))


def _claude(path: Path) -> tuple[Table, list[str]]:
    servers, problems = servers_from_claude(read_json(path).get("mcpServers"))
    return {"mcp": servers} if servers else {}, problems


def _guarded(path: Path, read: Callable[[Path], tuple[Table, list[str]]]) -> Imported:
    try:
        return Imported(path, *read(path))
    except (ConfigError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        # A foreign file may contain anything; every failure becomes a message.
        return Imported(path, {}, [], error=str(error).removeprefix(f"{path}: "))


def imported_for_user(home: Path, own: Path) -> Iterator[Imported]:
    """Yield the imports from the user's own folders; `own` is Bridle's."""
    opencode = home / ".config" / "opencode"
    for name in OPENCODE[:2]:
        yield from _opencode(opencode / name)
    for folder, read in (
        (home / ".claude" / "agents", claude_agents),
        (home / ".claude" / "commands", commands),
        *((opencode / name, opencode_agents) for name in ("mode", "modes", "agent", "agents")),
        *((opencode / name, commands) for name in ("command", "commands")),
        (own / "agents", opencode_agents),
        (own / "commands", commands),
    ):
        if folder.is_dir():
            yield from (Imported(*found) for found in read(folder))


def _opencode(path: Path) -> Iterator[Imported]:
    if path.is_file():
        yield _guarded(path, lambda path: from_opencode(read_json(path), path))


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
