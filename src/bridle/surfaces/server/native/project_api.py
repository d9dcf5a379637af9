"""`ProjectApi`: operations that read a directory's settings, agents, models, commands, trust and usage."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

from bridle.core.budget import AccountUse
from bridle.errors import ConfigError
from bridle.runtime.project_views import (
    BranchView,
    ConfigValue,
    ModelRow,
    ServerRow,
    SlashCommand,
    TrustView,
    UsageStats,
)
from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.native.operation import Operation, Run, get
from bridle.surfaces.server.problems import RequestRefused
from bridle.wire.native_answers import AgentList, AgentState, ModelList, ProjectState
from bridle.wire.native_requests import ApprovalQuery, DirectoryQuery, StatsQuery

STARTS = {"mcp_servers"}
"""Operations that start programs."""


class ProjectApi:
    """Reads the settings of served directories."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server

    async def agents(self, request: Request, query: DirectoryQuery, body: None) -> object:
        backend = await self._server.directories.backend(query.directory)
        found = [
            AgentState(
                name=row.agent.name,
                description=row.agent.description,
                mode=row.agent.mode,
                model=row.agent.model or "",
                limits=row.limits,
                below=row.below,
                hidden=row.agent.hidden,
            )
            for row in backend.agents()
        ]
        return AgentList(tuple(found), backend.preferences().agent)

    async def models(self, request: Request, query: DirectoryQuery, body: None) -> object:
        backend = await self._server.directories.backend(query.directory)
        try:
            default, why = await backend.chosen_model()
        except ConfigError as error:
            default, why = "", str(error)
        return ModelList(tuple(await backend.reachable_models()), default, why)

    async def account(self, request: Request, query: DirectoryQuery, body: None) -> object:
        backend = await self._server.directories.backend(query.directory)
        return await backend.account(request.path_params.get("account", ""))

    async def project(self, request: Request, query: DirectoryQuery, body: None) -> object:
        backend = await self._server.directories.backend(query.directory)
        known = backend.preferences()
        return ProjectState(
            directory=str(backend.directory),
            agent=known.agent,
            model=known.model,
            theme=known.theme,
            models=known.models,
            commands=known.commands,
            notices=backend.new_notices(),
        )

    async def model_rows(self, request: Request, query: DirectoryQuery, body: None) -> object:
        return await (await self._server.directories.backend(query.directory)).model_rows()

    async def configuration(self, request: Request, query: DirectoryQuery, body: None) -> object:
        return await (await self._server.directories.backend(query.directory)).configuration()

    async def trust(self, request: Request, query: DirectoryQuery, body: None) -> object:
        return await (await self._server.directories.backend(query.directory)).trust()

    async def approvals(self, request: Request, query: DirectoryQuery, body: None) -> object:
        return await (await self._server.directories.backend(query.directory)).approvals()

    async def revoke(self, request: Request, query: ApprovalQuery, body: None) -> object:
        backend = await self._server.directories.backend(query.directory)
        try:
            return await backend.revoke_approval(query.number, query.words)
        except ConfigError as error:
            raise RequestRefused(409, "number", str(error)) from error

    async def commands(self, request: Request, query: DirectoryQuery, body: None) -> object:
        return await (await self._server.directories.backend(query.directory)).slash_commands()

    async def servers(self, request: Request, query: DirectoryQuery, body: None) -> object:
        return await (await self._server.directories.backend(query.directory)).mcp_servers()

    async def branch(self, request: Request, query: DirectoryQuery, body: None) -> object:
        return await (await self._server.directories.backend(query.directory)).branch()

    async def stats(self, request: Request, query: StatsQuery, body: None) -> object:
        directories = self._server.directories
        served = {str(path) for path in directories.served} | {row.info.directory for row in await directories.rows()}
        wanted = served.intersection(query.projects) if query.projects else served
        for name in set(query.projects) - served:
            # It has no sessions here; one that is not served is refused.
            wanted.add(str(directories.resolve(name)))
        return await (await directories.backend(query.directory)).stats(query.days, sorted(wanted))

    def operations(self) -> Sequence[Operation]:
        """Return the operations of this part of the API."""
        found: list[tuple[str, str, str, Run, object]] = [
            ("agents", "/agents", "List the agents of a directory.", self.agents, AgentList),
            ("models", "/models", "List the models that are reachable.", self.models, ModelList),
            ("own_account", "/account", "Return the use of the user's account.", self.account, AccountUse),
            ("account", "/accounts/{account}", "Return the use of an account.", self.account, AccountUse),
            ("project", "/project", "Return a directory with its settings.", self.project, ProjectState),
            ("model_rows", "/models/rows", "Return the models with prices.", self.model_rows, list[ModelRow]),
            ("trust", "/trust", "Tell what is ignored without trust.", self.trust, TrustView),
            ("approvals", "/approvals", "List permanent approvals in words.", self.approvals, list[str]),
            ("commands", "/commands", "List the slash commands.", self.commands, list[SlashCommand]),
            ("stats", "/stats", "Return the use of the last days.", self.stats, UsageStats),
            ("configuration", "/configuration", "Return every setting.", self.configuration, list[ConfigValue]),
            ("branch", "/branch", "Return the branches of a directory.", self.branch, BranchView),
            ("mcp_servers", "/servers", "Connect to the MCP servers, and tell.", self.servers, list[ServerRow]),
        ]
        revoked = Operation(
            name="revoke_approval",
            method="DELETE",
            path="/approvals",
            right="drive",
            summary="Revoke a permanent approval, and list the remaining ones; 409 if it is another one by now.",
            run=self.revoke,
            query=ApprovalQuery,
            answer=list[str],
        )
        return [revoked] + [
            get(
                name,
                path,
                summary,
                run,
                answer,
                query=StatsQuery if name == "stats" else DirectoryQuery,
                right="drive" if name in STARTS else "view",
            )
            for name, path, summary, run, answer in found
        ]
