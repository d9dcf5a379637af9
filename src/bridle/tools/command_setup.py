"""Where the calls of a turn work: the project, the sandbox and bounds of its commands, and the settings of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bridle.process.sandbox import Sandbox
from bridle.tools.background import Backgrounds


class FileCheck(Protocol):
    """A command for files that were changed; `{file}` in it stands for the file."""

    @property
    def files(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def sandbox(self) -> bool: ...


class ToolSettings(Protocol):
    """The settings that single tools read. `Settings` has all of them, so that a new one needs no wiring."""

    @property
    def formatters(self) -> Sequence[FileCheck]: ...
    @property
    def diagnostics(self) -> Sequence[FileCheck]: ...


@dataclass(slots=True, frozen=True)
class DefaultToolSettings:
    """See `ToolSettings`: what holds where nothing is set."""

    formatters: Sequence[FileCheck] = ()
    diagnostics: Sequence[FileCheck] = ()


@dataclass(slots=True, frozen=True, kw_only=True)
class CommandSetup:
    """What all calls of a turn have in common."""

    directory: Path
    """The project."""
    environment: Mapping[str, str] | None = None
    """The environment variables of commands; None means all of Bridle's own."""
    guarded: tuple[Path, ...] = ()
    """Folders that no file tool writes to, such as Bridle's own."""
    find_sandbox: Callable[[], Sandbox | None] = field(default=lambda: None)
    """Finds the sandbox for commands. Called when the first one runs, so that a turn without commands pays nothing."""
    bounds: Mapping[str, int] = field(default_factory=dict)
    """Limits on each command: processes, bytes of memory, bytes of a file."""
    reads_only: bool = False
    """Whether the project is read-only for commands of this turn and of its subagents."""
    backgrounds: Backgrounds = field(default_factory=Backgrounds)
    """The commands that run in the background."""
    settings: ToolSettings = DefaultToolSettings()
