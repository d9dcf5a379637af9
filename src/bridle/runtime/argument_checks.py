"""Validates arguments of callers (ids, prompts, tools, histories): a `ConfigError` names the one that is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from bridle.assembly.prompts import with_mentions
from bridle.config.settings import Settings
from bridle.core.agent import AgentDefinition
from bridle.core.context import sound
from bridle.core.history import whole
from bridle.core.ids import HISTORY, RESERVED_SESSIONS, looks_like_part
from bridle.core.inbox import InboxItem, PromptItem, TurnOptions
from bridle.core.limits import wrong_limit
from bridle.core.messages import Message
from bridle.core.parts import File, History
from bridle.errors import ConfigError
from bridle.runtime.config import RuntimeConfig
from bridle.tools.tool import Tool, WrapsTool, as_tool
from bridle.values.argument_kinds import check_argument, check_arguments, hints_of
from bridle.wire import entries as wire
from bridle.workspace.bounded_read import SETTINGS_BYTES, read_given, read_stream

LONGEST_NAME = 200
MOST_PROMPT_BYTES = 20_000_000
MOST_HISTORY_BYTES = 100_000_000

Value = TypeVar("Value")


def fitting(name: str, value: Value, kind: Any) -> Value:
    """Return the value if it and everything nested in it have the right types; raises `ConfigError`."""
    if get_origin(kind) is Literal and value not in get_args(kind):
        *most, last = get_args(kind)
        raise ConfigError(f"{name} must be {', '.join(most)} or {last}, not {value!r}")
    check_argument(name, kind, value)
    try:
        found = msgspec.convert(msgspec.to_builtins(value), kind)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        _check_fields(name, value)
        raise ConfigError(f"{name}: {error}") from error
    if found != value:
        # A dictionary in the place of a struct is converted to one above.
        _check_fields(name, value)
    return value


def _check_fields(name: str, value: object) -> None:
    """Raise `ConfigError` for a field of a struct, or of one in it, that does not have its type."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.asdict(value)
        check_arguments(name, hints_of(type(value)), fields)
        for field, each in fields.items():
            _check_fields(f"{name}: {field}", each)


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


def history(messages: Iterable[Message]) -> History | None:
    """Return the conversation with which a session begins, None for an empty one; raises `ConfigError`."""
    if not isinstance(messages, Iterable):
        raise ConfigError(f"messages must be a list of messages, not {messages!r}")
    found = whole((f"messages[{place}]", message) for place, message in enumerate(messages))
    if not found:
        return None
    size = len(wire.encode(found))
    if size > MOST_HISTORY_BYTES:
        raise ConfigError(f"messages: {size:,} bytes are more than {MOST_HISTORY_BYTES:,}: leave old ones out")
    return History(HISTORY, found)


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


def plain_name(what: str, name: str) -> str:
    """Return a valid name of an account, an app or a place, or an empty one; raises `ConfigError`."""
    if not isinstance(name, str) or (name and not safe_name(name)):
        raise ConfigError(f"{what}: {name!r} is not a valid name: use letters, digits, '_', '-' and '.'")
    return name


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
    if options is not None:
        plain_name("prompt: account", options.account)
    words = with_mentions(sound(item.text), subagents) if isinstance(item.text, str) else item.text
    files = [fitting("files", file, File) for file in item.files]
    files = [msgspec.structs.replace(file, path=sound(file.path), text=sound(file.text)) for file in files]
    return recordable(msgspec.structs.replace(item, text=words, files=tuple(files)))


def fitting_config(given: RuntimeConfig | None) -> RuntimeConfig:
    """Return the configuration of a runtime, a default one for None; raises `ConfigError` for a wrong field."""
    config = RuntimeConfig() if given is None else given
    fields = {name: getattr(config, name) for name in RuntimeConfig.__slots__}
    check_arguments("RuntimeConfig", hints_of(RuntimeConfig), fields)
    fitting("RuntimeConfig: settings", config.settings, Settings)
    return config


def named_tools(name: str, tools: Iterable[Tool | WrapsTool]) -> dict[str, Tool]:
    """Return tools by name; raises `ConfigError` for duplicate names."""
    found: dict[str, Tool] = {}
    for tool in map(as_tool, tools):
        if not hasattr(tool, "spec"):
            raise ConfigError(f"{name}: {tool!r} is no tool: write @tool above a def")
        if found.setdefault(tool.spec.name, tool) is not tool:
            raise ConfigError(f"{name}: two tools are called {tool.spec.name!r}")
    return found


def definitions(agents: Iterable[AgentDefinition]) -> dict[str, AgentDefinition]:
    """Return agents by name; raises `ConfigError`."""
    return {agent.name: fitting(f"agents: {getattr(agent, 'name', agent)}", agent, AgentDefinition) for agent in agents}
