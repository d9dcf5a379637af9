"""`coding_tools`: selects built-in tools for an agent of a Python program; also checks the directory they work in."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bridle.assembly.user_setup import UserSetup
from bridle.errors import ConfigError
from bridle.tools.registry import COMMANDS, EDITS, QUESTIONS, TODOS, WEB, builtin_tools
from bridle.tools.tool import Tool, is_built_in

if TYPE_CHECKING:
    from bridle.config.settings import Settings
    from bridle.library.agent import Agent

WITHOUT_FILES = frozenset({*TODOS, *QUESTIONS, *WEB})


def coding_tools(
    *, edits: bool = True, commands: bool = True, todos: bool = True, questions: bool = True, web: bool = True
) -> list[Tool]:
    """Return the built-in tools for the directory of an agent: `read`, `glob`, `grep`, `list`, and these groups.

    `edits`: write, edit, apply_patch. `commands`: bash, process. `todos`: todowrite, todoread. `questions`: question,
    offered only where a person can answer. `web`: webfetch.
    """
    groups = ((edits, EDITS), (commands, COMMANDS), (todos, TODOS), (questions, QUESTIONS), (web, WEB))
    return builtin_tools(without=[name for wanted, names in groups if not wanted for name in names])


def use_files(tools: Iterable[Tool]) -> bool:
    """Return whether one of the tools is a built-in one that reads or changes files."""
    return any(is_built_in(tool) and tool.spec.name not in WITHOUT_FILES for tool in tools)


def place_of(agents: Iterable[Agent], directory: str | Path | None, settings: Settings) -> str:
    """Return the machine that the sessions of some agents belong to; empty if they need none of its files."""
    if directory is None and not any(use_files(agent.tools) for agent in agents):
        return ""
    return settings.workers.place or os.uname().nodename


def told_environment(tools: Iterable[Tool], describe_machine: bool | None) -> Literal["machine", "date", "nothing"]:
    """Return what the system prompt tells of the machine: by default, what the tools of its agent need."""
    if describe_machine is None:
        return "machine" if use_files(tools) else "date"
    return "machine" if describe_machine else "nothing"


def project_of(agents: Iterable[Agent], directory: str | Path | None, journal: object) -> tuple[Path, UserSetup]:
    """Return the directory of the sessions of some agents, and the folders that its tools must not reach.

    Raises `ConfigError` if built-in tools would work in a directory that is unsuitable.
    """
    place, users = Path(directory or "."), [agent for agent in agents if use_files(agent.tools)]
    if not users:
        return place, UserSetup()
    # Imported only here: other agents use none of the user's folders.
    from bridle.config.load import config_home, data_home, person, state_home

    named = f"agent {users[0].name}: directory"
    root = place.resolve()
    if not place.is_dir():
        raise ConfigError(f"{named}: {place} is not a directory")
    if directory is None and person(os.environ).resolve().is_relative_to(root):
        raise ConfigError(f"{named}: {root} contains your home directory: name the directory to work in")
    if isinstance(journal, str | Path) and Path(journal).resolve().is_relative_to(root):
        raise ConfigError(f"agent {users[0].name}: journal: {journal} is inside {root}, where its tools work: move it")
    return place, UserSetup(guarded=tuple(home(os.environ).resolve() for home in (config_home, data_home, state_home)))
