"""Converts the MCP servers of `.mcp.json` and `opencode.json` to settings; leaves out and reports invalid ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.config.import_agents import Table, not_taken
from bridle.config.merge import table_in
from bridle.config.settings import McpServer

CLAUDE_KEYS = frozenset({"type", "command", "args", "env", "url", "headers", "description"})
OPENCODE_KEYS = frozenset(
    {"type", "command", "environment", "cwd", "enabled", "timeout", "url", "headers", "oauth", "description"}
)


def servers_from_claude(given: Any) -> tuple[Table, list[str]]:
    """Convert the servers of a `.mcp.json`; return them and the problems with those left out."""
    return _taken(given, _from_claude, CLAUDE_KEYS)


def servers_from_opencode(given: Any) -> tuple[Table, list[str]]:
    """Convert the servers of an `opencode.json`; return them and the problems with those left out."""
    return _taken(given, _from_opencode, OPENCODE_KEYS)


def _taken(given: Any, convert: Callable[[Table], Table], known: frozenset[str]) -> tuple[Table, list[str]]:
    kept: Table = {}
    problems: list[str] = []
    for name, server in table_in(given).items():
        try:
            if not isinstance(server, dict):
                raise TypeError("it must be an object")
            table = convert(server)
            msgspec.convert(table, McpServer)
        except (msgspec.ValidationError, TypeError, ValueError, ArithmeticError) as error:
            problems.append(f"the server {name} is left out: {error}")
            continue
        kept[str(name)] = table
        problems += not_taken(sorted(str(key) for key in server if key not in known), f"the server {name}: ")
    return kept, problems


def _from_claude(given: Table) -> Table:
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


def _from_opencode(given: Table) -> Table:
    table: Table = {"enabled": given.get("enabled", True)}
    if isinstance(given.get("timeout"), int):
        table["seconds"] = given["timeout"] / 1000
    if given.get("type", "local") == "local":
        command = given.get("command")
        words = [command] if isinstance(command, str) else _strings(command, "command")
        table |= {"command": words, "environment": _plain(given.get("environment"))}
        return {**table, "folder": str(given["cwd"])} if given.get("cwd") else table
    known = table_in(given.get("oauth"))
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
    """Convert `${NAME}` and `${NAME:-default}` to Bridle's `{env:…}`."""
    return re.sub(r"\$\{(\w+)(:-[^}]*)?\}", r"{env:\1\2}", text)
