"""`ShellEndpoint`: runs the shell command that a person typed in OpenCode's clients, and answers with its call."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.opencode import ids
from bridle.surfaces.server.opencode.failures import ClientFailure, read_body
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.opencode.prompts import Sent, answered
from bridle.surfaces.server.routes import client_of


class CommandOfPerson(msgspec.Struct, frozen=True):
    """A shell command. The agent and the model of the session run it; those that a client names do not count."""

    command: str
    messageID: str = ""


class ShellEndpoint:
    """The endpoint of `!`, with the rules of the native API."""

    def __init__(self, hub: Hub, server: HttpServer) -> None:
        self._hub = hub
        self._server = server

    async def run(self, request: Request) -> Response:
        """Run a command and answer with the message that has its call."""
        given = await read_body(request, CommandOfPerson)
        session = ids.read_session(request.path_params["session"])
        backend = await self._hub.served.of_session(session, request.method)
        await self._server.refuse_shell(client_of(request), backend.directory)
        if not given.command.strip():
            raise ClientFailure(400, "BadRequest", "command: give the command to run")
        id = given.messageID or ids.message_id(self._hub.now(), session, str(self._hub.next_number()), backend.new_id())
        if not ids.is_message(id):
            raise ClientFailure(400, "BadRequest", f"messageID: {given.messageID!r} does not begin with msg")
        tracker = await self._hub.track(session)
        await backend.shell(session, given.command, id=id)
        return StreamingResponse(answered(self._hub, Sent(tracker, id, is_command=True)), media_type="application/json")
