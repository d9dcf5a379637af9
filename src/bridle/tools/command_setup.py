"""`CommandSetup`: environment shared by all tool calls of a turn (project, sandbox, resource limits, tool settings)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bridle.process.lifelines import Lifelines
from bridle.process.sandbox import Sandbox
from bridle.tools.background import Backgrounds
from bridle.tools.resources import Resources


class FileCheck(Protocol):
    """A formatter or linter for changed files; `{file}` in its command stands for the path."""

    @property
    def files(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def sandbox(self) -> bool: ...


class ToolSettings(Protocol):
    """Settings of individual tools. `Settings` implements it, so a new setting needs no wiring."""

    @property
    def formatters(self) -> Sequence[FileCheck]: ...
    @property
    def diagnostics(self) -> Sequence[FileCheck]: ...


@dataclass(slots=True, frozen=True)
class DefaultToolSettings:
    """`ToolSettings` with default values."""

    formatters: Sequence[FileCheck] = ()
    diagnostics: Sequence[FileCheck] = ()


@dataclass(slots=True, frozen=True, kw_only=True)
class CommandSetup:
    """The environment shared by all tool calls of a turn."""

    directory: Path
    """The project."""
    find_environment: Callable[[], Mapping[str, str] | None] = field(default=lambda: None)
    """Returns the environment variables of commands; None means all of Bridle's own. Like the next two, called when a
    tool needs it, so a turn without built-in tools pays nothing."""
    find_guarded: Callable[[], tuple[Path, ...]] = field(default=tuple)
    """Returns the folders that file tools never write to, including Bridle's own."""
    find_sandbox: Callable[[], Sandbox | None] = field(default=lambda: None)
    """Returns the sandbox for commands."""
    bounds: Mapping[str, int] = field(default_factory=dict)
    """Limits on each command: processes, bytes of memory, bytes of a file."""
    find_lifelines: Callable[[], Lifelines | None] = field(default=lambda: None)
    """Returns the signals without which commands end, if the lease of their session can run out."""
    reads_only: bool = False
    """Whether the project is read-only for commands of this turn and of its subagents."""
    resources: Resources = field(default_factory=Resources)
    """Objects that tools keep between calls."""
    settings: ToolSettings = DefaultToolSettings()

    @property
    def environment(self) -> Mapping[str, str] | None:
        """The environment variables of commands; None means all of Bridle's own."""
        return self.find_environment()

    @property
    def guarded(self) -> tuple[Path, ...]:
        """Folders that file tools never write to, including Bridle's own."""
        return self.find_guarded()

    @property
    def backgrounds(self) -> Backgrounds:
        """The background commands."""
        return self.resources.of(Backgrounds)
