"""`PromptingApi`: operations around a prompt: expand, check and withdraw it; find, list and read files for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from starlette.requests import Request

from bridle.errors import AccessRefused
from bridle.runtime.project_views import FileContent, FoundFile
from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.native.operation import Operation, Run, get, post
from bridle.surfaces.server.native.turns_api import turn_options
from bridle.surfaces.server.routes import client_of
from bridle.wire.native_answers import Accepted, ExpandedPrompt, Removed
from bridle.wire.native_requests import ExpandBody, FindQuery, FirstPrompt, NoQuery, PathQuery, ShellBody, Strict


class _MustAsk(Exception):
    """A template has a command that the person has not allowed yet."""


class PromptingApi:
    """Prepares prompts in the directory where their turns will run. Files are those that need no ask."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server

    async def expand(self, request: Request, query: NoQuery, body: ExpandBody) -> object:
        self._server.refuse_when_leaving()
        backend = await self._server.directories.backend(body.directory)

        async def confirm(kind: Literal["command", "file"], words: str) -> bool:
            if kind == "file":
                raise AccessRefused(f"{words}: the rules ask, and files that need an answer are not sent to clients")
            if words not in body.allowed:
                raise _MustAsk(words)
            return True

        try:
            asked = await backend.expand(body.text, confirm, typed=body.typed, agent=body.agent)
        except _MustAsk as question:
            return ExpandedPrompt(question=str(question))
        return ExpandedPrompt(
            text=asked.text,
            files=asked.files,
            agent=asked.agent,
            model=asked.model,
            wants=asked.wants,
            subtask=asked.subtask,
        )

    async def check(self, request: Request, query: NoQuery, body: FirstPrompt) -> object:
        session = request.path_params["session"]
        backend = await self._server.directories.of_session(session, request.method)
        await backend.check_prompt(session, body.text, turn_options(body.options))
        return Accepted(session)

    async def withdraw(self, request: Request, query: NoQuery, body: None) -> object:
        session = request.path_params["session"]
        backend = await self._server.directories.of_session(session, request.method)
        return Removed(await backend.withdraw(session, request.path_params["prompt"]))

    async def shell(self, request: Request, query: NoQuery, body: ShellBody) -> object:
        self._server.refuse_when_leaving()
        session = request.path_params["session"]
        backend = await self._server.directories.of_session(session, request.method)
        await self._server.refuse_shell(client_of(request), backend.directory)
        return Accepted(await backend.shell(session, body.command, id=body.id))

    async def find(self, request: Request, query: FindQuery, body: None) -> object:
        return await (await self._server.directories.backend(query.directory)).find_files(query.text, query.limit)

    async def read(self, request: Request, query: PathQuery, body: None) -> object:
        return await (await self._server.directories.backend(query.directory)).read_file(query.path)

    async def list(self, request: Request, query: PathQuery, body: None) -> object:
        return await (await self._server.directories.backend(query.directory)).list_folder(query.path)

    def operations(self) -> Sequence[Operation]:
        """Return the operations of this part of the API."""
        expanded = "Expand a prompt's slash command and read the files that it names."
        checked = "Check that the turn of a prompt could begin; submits nothing."
        typed = "Run a person's shell command, recorded; 409 while a turn runs, 403 over TCP without a sandbox."
        return [
            post("expand_prompt", "/expansions", expanded, self.expand, ExpandBody, answer=ExpandedPrompt),
            post("check_prompt", "/sessions/{session}/checks", checked, self.check, FirstPrompt),
            post("shell", "/sessions/{session}/shell", typed, self.shell, ShellBody),
            Operation(
                name="withdraw",
                method="DELETE",
                path="/sessions/{session}/prompts/{prompt}",
                right="drive",
                summary="Take back a prompt that no turn has taken.",
                run=self.withdraw,
                answer=Removed,
            ),
            *self._of_files(),
        ]

    def _of_files(self) -> Sequence[Operation]:
        found: list[tuple[str, str, str, Run, object, type[Strict]]] = [
            ("find_files", "find", "Find files and folders by path.", self.find, tuple[FoundFile, ...], FindQuery),
            ("list_folder", "list", "List a folder.", self.list, tuple[FoundFile, ...], PathQuery),
            ("read_file", "read", "Return the content of a file.", self.read, FileContent, PathQuery),
        ]
        return [
            get(name, f"/files/{path}", summary, run, answer, query=query, right="drive")
            for name, path, summary, run, answer, query in found
        ]
