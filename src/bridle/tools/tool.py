"""`Tool`: the contract of a tool that a model can call, with the types of its calls and results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec

from bridle.core.messages import Attachment
from bridle.core.permission import Access
from bridle.core.states import Ask, OutputBy
from bridle.core.stream import ToolSpec
from bridle.core.todos import Todo
from bridle.errors import ToolFailed
from bridle.process.sandbox import Sandbox
from bridle.tools.command_setup import CommandSetup
from bridle.tools.output_buffer import Printed
from bridle.workspace.files import Files

DEFAULT_TIMEOUT_SECONDS = 120.0
Preview = Callable[[Any, Files, dict[str, str]], str]


class Output(msgspec.Struct, frozen=True):
    """The result of a tool call: the text for the model, and the files that it changed."""

    text: str
    files: tuple[str, ...] = ()
    failed: bool = False
    kept: bool = False
    """Whether later calls of this session can recall it."""
    stored: str = ""
    """File with the complete output if the text is only a part of it."""
    digest: str = ""
    """Digest of the complete output if the text is only a part of it."""
    attached: tuple[Attachment, ...] = ()
    """Images and documents for the model to look at."""
    synthesize: bool = False
    """If set on every call of a step, one request writes the answer from their results, and the turn ends."""
    todos: tuple[Todo, ...] | None = None
    """The todo list from now on, from a tool that keeps one."""
    diff: str = ""
    """The changes to files as a unified diff, which people are shown."""
    by: OutputBy = "tool"
    """A hook may give the output."""


@dataclass(slots=True, kw_only=True)
class Invocation:
    """One running tool call: its environment and its output so far."""

    call: str
    """The id of the call."""
    session: str
    commands: CommandSetup
    """Project, sandbox and everything else shared by all calls of the turn."""
    known_files: dict[str, str] = field(default_factory=dict)
    """Digests of files as the model last saw them, by path; `sees` adds to them."""
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    seen: dict[str, str] = field(default_factory=dict)
    """The digests that this call has added to `known_files`."""
    printed: Printed = field(default_factory=Printed)
    show: Callable[[str], None] | None = None
    """Streams output to a reader while the call runs."""
    permits: Callable[[Access], bool] | None = None
    """Whether an access was granted to this call; None permits everything."""
    hosts: bool = False
    """Whether commands in the sandbox may reach some hosts without asking."""
    make_context: Callable[[], Awaitable[Any]] | None = None
    """Makes the context of the call for a Python function; None outside a turn."""
    recall: Callable[[str], str] = field(default=lambda name: "")
    """Returns the output of the last call of a tool in this session; empty if there is none."""

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
        """File access with the permissions of this call."""
        return Files(self.directory, self.permits, self.commands.guarded)

    async def context(self) -> Any:
        """Return the context of the call for a Python function that takes one; raises `ToolFailed` without one."""
        if self.make_context is None:
            raise ToolFailed("there is no context here: the tool was called outside an agent of this program")
        return await self.make_context()

    def sees(self, path: str, digest: str) -> None:
        """Record the digest of a file as the model now knows it; an empty digest means that the file is gone."""
        self.known_files[path] = self.seen[path] = digest

    def output(self, text: str, *, failed: bool = False) -> Output:
        """Close the printed output and return the result, with the file of the complete output if it was too long."""
        self.printed.close()
        stored = self.printed.stored
        return Output(text, failed=failed, stored=stored, digest=self.printed.digest() if stored else "")

    def print(self, text: str) -> None:
        """Add output as it arrives, so that an interrupted call keeps its output so far."""
        self.printed.add(text)
        if self.show is not None:
            self.show(text)


class WrapsTool(Protocol):
    """An object with a tool inside, like a function decorated with `@tool`."""

    @property
    def tool(self) -> StructTool: ...


class Tool(Protocol):
    """A tool that the model can call.

    `run` may raise `ToolFailed`, or anything else: both end the call as failed, never the turn. It may be cancelled
    at any await and must leave nothing running then. It is called at most once for each call, except after the death
    of the process if `repeatable`.
    """

    spec: ToolSpec
    repeatable: bool
    leaves_files: bool = False
    """Whether calls change no files, so that no snapshot is needed before them."""
    ignored_arguments: frozenset[str] = frozenset()
    permission: str
    timeout_seconds: float
    starts_child: bool = False
    """Whether a call starts a subagent; then `run` is never called."""

    def check(self, arguments: Mapping[str, Any]) -> Any:
        """Return the validated arguments. Raises `msgspec.ValidationError` if they do not fit."""

    def accesses(self, arguments: Any, directory: Path) -> tuple[Access, ...]:
        """Return the permissions that this call needs."""

    def asks(self, arguments: Any, id: str) -> Ask | None:
        """Return the question to a person whose answer is the result; then `run` is never called."""
        return None

    def shows(self, arguments: Any, files: Files, known_files: dict[str, str]) -> str:
        """Return a preview for the permission question, like a diff. Raises `ToolFailed` if the call cannot work."""
        return ""

    async def run(self, arguments: Any, invocation: Invocation) -> Output:
        """Run the call and return its result."""


@dataclass(slots=True)
class StructTool:
    """A tool made of functions that validate its arguments, name its permissions and do its work."""

    spec: ToolSpec
    load: Callable[[Mapping[str, Any]], Any]
    """Returns the validated arguments; raises `msgspec.ValidationError`."""
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
    deferred: bool = False
    """Whether the result is supplied from outside, by a program and not by a person."""
    hands_to: str = ""
    """The agent that a call hands the turn over to; then `run` is never called."""
    built_in: bool = False
    """Whether it is one of Bridle's own tools."""

    def check(self, arguments: Mapping[str, Any]) -> Any:
        return self.load(arguments)

    def accesses(self, arguments: Any, directory: Path) -> tuple[Access, ...]:
        return self.needs(arguments, directory)

    def asks(self, arguments: Any, id: str) -> Ask | None:
        return self.question(arguments, id) if self.question is not None else None

    def shows(self, arguments: Any, files: Files, known_files: dict[str, str]) -> str:
        return self.preview(arguments, files, known_files) if self.preview is not None else ""

    async def run(self, arguments: Any, invocation: Invocation) -> Output:
        return await self.work(arguments, invocation)


def as_tool(given: Tool | WrapsTool) -> Tool:
    """Return the tool itself."""
    wrapped = getattr(given, "tool", None)
    return wrapped if isinstance(wrapped, StructTool) else cast(Tool, given)


def asks(tool: Tool) -> bool:
    """Return whether calls of a tool are questions to a person."""
    return getattr(tool, "question", None) is not None and not getattr(tool, "deferred", False)


def hands_to(tool: Tool) -> str:
    """Return the agent that calls of a tool hand the turn over to; empty for every other tool."""
    return tool.hands_to if isinstance(tool, StructTool) else ""


def is_built_in(tool: Tool) -> bool:
    """Return whether a tool is one of Bridle's own."""
    return bool(getattr(tool, "built_in", False))


def loader(arguments: type[msgspec.Struct]) -> Callable[[Mapping[str, Any]], Any]:
    """Return the function that validates arguments as a struct. Not strictly: a number given as text is accepted."""
    return lambda given: msgspec.convert(given, arguments, strict=False)


def struct_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON schema of a struct, inlined."""
    schema = msgspec.json.schema(arguments)
    definitions = schema.pop("$defs", {})
    top: dict[str, Any] = definitions.pop(arguments.__name__, schema)
    top.pop("title", None)
    top.pop("description", None)
    if definitions:
        top["$defs"] = definitions
    return top


def as_output(name: str, value: Any) -> Output:
    """Return a tool's output, or a failure if it is not a valid `Output`: the journal must be able to read it back."""
    try:
        # Text is repaired when it is recorded, attachments are not.
        msgspec.json.encode(value.attached)
        return msgspec.convert(msgspec.to_builtins(value), Output)
    except (AttributeError, TypeError, ValueError) as error:
        return Output(f"{name} returned something that is no output of a tool: {error}", failed=True)
