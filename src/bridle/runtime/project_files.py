"""Searches, lists and reads a project's files for people, within the boundary of the file tools."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import PurePosixPath

from bridle.core.agent import AgentDefinition
from bridle.core.context import sound
from bridle.core.permission import Access
from bridle.errors import AccessRefused, ConfigError, ToolFailed
from bridle.runtime.project_views import FileContent, FoundFile
from bridle.runtime.runtime import Runtime
from bridle.seams import in_thread
from bridle.tools.ripgrep import ripgrep
from bridle.values.media import media_of
from bridle.workspace.files import Files, Place, accesses, located

MOST_READ_BYTES = 5_000_000
MOST_LISTED = 10_000
MOST_SEARCHED = 200_000
"""Files that a search looks at; a larger project is searched in part."""


async def find_files(runtime: Runtime, text: str, limit: int) -> list[FoundFile]:
    """Return files and folders whose path contains all these fragments, the best match first.

    Leaves out what git ignores, hidden files, and what the rules keep from the read tool.
    """
    if limit < 1:
        raise ConfigError(f"find_files: limit must be at least 1, not {limit}")
    names = await _names(runtime)
    found = await in_thread(partial(_matches, names, text.casefold().split()))
    boundary = _Boundary(runtime)
    allowed = (each for each in found if boundary.allows(Access("read", each.path.rstrip("/"))))
    return list(islice(allowed, limit))


def _matches(names: list[str], fragments: list[str]) -> list[FoundFile]:
    """Return the files, and the folders that they lie in, that fit; the best one first."""
    folders = {f"{folder}/" for name in names for folder in PurePosixPath(name).parents if folder.name}
    found = [FoundFile(name, "file") for name in names if _fits(name, fragments)]
    found += [FoundFile(name, "folder") for name in folders if _fits(name, fragments)]
    return sorted(found, key=lambda each: _rank(each.path, fragments))


def _fits(name: str, fragments: list[str]) -> bool:
    folded = name.casefold()
    return all(fragment in folded for fragment in fragments)


def _rank(name: str, fragments: list[str]) -> tuple[int, int, str]:
    """Return a sort key: matches in the last component first, of these the ones at its beginning; short before long."""
    last = PurePosixPath(name).name.casefold()
    first = fragments[-1] if fragments else ""
    place = 0 if last.startswith(first) else 1 if first in last else 2
    return place, len(name), name


async def _names(runtime: Runtime) -> list[str]:
    """Return the paths of the project's files, without those that git ignores and hidden ones."""
    names: list[str] = []
    directory = runtime.directory
    async with ripgrep(["--files", "--null", "--no-messages"], directory, directory) as search:
        while len(names) < MOST_SEARCHED and (name := await search.until(b"\0")) is not None:
            names.append(name.decode("utf-8", errors="replace"))
    return names


def may_read(runtime: Runtime) -> Callable[[str], bool]:
    """Return a function that tells whether the read tool may read a file of the project without an ask."""
    boundary = _Boundary(runtime)
    known: dict[str, bool] = {}

    def allows(path: str) -> bool:
        if path not in known:
            place = located(runtime.directory, path)
            known[path] = all(boundary.allows(access) for access in accesses("read", place))
        return known[path]

    return allows


class _Boundary:
    """The accesses that the default agent's rules allow without an ask."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._agent = runtime.turns.agents.get(runtime.settings.agent) or AgentDefinition("")

    def allows(self, access: Access) -> bool:
        return self._runtime.turns.verdict(access, self._agent) == "allow"

    def files(self, permission: str, path: str) -> tuple[Files, Place]:
        """Return a place and access to it; raises `AccessRefused` if a person would be asked, or a rule denies it."""
        place = located(self._runtime.directory, path)
        for access in accesses(permission, place):
            if not self.allows(access):
                raise AccessRefused(f"{place.shown} is not open to clients: the rules ask or deny {access.permission}")
        return Files(self._runtime.directory, self.allows), place


def read_file(runtime: Runtime, path: str) -> FileContent:
    """Return the content of a file; raises `AccessRefused`, and `ConfigError` if it cannot be read."""
    try:
        files, place = _Boundary(runtime).files("read", path)
        files.check("read", place)
        content = files.read(place, MOST_READ_BYTES)
    except ToolFailed as error:
        raise ConfigError(f"read_file: {error}") from error
    if (media := media_of(content)) or b"\0" in content:
        return FileContent(path=place.shown, media=media, data=b64encode(content).decode())
    try:
        return FileContent(path=place.shown, text=content.decode("utf-8"))
    except UnicodeDecodeError:
        return FileContent(path=place.shown, data=b64encode(content).decode())


def list_folder(runtime: Runtime, path: str) -> list[FoundFile]:
    """Return the files and folders in a folder by name; raises `AccessRefused`, and `ConfigError` if it is none."""
    try:
        files, place = _Boundary(runtime).files("list", path)
        files.check("list", place)
        names = files.entries(place, MOST_LISTED)
    except ToolFailed as error:
        raise ConfigError(f"list_folder: {error}") from error
    if names is None:
        raise ConfigError(f"list_folder: {place.shown} is not a folder")
    above = "" if place.shown == "." else f"{place.shown}/"
    return [FoundFile(sound(above + name), "folder" if name.endswith("/") else "file") for name in names]
