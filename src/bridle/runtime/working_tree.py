"""Reads a project's working tree for people: its branch, the changes since a commit, and a search for text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bridle.errors import ConfigError, ToolFailed
from bridle.runtime.project_files import may_read
from bridle.runtime.project_views import BranchView, DiffBase, MatchedText, TextMatch
from bridle.runtime.runtime import Runtime
from bridle.seams import in_thread
from bridle.tools.ripgrep import ripgrep
from bridle.workspace.git_head import git_head

MOST_CONTEXT = 1_000
MOST_MATCHES = 200
MOST_BYTES = "1M"
"""Size of a file that is searched."""


async def branch_of(runtime: Runtime) -> BranchView:
    """Return the branches of the project's repository."""
    head = await in_thread(lambda: git_head(runtime.directory))
    return BranchView(head.branch, head.default_branch)


async def changes_since(runtime: Runtime, base: DiffBase, context: int = 3) -> str:
    """Return the diff of the files to the last commit (`git`), or to where this branch began (`branch`).

    Left out are files that may not be read without an ask. Empty without a repository, a commit or snapshots. Raises
    `SnapshotFailed` if git cannot tell.
    """
    head = await in_thread(lambda: git_head(runtime.directory))
    commits = [head.commit] if base == "git" else [head.commit, head.default_commit]
    if runtime.snapshots is None or head.objects is None or not all(commits):
        return ""
    most = min(max(context, 0), MOST_CONTEXT)
    return await runtime.snapshots.since(runtime.directory, commits, head.objects, may_read(runtime), most)


async def search_text(runtime: Runtime, pattern: str) -> list[TextMatch]:
    """Return matches of a regular expression by ripgrep, in files that may be read without an ask.

    Left out are hidden files and those that git ignores. Raises `ConfigError` for an invalid expression.
    """
    words = ["--json", "--no-messages", "--max-filesize", MOST_BYTES, "--sort", "path", "--regexp", pattern, "--", "./"]
    found: list[TextMatch] = []
    allows = may_read(runtime)
    try:
        async with ripgrep(words, runtime.directory, runtime.directory) as search:
            while len(found) < MOST_MATCHES and (line := await search.until(b"\n")) is not None:
                match = _match(line)
                if match is not None and allows(match.path.text):
                    found.append(match)
            problem = "" if found else await search.complained()
    except ToolFailed as error:
        raise ConfigError(f"search: {error}") from error
    if problem:
        raise ConfigError(f"pattern: {problem}")
    return found


def _match(line: bytes) -> TextMatch | None:
    """Return a match that ripgrep prints; None for its other lines, and for text that is not UTF-8."""
    try:
        told = msgspec.json.decode(line, type=_Match)
    except msgspec.ValidationError:
        return None
    path = told.data.path.text
    return replace(told.data, path=MatchedText(path.removeprefix("./")))


class _Match(msgspec.Struct, tag_field="type", tag="match"):
    data: TextMatch


class WorkingTrees:
    """The same for the projects of a server, by their directories; `opens` returns the runtime of one."""

    def __init__(self, opens: Callable[[Path], Awaitable[Runtime]]) -> None:
        self._opens = opens

    async def branch(self, directory: Path) -> BranchView:
        """Return the branches of a project; see `branch_of`."""
        return await branch_of(await self._opens(directory))

    async def changes(self, directory: Path, base: DiffBase, context: int = 3) -> str:
        """Return the changes of a project; see `changes_since`."""
        return await changes_since(await self._opens(directory), base, context)

    async def search(self, directory: Path, pattern: str) -> list[TextMatch]:
        """Search a project; see `search_text`."""
        return await search_text(await self._opens(directory), pattern)
