"""The contract of a tool, and how a Python function becomes one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol, get_type_hints

import msgspec

from bridle.core.messages import Attachment
from bridle.core.permission import Access
from bridle.core.states import Ask
from bridle.core.stream import ToolSpec
from bridle.core.todos import Todo
from bridle.errors import ConfigError, ToolFailed
from bridle.process.sandbox import Sandbox
from bridle.seams import in_thread
from bridle.tools.command_setup import CommandSetup
from bridle.tools.output_buffer import Printed
from bridle.workspace.files import Files

DEFAULT_TIMEOUT_SECONDS = 120.0
Preview = Callable[[Any, Files, dict[str, str]], str]


class Output(msgspec.Struct, frozen=True):
    """What a call came to: the text for the model, and the files that it changed."""

    text: str
    files: tuple[str, ...] = ()
    failed: bool = False
    kept: bool = False
    """Whether it stays at hand for later calls of this session."""
    stored: str = ""
    """A file with the whole, where the text is only a part of it."""
    digest: str = ""
    """Of the whole, where the text is only a part of it."""
    attached: tuple[Attachment, ...] = ()
    """Images and documents for the model to look at."""
    synthesize: bool = False
    """If every call of a step says so, one request writes the answer from their results, and the turn ends."""
    todos: tuple[Todo, ...] | None = None
    """The list of what is to be done from now on, of a tool that keeps one."""


@dataclass(slots=True, kw_only=True)
class Invocation:
    """One call under way: what its tool works with, and what it has printed so far."""

    call: str
    """The id of the call."""
    session: str
    commands: CommandSetup
    """The project, its sandbox and everything else that all calls of the turn share."""
    known_files: dict[str, str] = field(default_factory=dict)
    """Digests of the files as the model knows them, by path; `sees` adds to them."""
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    seen: dict[str, str] = field(default_factory=dict)
    """What this call has added to the known files."""
    printed: Printed = field(default_factory=Printed)
    show: Callable[[str], None] | None = None
    """Shows output to a reader while the call runs."""
    permits: Callable[[Access], bool] | None = None
    """Whether an access was granted to this call; None permits everything."""
    hosts: bool = False
    """Whether there are hosts that commands in the sandbox may reach without an ask."""
    recall: Callable[[str], str] = field(default=lambda name: "")
    """The output of the last call of a tool in this session; empty if there is none."""

    @property
    def directory(self) -> Path:
        """The project."""
        return self.commands.directory

    @property
    def environment(self) -> Mapping[str, str] | None:
        """The environment variables of commands; None means all of Bridle's own."""
        return self.commands.environment

    @property
    def sandbox(self) -> Sandbox | None:
        """The sandbox for commands; None if there is none."""
        return self.commands.find_sandbox()

    @property
    def files(self) -> Files:
        """The call's way to the files."""
        return Files(self.directory, self.permits, self.commands.guarded)

    def sees(self, path: str, digest: str) -> None:
        """The model knows this file as it is now; without a digest, it knows that it is gone."""
        self.known_files[path] = self.seen[path] = digest

    def output(self, text: str, *, failed: bool = False) -> Output:
        """The end of a call that has printed: with the file that has the whole, if that was too long."""
        self.printed.close()
        stored = self.printed.stored
        return Output(text, failed=failed, stored=stored, digest=self.printed.digest() if stored else "")

    def print(self, text: str) -> None:
        """Keep output as it comes, so that a call which is cut short ends with what it had printed."""
        self.printed.add(text)
        if self.show is not None:
            self.show(text)


class Tool(Protocol):
    """Something that the model may call.

    `run` may raise `ToolFailed`, or anything else: both end the call as failed, never the turn. It may be cancelled
    at any await and must leave nothing running then. It is called at most once for each call, except after the death
    of the process if `repeatable`.
    """

    spec: ToolSpec
    repeatable: bool
    leaves_files: bool
    """Calls change no file, so that no snapshot is needed before them."""
    ignored_arguments: frozenset[str]
    permission: str
    timeout_seconds: float
    starts_child: bool
    """A call starts a subagent instead of running here; then `run` is never called."""

    def check(self, arguments: Mapping[str, Any]) -> Any:
        """The arguments as the tool wants them; raises `msgspec.ValidationError` if they do not fit."""

    def accesses(self, arguments: Any, directory: Path) -> tuple[Access, ...]:
        """The permissions that this call needs."""

    def asks(self, arguments: Any, id: str) -> Ask | None:
        """The question that this call puts to a person, whose answer is its result; then `run` is never called."""

    def shows(self, arguments: Any, files: Files, known_files: dict[str, str]) -> str:
        """What a person who is asked should see besides the arguments; raises `ToolFailed` if the call cannot work."""

    async def run(self, arguments: Any, invocation: Invocation) -> Output:
        """Do it."""


@dataclass(slots=True)
class StructTool:
    """A tool whose arguments are a struct and whose work is a coroutine function."""

    spec: ToolSpec
    arguments: type[msgspec.Struct]
    work: Callable[[Any, Invocation], Awaitable[Output]]
    permission: str
    needs: Callable[[Any, Path], tuple[Access, ...]]
    repeatable: bool = False
    leaves_files: bool = False
    ignored_arguments: frozenset[str] = frozenset()
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    starts_child: bool = False
    preview: Preview | None = None
    question: Callable[[Any, str], Ask] | None = None

    def check(self, arguments: Mapping[str, Any]) -> Any:
        # Not strict: a number that came as text is taken as the number.
        return msgspec.convert(arguments, self.arguments, strict=False)

    def accesses(self, arguments: Any, directory: Path) -> tuple[Access, ...]:
        return self.needs(arguments, directory)

    def asks(self, arguments: Any, id: str) -> Ask | None:
        return self.question(arguments, id) if self.question is not None else None

    def shows(self, arguments: Any, files: Files, known_files: dict[str, str]) -> str:
        return self.preview(arguments, files, known_files) if self.preview is not None else ""

    async def run(self, arguments: Any, invocation: Invocation) -> Output:
        return await self.work(arguments, invocation)


def asks(tool: Tool) -> bool:
    """Whether calls of a tool are questions to a person."""
    return getattr(tool, "question", None) is not None


def struct_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a struct, inlined."""
    schema = msgspec.json.schema(arguments)
    definitions = schema.pop("$defs", {})
    top: dict[str, Any] = definitions.pop(arguments.__name__, schema)
    top.pop("title", None)
    top.pop("description", None)
    if definitions:
        top["$defs"] = definitions
    return top


def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    permission: str = "python",
    repeatable: bool = False,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
) -> Any:
    """Make a tool of a Python function: its schema comes from the type hints, its words from the docstring.

    `repeatable` says that the call may be run again if the process dies before its result is recorded.
    """
    if function is None:
        return lambda inner: tool(
            inner, name=name, permission=permission, repeatable=repeatable, timeout_seconds=timeout_seconds
        )
    called = name or function.__name__
    described, words = _docstring(function)
    arguments = _arguments_of(function, words)
    is_async = inspect.iscoroutinefunction(function)

    async def work(given: Any, invocation: Invocation) -> Output:
        values = {field: getattr(given, field) for field in given.__struct_fields__}
        if is_async:
            return _output(await function(**values))
        # A plain function may block: it gets a thread, so that the other calls of its step go on.
        return _output(await in_thread(lambda: function(**values)))

    return StructTool(
        spec=ToolSpec(called, described, struct_schema(arguments)),
        arguments=arguments,
        work=work,
        permission=permission,
        needs=lambda given, directory: (Access(permission, called),),
        repeatable=repeatable,
        timeout_seconds=timeout_seconds,
    )


def _arguments_of(function: Callable[..., Any], words: Mapping[str, str]) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any, Any]] = []
    hints = get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ConfigError(f"tool {function.__name__}: parameter {parameter.name} must be an ordinary named one")
        if parameter.name not in hints:
            raise ConfigError(f"tool {function.__name__}: parameter {parameter.name} has no type hint")
        hint = hints[parameter.name]
        if parameter.name in words:
            hint = Annotated[hint, msgspec.Meta(description=words[parameter.name])]
        default = msgspec.NODEFAULT if parameter.default is parameter.empty else parameter.default
        fields.append((parameter.name, hint, msgspec.field(default=default)))
    return msgspec.defstruct(function.__name__, fields, kw_only=True, forbid_unknown_fields=True)


_PARAMETER = re.compile(r"^\s+\*{0,2}(\w+)(?:\s*\([^)]*\))?\s*:\s*(.+)$")


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The description, and the words for each parameter from a Google-style `Args:` section."""
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


def as_output(name: str, value: Any) -> Output:
    """Return what a tool returned, or a failure where it has another shape: it is recorded, and must be readable."""
    try:
        # The words are mended where they are recorded, images are not.
        msgspec.json.encode(value.attached)
        return msgspec.convert(msgspec.to_builtins(value), Output)
    except (AttributeError, TypeError, ValueError) as error:
        return Output(f"{name} returned something that is no output of a tool: {error}", failed=True)


def _output(value: Any) -> Output:
    match value:
        case Output():
            return value
        case None:
            return Output("done")
        case str():
            return Output(value)
    try:
        return Output(msgspec.json.encode(value).decode())
    except (TypeError, msgspec.MsgspecError) as error:
        raise ToolFailed(f"the tool returned something that is no JSON: {error}") from error
