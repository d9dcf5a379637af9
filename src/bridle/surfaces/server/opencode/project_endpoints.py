"""Endpoints that a client loads at its start: agents, models, commands, paths, settings. None contains a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bridle.core.agent import AgentDefinition
from bridle.runtime.project import Backend
from bridle.runtime.project_views import SlashCommand
from bridle.surfaces.server.opencode.failures import Endpoint, JsonAnswer
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.opencode.models import listed_models, providers_of
from bridle.surfaces.server.opencode.session_endpoints import asked_directory
from bridle.surfaces.server.opencode.session_facts import milliseconds, model_of, project_id
from bridle.surfaces.server.opencode.shapes import API_VERSION

Json = dict[str, Any]


def constant(value: object) -> Endpoint:
    """Return an endpoint whose answer never changes."""

    async def answer(request: Request) -> Response:
        return JsonAnswer(value)

    return answer


class ProjectEndpoints:
    """Answers from the backend of the directory that a request names."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub

    async def _backend(self, request: Request) -> Backend:
        return await self.hub.served.backend(asked_directory(request))

    async def health(self, request: Request) -> Response:
        """Say that the server works, and which API it speaks."""
        return JsonAnswer({"healthy": True, "version": API_VERSION})

    async def config(self, request: Request) -> Response:
        """Return the settings that clients use."""
        return JsonAnswer({"share": "disabled", "autoupdate": False})

    async def providers(self, request: Request) -> Response:
        """Return the providers with their models, for `/config/providers`."""
        found, default = providers_of(await listed_models(await self._backend(request)))
        return JsonAnswer({"providers": found, "default": default})

    async def all_providers(self, request: Request) -> Response:
        """Return the providers with their models, for `/provider`."""
        found, default = providers_of(await listed_models(await self._backend(request)))
        return JsonAnswer({"all": found, "default": default, "connected": [each["id"] for each in found]})

    async def agents(self, request: Request) -> Response:
        """Return the agents, the default one first."""
        backend = await self._backend(request)
        first = backend.preferences().agent
        agents = sorted((row.agent for row in backend.agents()), key=lambda agent: agent.name != first)
        return JsonAnswer([_agent(agent) for agent in agents])

    async def commands(self, request: Request) -> Response:
        """Return the slash commands; their templates stay on the server."""
        commands = await (await self._backend(request)).slash_commands()
        return JsonAnswer([_command(each) for each in commands])

    async def path(self, request: Request) -> Response:
        """Return the directory."""
        directory = str((await self._backend(request)).directory)
        home = str(Path.home())
        return JsonAnswer({"home": home, "state": "", "config": "", "worktree": directory, "directory": directory})

    async def project(self, request: Request) -> Response:
        """Return the project of the directory."""
        return JsonAnswer(await self._project(await self._backend(request)))

    async def projects(self, request: Request) -> Response:
        """Return the projects."""
        return JsonAnswer([await self._project(await self._backend(request))])

    async def directories(self, request: Request) -> Response:
        """Return the directories of a project."""
        return JsonAnswer([{"directory": str((await self._backend(request)).directory)}])

    async def _project(self, backend: Backend) -> Json:
        directory = str(backend.directory)
        times = [milliseconds(row.info.created) for row in await self.hub.served.rows()]
        time = {"created": min(times, default=0), "updated": max(times, default=0)}
        return {"id": project_id(directory), "worktree": directory, "time": time, "sandboxes": []}


def _command(command: SlashCommand) -> Json:
    hints = [f"${number}" for number, _ in enumerate(command.arguments, 1)] or ["$ARGUMENTS"]
    found: Json = {"name": command.name, "template": "", "hints": hints, "subtask": command.subtask}
    texts = {"description": command.description, "agent": command.agent, "model": command.model}
    return {
        **found,
        "source": "mcp" if command.server else "command",
        **{key: text for key, text in texts.items() if text},
    }


def _agent(agent: AgentDefinition) -> Json:
    rules = [
        {"permission": rule.permission, "pattern": rule.pattern, "action": rule.verdict} for rule in agent.permission
    ]
    found: Json = {
        "name": agent.name,
        "mode": agent.mode,
        "permission": rules,
        "options": {},
        "hidden": agent.hidden,
        "native": agent.source == "built-in",
    }
    if agent.description:
        found["description"] = agent.description
    if agent.color[:1] == "#":
        found["color"] = agent.color
    if agent.model:
        provider, model = model_of(agent.model)
        found["model"] = {"providerID": provider, "modelID": model}
    return found
