"""Validation of arguments from callers: a value of a wrong type or outside its set raises an error that names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from bridle.assembly.prompts import with_mentions
from bridle.core.agent import AgentDefinition
from bridle.core.context import sound
from bridle.core.ids import RESERVED_SESSIONS, looks_like_part
from bridle.core.inbox import InboxItem, PromptItem, TurnOptions
from bridle.core.limits import wrong_limit
from bridle.core.parts import File
from bridle.errors import ConfigError
from bridle.tools.tool import Tool, WrapsTool, as_tool
from bridle.wire import entries as wire
from bridle.workspace.bounded_read import SETTINGS_BYTES, read_given, read_stream

LONGEST_NAME = 200
MOST_PROMPT_BYTES = 20_000_000

Value = TypeVar("Value")


def fitting(name: str, value: Value, kind: Any) -> Value:
    """Return the value if it and everything nested in it have the right types; raises `ConfigError`."""
    if get_origin(kind) is Literal and value not in get_args(kind):
        *most, last = get_args(kind)
        raise ConfigError(f"{name} must be {', '.join(most)} or {last}, not {value!r}")
    if isinstance(kind, type) and not isinstance(value, kind):
        raise ConfigError(f"{name} must be {kind.__name__}, not {value!r}")
    try:
        msgspec.convert(msgspec.to_builtins(value), kind)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}") from error
    return value


def recordable(item: Value, kind: Any = InboxItem) -> Value:
    """Return the value as the journal will read it back; raises `ConfigError`.

    A value that cannot be read back must never be written, because it makes the whole session unreadable.
    """
    name = type(item).__name__.removesuffix("Item").lower()
    try:
        raw = wire.encode(item)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: {'.'.join(_unwritable(item)) or 'it'} cannot be recorded: {error}") from error
    try:
        read: Value = msgspec.json.decode(raw, type=kind)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}") from error
    return read


def _unwritable(value: object) -> Iterator[str]:
    """Yield the path to the field that cannot be encoded."""
    for field in value.__struct_fields__ if isinstance(value, msgspec.Struct) else ():
        inner = getattr(value, field)
        try:
            wire.encode(inner)
        except (TypeError, ValueError, RecursionError):
            yield field
            yield from _unwritable(inner)
            return


def file_bytes(path: Path, said: str, most: int = SETTINGS_BYTES) -> bytes:
    """Return the content of a file; raises `ConfigError` with a message that begins with `said`."""
    try:
        return read_given(path, most)
    except OSError as error:
        raise ConfigError(f"{said} cannot be read: {error}") from error


def stream_text(said: str) -> str:
    """Return the text of standard input; raises `ConfigError` with a message that begins with `said`."""
    try:
        return read_stream(MOST_PROMPT_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise ConfigError(f"{said} cannot be read: {error}") from error


def session_id(id: str) -> str:
    """Return a valid session id; raises `ConfigError`. Ids become part of file names and account names."""
    if not isinstance(id, str) or not safe_name(id) or id in RESERVED_SESSIONS:
        raise ConfigError(f"id: {id!r} is not a valid session id: use letters, digits, '_', '-' and '.'")
    return id


def safe_name(name: str) -> bool:
    """Return whether a name is safe as one component of a path."""
    short = 0 < len(name.encode(errors="replace")) <= LONGEST_NAME
    return short and all(letter.isalnum() or letter in "_.-" for letter in name) and not name.startswith(".")


def sound_prompt(item: PromptItem, subagents: Iterable[str]) -> PromptItem:
    """Return a prompt as it can be recorded, with its mentions of subagents spelled out; raises `ConfigError`."""
    options = item.options
    if isinstance(item.id, str) and looks_like_part(item.id):
        raise ConfigError(f"prompt: id must not begin with a number and a dot, which {item.id!r} does")
    if options is not None and not isinstance(options, TurnOptions):
        raise ConfigError(f"prompt: options must be TurnOptions, not {options!r}")
    if options is not None and options.delegation is not None:
        raise ConfigError("prompt: options.delegation is reserved for subagents: leave it out")
    for limit, value in options.limits.items() if options is not None else ():
        problem = wrong_limit(limit, value)
        if problem is not None:
            raise ConfigError(f"prompt: limits: {limit} {problem}")
    words = with_mentions(sound(item.text), subagents) if isinstance(item.text, str) else item.text
    files = [fitting("files", file, File) for file in item.files]
    files = [msgspec.structs.replace(file, path=sound(file.path), text=sound(file.text)) for file in files]
    return recordable(msgspec.structs.replace(item, text=words, files=tuple(files)))


def named_tools(name: str, tools: Iterable[Tool | WrapsTool]) -> dict[str, Tool]:
    """Return tools by name; raises `ConfigError` for duplicate names."""
    found: dict[str, Tool] = {}
    for tool in map(as_tool, tools):
        if found.setdefault(tool.spec.name, tool) is not tool:
            raise ConfigError(f"{name}: two tools are called {tool.spec.name!r}")
    return found


def definitions(agents: Iterable[AgentDefinition]) -> dict[str, AgentDefinition]:
    """Return agents by name; raises `ConfigError`."""
    return {agent.name: fitting(f"agents: {getattr(agent, 'name', agent)}", agent, AgentDefinition) for agent in agents}
