"""`RemoteProject`: base class of `ServerClient` with the settings, models, commands and files of one directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from bridle.client.connection import ServerConnection, segment, session_path
from bridle.core.agent import AgentDefinition
from bridle.core.parts import File
from bridle.errors import ConfigError
from bridle.runtime.project import (
    AgentRow,
    BackgroundCommand,
    Confirm,
    Expanded,
    Preferences,
    attachment,
)
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
from bridle.wire.native_answers import Accepted, AgentList, ExpandedPrompt, ModelList, ProjectState
from bridle.wire.native_requests import (
    ApprovalQuery,
    DirectoryQuery,
    EmptyBody,
    ExpandBody,
    FindQuery,
    PathQuery,
    StatsQuery,
)

Answer = TypeVar("Answer")


class RemoteProject:
    """`Project` over HTTP. Methods that are not awaited return what was read when the client was opened."""

    _connection: ServerConnection
    directory: Path
    _state: ProjectState
    _agents: AgentList

    async def _get(self, path: str, answer: type[Answer]) -> Answer:
        return await self._connection.ask("GET", path, answer, query=self._here)

    @property
    def _here(self) -> DirectoryQuery:
        return DirectoryQuery(directory=str(self.directory))

    def preferences(self) -> Preferences:
        known = self._state
        return Preferences(known.agent, known.model, known.theme, known.models, known.commands)

    def new_notices(self) -> tuple[str, ...]:
        return self._state.notices

    def agents(self) -> list[AgentRow]:
        """Return the agents by name, description, mode and model: their prompts and rules stay on the server."""
        return [
            AgentRow(
                AgentDefinition(
                    each.name,
                    description=each.description,
                    model=each.model or None,
                    mode=each.mode,
                    hidden=each.hidden,
                ),
                each.limits,
                each.below,
            )
            for each in self._agents.agents
        ]

    async def chosen_model(self) -> tuple[str, str]:
        found = await self._get("/models", ModelList)
        if not found.default:
            raise ConfigError(found.why)
        return found.default, found.why

    async def reachable_models(self) -> list[str]:
        return list((await self._get("/models", ModelList)).models)

    async def model_rows(self) -> list[ModelRow]:
        return await self._get("/models/rows", list[ModelRow])

    async def configuration(self) -> list[ConfigValue]:
        return await self._get("/configuration", list[ConfigValue])

    async def trust(self) -> TrustView:
        return await self._get("/trust", TrustView)

    async def approvals(self) -> list[str]:
        return await self._get("/approvals", list[str])

    async def revoke_approval(self, number: int, words: str) -> list[str]:
        query = ApprovalQuery(directory=str(self.directory), number=number, words=words)
        return await self._connection.ask("DELETE", "/approvals", list[str], query=query)

    async def slash_commands(self) -> list[SlashCommand]:
        return await self._get("/commands", list[SlashCommand])

    async def mcp_servers(self) -> list[ServerRow]:
        return await self._get("/servers", list[ServerRow])

    async def branch(self) -> BranchView:
        return await self._get("/branch", BranchView)

    async def stats(self, days: int = 7, projects: Sequence[str] = ()) -> UsageStats:
        query = StatsQuery(directory=str(self.directory), days=days, projects=tuple(projects))
        return await self._connection.ask("GET", "/stats", UsageStats, query=query)

    async def find_files(self, text: str, limit: int = 50) -> list[FoundFile]:
        query = FindQuery(directory=str(self.directory), text=text, limit=limit)
        return await self._connection.ask("GET", "/files/find", list[FoundFile], query=query)

    async def read_file(self, path: str) -> FileContent:
        query = PathQuery(directory=str(self.directory), path=path)
        return await self._connection.ask("GET", "/files/read", FileContent, query=query)

    async def list_folder(self, path: str = ".") -> list[FoundFile]:
        query = PathQuery(directory=str(self.directory), path=path)
        return await self._connection.ask("GET", "/files/list", list[FoundFile], query=query)

    async def upload(self, name: str, content: bytes) -> File:
        return attachment(name, content)

    async def expand(self, text: str, confirm: Confirm, *, typed: str, agent: str | None = None) -> Expanded:
        allowed: tuple[str, ...] = ()
        while True:
            body = ExpandBody(text=text, typed=typed, agent=agent, directory=str(self.directory), allowed=allowed)
            # The commands of a template run on the server.
            found = await self._connection.ask("POST", "/expansions", ExpandedPrompt, body=body, repeats="unsent")
            if not found.question:
                return Expanded(found.text, found.files, found.agent, found.model, found.wants, subtask=found.subtask)
            if not await confirm("command", found.question):
                raise ConfigError(
                    f"!`{found.question}` needs a person's permission; a rule for bash may allow it beforehand"
                )
            allowed = (*allowed, found.question)

    async def background_commands(self, session: str) -> list[BackgroundCommand]:
        path = session_path(session, "/background")
        return await self._connection.ask("GET", path, list[BackgroundCommand])

    async def end_background_command(self, session: str, id: str) -> None:
        path = session_path(session, f"/background/{segment(id)}/end")
        await self._connection.ask("POST", path, Accepted, body=EmptyBody())
