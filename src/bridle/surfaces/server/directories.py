"""`Directories`: the directories that a server offers, a backend for each, and the sessions that belong to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from bridle.core.protected import protection
from bridle.errors import NoSuchSession
from bridle.runtime.project import Backend
from bridle.runtime.sessions import SessionRow
from bridle.surfaces.server.problems import RequestRefused

MOST_FOUND = 10_000

OpenBackend = Callable[[Path], Awaitable[Backend]]
"""Returns the backend of a directory, the same one each time; raises `ConfigError` for invalid settings."""


class Directories:
    """The served directories, resolved, and their backends, which share one journal.

    A request may also name a folder below a served directory, but no protected one, such as `.git` or `.vscode`: as a
    project of its own it would not be protected. Sessions of other directories do not exist here.
    """

    def __init__(self, served: Sequence[Path], open_backend: OpenBackend, place: str = "") -> None:
        """`place` is the machine whose sessions this server drives; empty if workers drive them, wherever they are."""
        self.served = tuple(dict.fromkeys(path.resolve() for path in served))
        self._open = open_backend
        self._place = place
        self._found: dict[str, Path] = {}
        """The directories of known sessions; a session never moves to another one."""

    async def backend(self, directory: str | None = None) -> Backend:
        """Return the backend of a directory, by default the first served; raises `RequestRefused` (403) otherwise."""
        return await self._open(self.resolve(directory))

    def resolve(self, directory: str | None = None) -> Path:
        """Return a served directory, or a folder below, with all links followed; raises `RequestRefused` (403)."""
        if not directory:
            return self.served[0]
        given = Path(directory)
        try:
            path = given.resolve()
            fits = given.is_absolute() and path.is_dir() and self._is_served(path)
        except (OSError, ValueError):
            fits = False
        if not fits:
            raise RequestRefused(403, "directory", f"{directory!r} is not a directory that this server offers")
        return path

    async def of_session(self, session: str, method: str = "GET") -> Backend:
        """Return the backend of a session's directory; raises `NoSuchSession` if it is not a served one.

        Raises `RequestRefused` (409) for a method that acts on a session of another machine, which has its files.
        """
        path = self._found.get(session)
        if path is None:
            first = await self.backend()
            info = (await first.load(session)).info
            path = Path(info.directory).resolve() if info is not None else Path("/")
            if not self._is_served(path):
                raise NoSuchSession(f"there is no session {session}")
            if len(self._found) >= MOST_FOUND:
                self._found.clear()
            self._found[session] = path
        if not self._is_served(path.resolve()):
            # A link has replaced the folder in the meantime.
            raise NoSuchSession(f"there is no session {session}")
        if self._place and method not in ("GET", "HEAD"):
            info = (await (await self.backend()).load(session)).info
            if info is not None and info.place not in ("", self._place):
                text = f"session {session} belongs to the machine {info.place}: use the server there, or move it with "
                raise RequestRefused(409, "session", f"{text}`bridle sessions move {session} --place {self._place}`")
        # Its directory is gone, but not its record.
        return await self._open(path if path.is_dir() else self.served[0])

    def forget(self, sessions: Sequence[str]) -> None:
        """Forget deleted sessions."""
        for session in sessions:
            self._found.pop(session, None)

    async def rows(self) -> list[SessionRow]:
        """Return all sessions of the served directories, subagents included, the last changed first."""
        rows = await (await self.backend()).sessions()
        directories = {row.info.directory for row in rows}
        mine = {each for each in directories if self.is_served(each)}
        return [row for row in rows if row.info.directory in mine]

    def is_served(self, directory: str) -> bool:
        """Return whether a session's directory is a served one, or below it."""
        return self._is_served(Path(directory).resolve())

    def is_within(self, directory: str, path: Path) -> bool:
        """Return whether a session's directory is a resolved one, or below it."""
        return Path(directory).resolve().is_relative_to(path)

    def _is_served(self, path: Path) -> bool:
        return any(path.is_relative_to(root) and not protection(path.relative_to(root).parts) for root in self.served)
