"""Settings from files that were written for other programs, as tables of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridle.config.settings import McpServer
from bridle.errors import ConfigError

Table = dict[str, Any]

CLAUDE_SERVERS = ".mcp.json"
OPENCODE = ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")
MOST_BYTES = 5_000_000


class Imported(NamedTuple):
    """What one file says in our words, and what could not be taken over."""

    path: Path
    table: Table
    problems: list[str]


def imported(folder: Path) -> list[Imported]:
    """What the files of other programs in one folder say; raises `ConfigError` if one of them cannot be read."""
    found: list[Imported] = []
    claude = folder / CLAUDE_SERVERS
    if claude.is_file():
        found.append(_taken(claude, _section(read_json(claude), "mcpServers"), _from_claude))
    for name in OPENCODE:
        path = folder / name
        if path.is_file():
            found.append(_taken(path, _section(read_json(path), "mcp"), _from_opencode))
    return found


def read_json(path: Path) -> Table:
    """A JSON object, with comments and trailing commas if it has any; raises `ConfigError`."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ConfigError(f"{path}: larger than {MOST_BYTES} bytes")
        text = path.read_text(encoding="utf-8-sig")
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
    # Loaded only for files that plain JSON does not read.
    import pyjson5

    try:
        return pyjson5.decode(text, maxdepth=100)
    except pyjson5.Json5DecoderException as error:
        place = re.search(r"near (\d+)", str(error))
        line = text.count("\n", 0, int(place[1])) + 1 if place else 1
        raise ConfigError(f"{path}:{line}: not valid JSON: {error.args[0]}") from error


def _section(content: Table, key: str) -> Table:
    section = content.get(key)
    return section if isinstance(section, dict) else {}


def _taken(path: Path, servers: Table, convert: Any) -> Imported:
    kept: Table = {}
    problems: list[str] = []
    for name, given in servers.items():
        try:
            table = convert(given)
            msgspec.convert(table, McpServer)
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            problems.append(f"{path}: the server {name} is left out: {error}")
            continue
        kept[name] = table
    return Imported(path, {"mcp": kept} if kept else {}, problems)


def _from_claude(given: Any) -> Table:
    if not isinstance(given, dict):
        raise TypeError("it must be an object")
    sort = given.get("type") or ("http" if given.get("url") else "stdio")
    if sort == "stdio":
        command = given.get("command")
        if not isinstance(command, str):
            raise TypeError("it has no command")
        words = [command, *_strings(given.get("args", []), "args")]
        return {"command": [_ours(word) for word in words], "environment": _filled(given.get("env"))}
    if sort not in ("http", "streamable-http", "sse"):
        raise ValueError(f"its type {sort!r} is not known (stdio, http or sse)")
    address = {"url": _ours(str(given.get("url", ""))), "headers": _filled(given.get("headers"))}
    return {**address, "transport": "sse"} if sort == "sse" else address


def _from_opencode(given: Any) -> Table:
    if not isinstance(given, dict):
        raise TypeError("it must be an object")
    table: Table = {"enabled": given.get("enabled", True)}
    if isinstance(given.get("timeout"), int):
        table["seconds"] = given["timeout"] / 1000
    if given.get("type", "local") == "local":
        command = given.get("command")
        words = [command] if isinstance(command, str) else _strings(command, "command")
        table |= {"command": words, "environment": _plain(given.get("environment"))}
        return {**table, "folder": str(given["cwd"])} if given.get("cwd") else table
    oauth = given.get("oauth")
    known = oauth if isinstance(oauth, dict) else {}
    names = {"clientId": "client_id", "clientSecret": "client_secret", "scope": "scope"}
    return {
        **table,
        "url": str(given.get("url", "")),
        "headers": _plain(given.get("headers")),
        **{ours: str(known[theirs]) for theirs, ours in names.items() if known.get(theirs)},
    }


def _strings(given: Any, key: str) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(word, str) for word in given):
        raise TypeError(f"its {key} must be a list of texts")
    return given


def _plain(given: Any) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError("its variables and headers must be objects")
    return {str(name): str(value) for name, value in given.items()}


def _filled(given: Any) -> dict[str, str]:
    return {name: _ours(value) for name, value in _plain(given).items()}


def _ours(text: str) -> str:
    """Their way of naming a variable as ours."""
    return re.sub(r"\$\{(\w+)(:-[^}]*)?\}", r"{env:\1\2}", text)
