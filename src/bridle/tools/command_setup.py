"""The environment of a turn's tool calls: project, sandbox, resource limits of commands, and tool settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

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
    environment: Mapping[str, str] | None = None
    """The environment variables of commands; None means all of Bridle's own."""
    guarded: tuple[Path, ...] = ()
    """Folders that file tools never write to, including Bridle's own."""
    find_sandbox: Callable[[], Sandbox | None] = field(default=lambda: None)
    """Returns the sandbox for commands. Called for the first command, so a turn without commands pays nothing."""
    bounds: Mapping[str, int] = field(default_factory=dict)
    """Limits on each command: processes, bytes of memory, bytes of a file."""
    reads_only: bool = False
    """Whether the project is read-only for commands of this turn and of its subagents."""
    resources: Resources = field(default_factory=Resources)
    """Whatever tools keep between calls."""
    settings: ToolSettings = DefaultToolSettings()

    @property
    def backgrounds(self) -> Backgrounds:
        """The background commands."""
        return self.resources.of(Backgrounds)
