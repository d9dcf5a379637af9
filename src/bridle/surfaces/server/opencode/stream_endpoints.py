"""Endpoints for events: streams of one directory or of all, and events that clients send to attached terminals."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.opencode import events
from bridle.surfaces.server.opencode.failures import ClientFailure, Endpoint, JsonAnswer, read_body
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.opencode.session_endpoints import asked_directory
from bridle.surfaces.server.routes import client_of
from bridle.surfaces.server.streams import EventResponse, Outlet

COMMANDS = {
    "open-help": "help.show",
    "open-sessions": "session.list",
    "open-themes": "theme.switch",
    "open-models": "model.list",
    "submit-prompt": "prompt.submit",
    "clear-prompt": "prompt.clear",
}
"""Requests that have no body, and the command that each stands for."""


class Published(msgspec.Struct, frozen=True):
    """An event that a client sends to attached terminals."""

    type: str
    properties: dict[str, Any] = {}


class StreamEndpoints:
    """Answers with streams; each ends when its reader leaves or is too slow."""

    def __init__(self, hub: Hub, server: HttpServer) -> None:
        self.hub = hub
        self._server = server

    async def of_directory(self, request: Request) -> Response:
        """Stream the events of a directory."""
        backend = await self.hub.served.backend(asked_directory(request))
        return self._stream(request, str(backend.directory))

    async def of_all(self, request: Request) -> Response:
        """Stream the events of all directories, after the state of what works or waits."""
        return self._stream(request, "")

    def _stream(self, request: Request, directory: str) -> Response:
        # Clients of OpenCode expect events alone, and no comments; the first event comes at once.
        return EventResponse(partial(self._fill, directory), self._server, client_of(request), opening=b"")

    async def _fill(self, directory: str, outlet: Outlet) -> None:
        stream = await self.hub.open_stream(directory, outlet)
        try:
            await stream.over
        finally:
            self.hub.close_stream(stream)

    async def append_prompt(self, request: Request) -> Response:
        """Append text to the prompt of attached terminals."""
        return self._tell("tui.prompt.append", await read_body(request, dict[str, Any]))

    async def show_toast(self, request: Request) -> Response:
        """Show a message in attached terminals."""
        return self._tell("tui.toast.show", await read_body(request, dict[str, Any]))

    async def select_session(self, request: Request) -> Response:
        """Open a session in attached terminals."""
        return self._tell("tui.session.select", await read_body(request, dict[str, Any]))

    async def execute(self, request: Request) -> Response:
        """Run a command of attached terminals."""
        return self._tell("tui.command.execute", await read_body(request, dict[str, Any]))

    async def publish(self, request: Request) -> Response:
        """Send an event to attached terminals."""
        given = await read_body(request, Published)
        if not given.type.startswith("tui."):
            raise ClientFailure(400, "BadRequest", f"type: {given.type!r} is not an event for terminals")
        return self._tell(given.type, given.properties)

    def named(self, command: str) -> Endpoint:
        """Return the endpoint of a command without a body."""

        async def tell(request: Request) -> Response:
            return self._tell("tui.command.execute", {"command": command})

        return tell

    async def dispose(self, request: Request) -> Response:
        """Make clients load everything again; nothing is disposed of."""
        return self._tell("server.instance.disposed", {"directory": asked_directory(request) or ""})

    def _tell(self, name: str, properties: dict[str, Any]) -> Response:
        self.hub.publish("", [events.ClientEvent(name=name, properties=properties)])
        return JsonAnswer(content=True)
