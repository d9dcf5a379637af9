"""`Backend`: protocol of all that surfaces call: `Sessions`, and `Project` for agents, models, files and prompts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import msgspec

from bridle.core.agent import AgentDefinition
from bridle.core.inbox import TurnOptions
from bridle.core.limits import Limits
from bridle.core.parts import File
from bridle.errors import ConfigError
from bridle.process.program_lookup import own_path as own_path, own_program as own_program
from bridle.runtime.project_views import (
    BranchView,
    ConfigValue,
    FileContent,
    FoundFile,
    ModelRow,
    ServerRow,
    SlashCommand,
    TrustView,
    UsageStats,
)
from bridle.runtime.sessions import Sessions
from bridle.values.media import media_of

MOST_ATTACHED_BYTES = 20 * 1024 * 1024

Confirm = Callable[[Literal["command", "file"], str], Awaitable[bool]]
"""Asks the user whether a prompt may run a command or read a file."""


class Expanded(msgspec.Struct, frozen=True):
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


class BackgroundCommand(msgspec.Struct, frozen=True):
    """A background command; `status` is None while it runs."""

    id: str
    command: str
    status: int | None
    tail: str


class Preferences(msgspec.Struct, frozen=True):
    """The settings of a project that surfaces use."""

    agent: str
    model: str
    theme: str
    models: tuple[str, ...]
    """References of configured models."""
    commands: tuple[str, ...]
    """Names of slash commands."""


class Project(Protocol):
    """One project directory, with its settings.

    `preferences`, `new_notices` and `agents` are those of the time when the project was opened.
    """

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

    async def model_rows(self) -> list[ModelRow]:
        """Return the same models with their windows, prices and variants."""

    async def configuration(self) -> list[ConfigValue]:
        """Return every setting in force with its origin, secrets hidden."""

    async def trust(self) -> TrustView:
        """Return whether the files are trusted, and what is ignored. Trust is given by `bridle trust` only."""

    async def approvals(self) -> list[str]:
        """Return the permanent approvals of the project in words, in the order of their numbers from 1."""

    async def revoke_approval(self, number: int, words: str) -> list[str]:
        """Revoke the permanent approval with this number and these words, and return those that are left.

        Raises `ConfigError` if that number has other words: another client may have changed the list.
        """

    async def slash_commands(self) -> list[SlashCommand]:
        """Return the slash commands, those of MCP servers included that are connected already."""

    async def mcp_servers(self) -> list[ServerRow]:
        """Connect to the MCP servers, and return how each was found. A failure is part of the result."""

    async def stats(self, days: int = 7, projects: Sequence[str] = ()) -> UsageStats:
        """Return the use of the last days by date, agent, model and project; raises `ConfigError` for a wrong number.

        With `projects`, only the sessions of these directories are counted; a server counts those that it serves.
        """

    async def find_files(self, text: str, limit: int = 50) -> list[FoundFile]:
        """Return files and folders whose path contains all fragments of a text, in any case, the best match first.

        Left out are those that git ignores, hidden ones, and those that the read tool would ask for.
        """

    async def read_file(self, path: str) -> FileContent:
        """Return the content of a file of at most 5 MB.

        Raises `AccessRefused` if the read tool would ask or the rules deny it, and `ConfigError` if it cannot be read.
        """

    async def list_folder(self, path: str = ".") -> list[FoundFile]:
        """Return the files and folders in a folder, hidden and ignored ones included. Raises as `read_file` does."""

    async def upload(self, name: str, content: bytes) -> File:
        """Return content as an attachment for a prompt; raises `ConfigError` if it is no text, image or PDF.

        Writes no file.
        """

    async def expand(self, text: str, confirm: Confirm, *, typed: str, agent: str | None = None) -> Expanded:
        """Return a user's prompt with slash commands expanded and named files attached."""

    async def branch(self) -> BranchView:
        """Return the checked out branch of the project's repository, and its default branch."""

    async def background_commands(self, session: str) -> list[BackgroundCommand]:
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


def attachment(name: str, content: bytes, said: str = "") -> File:
    """Return content as an attachment; `said` names it in errors. Raises `ConfigError` for an unknown format."""
    said = said or name
    if len(content) > MOST_ATTACHED_BYTES:
        raise ConfigError(f"{said} is larger than {MOST_ATTACHED_BYTES // 2**20} MB")
    media = media_of(content)
    if media:
        return File(name, media=media, data=b64encode(content).decode())
    try:
        return File(name, content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{said} is neither text nor PNG, JPEG, GIF, WebP or PDF: {error}") from error
