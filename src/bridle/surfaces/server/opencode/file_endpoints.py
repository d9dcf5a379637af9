"""Endpoints for a project's files: search, folders, contents, the branch, and uncommitted changes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response

from bridle.errors import SnapshotFailed
from bridle.runtime.project import Backend
from bridle.runtime.project_views import BranchView, DiffBase, FoundFile, TextMatch
from bridle.surfaces.server.opencode.diffs import file_diffs
from bridle.surfaces.server.opencode.failures import ClientFailure, JsonAnswer
from bridle.surfaces.server.opencode.hub import LOG, Hub
from bridle.surfaces.server.opencode.session_endpoints import asked_directory, number_of
from bridle.surfaces.server.opencode.session_facts import project_id
from bridle.surfaces.server.opencode.shapes import FileDiff

MOST_FOUND = 200
KINDS = {"file": "file", "folder": "directory"}


class Trees(Protocol):
    """The working trees of the served directories."""

    async def branch(self, directory: Path) -> BranchView:
        """Return the branches of a project."""

    async def changes(self, directory: Path, base: DiffBase, context: int = 3) -> str:
        """Return what is not committed, or new on this branch, as a diff; raises `SnapshotFailed`."""

    async def search(self, directory: Path, pattern: str) -> list[TextMatch]:
        """Return the lines that fit a regular expression; raises `ConfigError` for an invalid one."""


class FileEndpoints:
    """Answers within the boundary of the file tools: what they would ask for is refused."""

    def __init__(self, hub: Hub, trees: Trees) -> None:
        self.hub, self._trees = hub, trees

    async def _backend(self, request: Request) -> Backend:
        return await self.hub.served.backend(asked_directory(request))

    async def found(self, request: Request) -> Response:
        """Find files and folders by their path."""
        return JsonAnswer([each.path for each in await self._found(request)])

    async def found_entries(self, request: Request) -> Response:
        """Find files and folders by their path, for the `@` of terminals."""
        directory = str((await self._backend(request)).directory)
        data = [{"path": each.path, "type": KINDS[each.kind]} for each in await self._found(request)]
        return JsonAnswer({"location": location(directory), "data": data})

    async def _found(self, request: Request) -> Iterable[FoundFile]:
        query = request.query_params
        kind = query.get("type") or ("file" if query.get("dirs") == "false" else "")
        limit = min(max(number_of(query.get("limit"), 50), 1), MOST_FOUND)
        found = await (await self._backend(request)).find_files(query.get("query", ""), MOST_FOUND)
        return [each for each in found if kind in ("", KINDS[each.kind])][:limit]

    async def matches(self, request: Request) -> Response:
        """Find lines by a regular expression."""
        pattern = request.query_params.get("pattern", "")
        if not pattern:
            raise ClientFailure(400, "BadRequest", "pattern: a search needs a regular expression")
        return JsonAnswer(await self._trees.search((await self._backend(request)).directory, pattern))

    async def folder(self, request: Request) -> Response:
        """List a folder."""
        backend = await self._backend(request)
        listed = await backend.list_folder(request.query_params.get("path") or ".")
        return JsonAnswer([_node(backend.directory, each) for each in listed])

    async def content(self, request: Request) -> Response:
        """Return the content of a file."""
        found = await (await self._backend(request)).read_file(request.query_params.get("path", ""))
        if not found.data:
            return JsonAnswer({"type": "text", "content": found.text})
        kind = found.media or "application/octet-stream"
        return JsonAnswer({"type": "binary", "content": found.data, "encoding": "base64", "mimeType": kind})

    async def status(self, request: Request) -> Response:
        """Return the files that differ from the last commit."""
        changes = await self._changes(request, "git", 0)
        return JsonAnswer(
            [
                {"path": each.file, "added": each.additions, "removed": each.deletions, "status": each.status}
                for each in changes
            ]
        )

    async def branch(self, request: Request) -> Response:
        """Return the branch that is checked out."""
        found = await self._trees.branch((await self._backend(request)).directory)
        named = {"branch": found.name, "default_branch": found.default}
        return JsonAnswer({name: value for name, value in named.items() if value})

    async def changes(self, request: Request) -> Response:
        """Return what is not committed, or new on this branch."""
        base: DiffBase = "branch" if request.query_params.get("mode") == "branch" else "git"
        return JsonAnswer(await self._changes(request, base, number_of(request.query_params.get("context"), 3)))

    async def _changes(self, request: Request, base: DiffBase, context: int) -> tuple[FileDiff, ...]:
        directory = (await self._backend(request)).directory
        try:
            return file_diffs(await self._trees.changes(directory, base, context))
        except SnapshotFailed as error:
            LOG.info("the changes of %s are not known: %s", directory, error)
            return ()


def location(directory: str) -> dict[str, Any]:
    """Return a directory as answers of `/api` name it."""
    return {"directory": directory, "project": {"id": project_id(directory), "directory": directory}}


def _node(directory: Path, found: FoundFile) -> dict[str, Any]:
    path = found.path.rstrip("/")
    name, absolute = path.rpartition("/")[2], str(directory / path)
    return {"name": name, "path": path, "absolute": absolute, "type": KINDS[found.kind], "ignored": False}
