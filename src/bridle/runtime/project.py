"""`Project`: the protocol by which a surface sees a project: its agents, models, commands and notices."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from bridle.core.agent import AgentDefinition
from bridle.core.inbox import TurnOptions
from bridle.core.limits import Limits
from bridle.core.parts import File
from bridle.runtime.sessions import Sessions

Confirm = Callable[[str], Awaitable[bool]]
"""Asks a person about a command or a file that a prompt needs."""


class Expanded(NamedTuple):
    """A person's prompt with everything in its place."""

    text: str
    files: tuple[File, ...]
    agent: str | None = None
    model: str | None = None
    wants: tuple[str, ...] = ()
    """Subagents that the person named."""
    subtask: str = ""
    """The subagent that works on the prompt."""

    def over(self, options: TurnOptions) -> TurnOptions:
        """Return the options of a prompt, with what the command says where they say nothing."""
        agent, model = options.agent or self.agent, options.model or self.model
        return msgspec.structs.replace(options, agent=agent, model=model)


class AgentRow(NamedTuple):
    """An agent with its limits in force, and those that hold for it as a subagent."""

    agent: AgentDefinition
    limits: Limits
    below: Limits


class BackgroundCommand(NamedTuple):
    """A command in the background; without a status it runs."""

    id: str
    command: str
    status: int | None
    tail: str


class Preferences(NamedTuple):
    """The settings of a project that surfaces show or obey."""

    agent: str
    model: str
    theme: str
    models: tuple[str, ...]
    """References of models that the settings name."""
    commands: tuple[str, ...]
    """Names of slash commands."""


class Project(Protocol):
    """One project directory, with its settings."""

    directory: Path

    def preferences(self) -> Preferences:
        """Return the settings that surfaces need."""

    def new_notices(self) -> tuple[str, ...]:
        """Return the notices to show now; those about configuration files only once until the files change."""

    def agents(self) -> list[AgentRow]:
        """Return all agents with their limits."""

    async def chosen_model(self) -> tuple[str, str]:
        """Return the model that answers if none is named, and why; raises `ConfigError` if there is none."""

    async def reachable_models(self) -> list[str]:
        """Return the references of all models that can be asked now."""

    async def expand(self, text: str, confirm: Confirm, *, typed: str, agent: str | None = None) -> Expanded:
        """Return a person's prompt with slash commands expanded and named files attached."""

    def background_commands(self, session: str) -> list[BackgroundCommand]:
        """Return the commands that a session has in the background of this process."""

    async def end_background_command(self, session: str, id: str) -> None:
        """End a command with everything that it started; its output can still be read."""


class Backend(Sessions, Project, Protocol):
    """What a surface works with: a `Runtime` in this process, or a client of a server."""


async def submit_prompt(
    sessions: Sessions,
    session: str,
    asked: Expanded,
    options: TurnOptions,
    *,
    files: Sequence[File] = (),
    queue: bool = False,
    reply: bool = True,
) -> str:
    """Submit an expanded prompt, with more files; a prompt for a subagent gets a turn of its own. See `prompt`."""
    return await sessions.prompt(
        session,
        asked.text,
        files=(*files, *asked.files),
        queue=queue or bool(asked.subtask),
        reply=reply,
        options=asked.over(options),
        wants=asked.wants,
        subtask=asked.subtask,
    )
