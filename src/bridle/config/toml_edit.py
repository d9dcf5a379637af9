"""Appends an MCP server to the user's TOML file, for `bridle mcp add`; existing settings stay as they are."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridle.config.settings import McpServer
from bridle.errors import ConfigError
from bridle.workspace.bounded_read import SETTINGS_BYTES, read_bounded
from bridle.workspace.json_store import replace_file

PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")


def add_server(path: Path, name: str, server: McpServer) -> None:
    """Append a server to a TOML file; raises `ConfigError` if the name is taken or invalid, or the file unusable."""
    if not PLAIN_NAME.fullmatch(name) or name == "start_wait":
        raise ConfigError(f"{name!r} is not a valid server name: use letters, digits, - and _")
    if bool(server.command) == bool(server.url):
        raise ConfigError("a server needs a command or a url, and not both")
    try:
        text = read_bounded(path, SETTINGS_BYTES).decode("utf-8") if path.exists() else ""
        known = tomllib.loads(text.replace("\r\n", "\n")).get("mcp", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    if not isinstance(known, dict):
        raise ConfigError(f"{path}: mcp must be a table, not {known!r}")
    if name in known:
        raise ConfigError(f"{path} has a server {name} already: change it there")
    defaults = msgspec.to_builtins(McpServer())
    fields = {key: value for key, value in msgspec.to_builtins(server).items() if value != defaults[key]}
    lines = [f"[mcp.{name}]", *(f"{key} = {_toml(value)}" for key, value in fields.items())]
    end = "\r\n" if "\r\n" in text else "\n"
    whole = (text.rstrip() + end * 2 if text.strip() else "") + end.join(lines) + end
    try:
        tomllib.loads(whole.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        words = f"{path}: nothing can be added at its end ({error}): write {lines[0]} there yourself"
        raise ConfigError(words) from error
    try:
        replace_file(path, whole.encode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error}") from error


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(inner) for inner in value) + "]"
    # JSON strings are valid TOML except for one character; so are numbers, true and false.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
