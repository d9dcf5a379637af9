"""`Project`: the protocol through which a surface reads a project's agents, models, commands and notices."""

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
"""Asks the user whether a prompt may run a command or read a file."""


class Expanded(NamedTuple):
    """A user's prompt with slash commands expanded and files attached."""

    text: str
    files: tuple[File, ...]
    agent: str | None = None
    model: str | None = None
    wants: tuple[str, ...] = ()
    """Subagents that the user named."""
    subtask: str = ""
    """The subagent that works on the prompt."""

    def over(self, options: TurnOptions) -> TurnOptions:
        """Return the options, with agent and model of the slash command where the options name none."""
        agent, model = options.agent or self.agent, options.model or self.model
        return msgspec.structs.replace(options, agent=agent, model=model)


class AgentRow(NamedTuple):
    """An agent with its effective limits, and those that apply when it runs as a subagent."""

    agent: AgentDefinition
    limits: Limits
    below: Limits


class BackgroundCommand(NamedTuple):
    """A background command; `status` is None while it runs."""

    id: str
    command: str
    status: int | None
    tail: str


class Preferences(NamedTuple):
    """The settings of a project that surfaces use."""

    agent: str
    model: str
    theme: str
    models: tuple[str, ...]
    """References of configured models."""
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
        """Return the default model and why it was chosen; raises `ConfigError` if there is none."""

    async def reachable_models(self) -> list[str]:
        """Return the references of all models that are reachable now."""

    async def expand(self, text: str, confirm: Confirm, *, typed: str, agent: str | None = None) -> Expanded:
        """Return a user's prompt with slash commands expanded and named files attached."""

    def background_commands(self, session: str) -> list[BackgroundCommand]:
        """Return the background commands of a session in this process."""

    async def end_background_command(self, session: str, id: str) -> None:
        """End a background command with all its subprocesses; its output stays readable."""


class Backend(Sessions, Project, Protocol):
    """The interface that surfaces use: a `Runtime` in this process, or a client of a server."""


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
    """Submit an expanded prompt with more files; a subagent's prompt gets a separate turn. See `Sessions.prompt`."""
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
