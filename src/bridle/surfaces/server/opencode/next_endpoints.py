"""Endpoints below `/api` that OpenCode's terminal application reads at its start, with the same facts in new shapes."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bridle.core.agent import AgentDefinition
from bridle.runtime.project import Backend
from bridle.surfaces.server.opencode.failures import Endpoint, JsonAnswer
from bridle.surfaces.server.opencode.file_endpoints import location
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.opencode.models import listed_models, next_shape
from bridle.surfaces.server.opencode.session_endpoints import asked_directory
from bridle.surfaces.server.opencode.session_facts import model_of

REQUEST: dict[str, Any] = {"headers": {}, "body": {}}
"""Requests are made on the server: no header and no option of them is told."""


class NextEndpoints:
    """Answers with the same facts as the paths without `/api`."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub

    async def _backend(self, request: Request) -> Backend:
        return await self.hub.served.backend(asked_directory(request))

    async def location(self, request: Request) -> Response:
        """Return the directory and its project."""
        return JsonAnswer(location(str((await self._backend(request)).directory)))

    async def agents(self, request: Request) -> Response:
        """Return the agents."""
        backend = await self._backend(request)
        return _listed(backend, [_agent(row.agent) for row in backend.agents()])

    async def commands(self, request: Request) -> Response:
        """Return the slash commands."""
        backend = await self._backend(request)
        found = [{"name": each.name, "template": ""} for each in await backend.slash_commands()]
        return _listed(backend, found)

    async def providers(self, request: Request) -> Response:
        """Return the providers."""
        backend = await self._backend(request)
        names = dict.fromkeys(model.provider for model in await listed_models(backend))
        api = {"type": "native", "settings": {}}
        return _listed(backend, [{"id": name, "name": name, "api": api, "request": REQUEST} for name in names])

    async def models(self, request: Request) -> Response:
        """Return the models."""
        backend = await self._backend(request)
        return _listed(backend, [next_shape(model) for model in await listed_models(backend)])

    def nothing(self) -> Endpoint:
        """Return an endpoint whose list is always empty."""

        async def answer(request: Request) -> Response:
            return _listed(await self._backend(request), [])

        return answer


def _listed(backend: Backend, data: list[dict[str, Any]]) -> JsonAnswer:
    return JsonAnswer({"location": location(str(backend.directory)), "data": data})


def _agent(agent: AgentDefinition) -> dict[str, Any]:
    rules = [{"action": each.permission, "resource": each.pattern, "effect": each.verdict} for each in agent.permission]
    found = {"id": agent.name, "request": REQUEST, "mode": agent.mode, "hidden": agent.hidden, "permissions": rules}
    if agent.model:
        provider, model = model_of(agent.model)
        found["model"] = {"id": model, "providerID": provider}
    return found
