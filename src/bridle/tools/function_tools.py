"""`function_tool`: makes a tool of a Python function: schema from type hints, description from the docstring."""

from __future__ import annotations

import inspect
import logging
import re
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from bridle.core.permission import APPROVAL, Access
from bridle.core.states import Ask
from bridle.core.stream import ToolSpec
from bridle.errors import ConfigError, ToolFailed, error_text
from bridle.seams import in_thread
from bridle.tools.attachments import Media, shown
from bridle.tools.tool import DEFAULT_TIMEOUT_SECONDS, Invocation, Output, StructTool
from bridle.values.argument_kinds import check_arguments, hints_of, shown as in_short
from bridle.values.type_adapter import Field, fields_adapter, to_json

LOG = logging.getLogger(__name__)
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The names that all providers accept."""
_PARAMETER = re.compile(r"^\s+\*{0,2}(\w+)(?:\s*\([^)]*\))?\s*:\s*(.+)$")

Needed = bool | str | Access | Iterable[str | Access]
Needs = Callable[..., Needed]
"""Returns the permissions that a call with these arguments needs: True for an approval, or subjects for the rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """The options of `@tool`."""

    name: str | None = None
    permission: str = "python"
    repeatable: bool = False
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    needs: Needs | None = None
    deferred: bool = False
    traceback: bool = False

    def __post_init__(self) -> None:
        check_arguments("tool", hints_of(ToolOptions), {field: getattr(self, field) for field in self.__slots__})
        if not self.timeout_seconds > 0:
            raise ConfigError(f"tool: timeout_seconds must be more than 0, not {self.timeout_seconds:g}")
        if not self.permission:
            raise ConfigError("tool: permission must not be empty")


DEFAULTS = ToolOptions()


def function_tool(function: Callable[..., Any], options: ToolOptions = DEFAULTS) -> StructTool:
    """Return the tool of a function; raises `ConfigError` if its parameters cannot be described."""
    called = _name_of(function, options)
    described, words = _docstring(function)
    in_context, fields = _fields(called, function, words)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(f"tool {called}: a tool returns its result: it cannot yield")
    adapter = fields_adapter(f"tool {called}", fields)
    _check_needs(called, options.needs, fields)
    is_async = inspect.iscoroutinefunction(function)

    def values(given: Any) -> dict[str, Any]:
        return {field.name: getattr(given, field.name) for field in fields}

    async def work(given: Any, invocation: Invocation) -> Output:
        context = (await invocation.context(),) if in_context else ()
        try:
            if is_async:
                return output_of(await function(*context, **values(given)))
            # A plain function may block: a thread lets the other calls of its step continue.
            returned = await in_thread(lambda: function(*context, **values(given)))
            # A decorator may hide that the function is asynchronous.
            return output_of(await returned if isinstance(returned, Awaitable) else returned)
        except ToolFailed:
            raise
        except Exception as error:
            LOG.exception("the tool %s failed", called)
            if options.traceback:
                raise ToolFailed("".join(traceback.format_exception(error))) from error
            raise

    def needs(given: Any, directory: Path) -> tuple[Access, ...]:
        own = Access(options.permission, called)
        if options.needs is None:
            return (own,)
        return (own, *_accesses(options.needs(**values(given)), options.permission, called))

    return StructTool(
        spec=ToolSpec(called, described, {key: value for key, value in adapter.schema.items() if key != "title"}),
        load=adapter.load,
        work=work,
        permission=options.permission,
        needs=needs,
        repeatable=options.repeatable,
        timeout_seconds=options.timeout_seconds,
        question=_awaited if options.deferred else None,
        deferred=options.deferred,
    )


def _awaited(given: Any, id: str) -> Ask:
    """Return the ask of a deferred call, which a program answers with the result."""
    return Ask(id, "the result of this call is awaited", (), (), kind="deferred")


def _accesses(needed: Needed, permission: str, called: str) -> list[Access]:
    match needed:
        case bool():
            return [Access(APPROVAL, called)] if needed else []
        case str():
            return [Access(permission, needed)]
        case Access():
            return [needed]
    return [access for each in needed for access in _accesses(each, permission, called)]


def _name_of(function: Any, options: ToolOptions) -> str:
    """Return the name of the tool of a function; raises `ConfigError`."""
    own = getattr(function, "__name__", None)
    if not callable(function) or isinstance(function, type) or not isinstance(own, str):
        raise ConfigError(f"tool: {in_short(function)} is no function: write a def with type hints")
    name = own if options.name is None else options.name
    if not NAME.fullmatch(name):
        problem = "the name must have up to 64 letters, digits, '_' or '-', which all providers accept"
        raise ConfigError(f"tool {name!r}: {problem}: write @tool(name=…) above a def")
    return name


def _check_needs(called: str, needs: Needs | None, fields: Iterable[Field]) -> None:
    """Raise `ConfigError` for `needs` that cannot be called with the arguments of its tool."""
    if needs is None:
        return
    if inspect.iscoroutinefunction(needs):
        raise ConfigError(f"tool {called}: needs must be a plain function, not an async one")
    try:
        inspect.signature(needs).bind(**{field.name: None for field in fields})
    except TypeError as error:
        raise ConfigError(f"tool {called}: needs must take the arguments of the tool: {error}") from error
    except ValueError:
        # A function of an extension module does not tell its parameters.
        return


def _fields(called: str, function: Callable[..., Any], words: Mapping[str, str]) -> tuple[bool, list[Field]]:
    """Return whether the first parameter is the context of the call, and the other parameters."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise ConfigError(f"tool {called}: its type hints cannot be read: {error_text(error)}") from error
    parameters = list(inspect.signature(function).parameters.values())
    in_context = bool(parameters) and _is_context(hints.get(parameters[0].name))
    fields: list[Field] = []
    for parameter in parameters[in_context:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ConfigError(f"tool {called}: parameter {parameter.name} must be an ordinary named one")
        if parameter.name not in hints:
            way = ": make a tool of the bound method, tool(object.method)" if parameter.name == "self" else ""
            raise ConfigError(f"tool {called}: parameter {parameter.name} has no type hint{way}")
        if any(map(_is_context, (hints[parameter.name], *get_args(hints[parameter.name])))):
            raise ConfigError(f"tool {called}: parameter {parameter.name}: the first parameter alone may be a Context")
        default = msgspec.NODEFAULT if parameter.default is parameter.empty else parameter.default
        fields.append(Field(parameter.name, hints[parameter.name], default, words.get(parameter.name, "")))
    return in_context, fields


def takes_context(function: Callable[..., Any]) -> bool:
    """Return whether the first parameter of a function is the context of the call."""
    return _fields(getattr(function, "__name__", ""), function, {})[0]


def _is_context(hint: Any) -> bool:
    return getattr(get_origin(hint) or hint, "is_call_context", False) is True


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the description, and the description of each parameter from a Google-style `Args:` section."""
    text = inspect.getdoc(function) or ""
    head, _, tail = text.partition("\nArgs:")
    words: dict[str, str] = {}
    for line in tail.splitlines():
        found = _PARAMETER.match(line)
        if found:
            words[found.group(1)] = found.group(2).strip()
        elif line and not line[0].isspace():
            break
    return head.strip() or function.__name__, words


def output_of(value: Any) -> Output:
    """Return what a tool function returned as the output of its call; raises `ToolFailed`."""
    match value:
        case Output():
            return value
        case None:
            return Output("done")
        case str():
            return Output(value)
        case Media():
            return _joined([value])
        case [*pieces] if any(isinstance(piece, Media) for piece in pieces):
            return _joined(pieces)
    try:
        return Output(msgspec.json.encode(to_json(value)).decode())
    except (TypeError, ValueError) as error:
        raise ToolFailed(f"the tool returned a value that cannot be encoded as JSON: {error}") from error


def _joined(pieces: list[Any]) -> Output:
    """Return texts and files as one output."""
    outputs = [_media(piece) if isinstance(piece, Media) else output_of(piece) for piece in pieces]
    attached = tuple(each for output in outputs for each in output.attached)
    return Output("\n".join(output.text for output in outputs), attached=attached)


def _media(media: Media) -> Output:
    text, attached = shown(media)
    return Output(text, attached=attached)
