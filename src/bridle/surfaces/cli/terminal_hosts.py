"""`CommandHost`: the person's machine as the terminal application uses it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from bridle.errors import ConfigError
from bridle.runtime.inside_call import refuse_inside_call
from bridle.runtime.project import Backend
from bridle.runtime.sessions import Sessions
from bridle.runtime.terminal_settings import terminal_folder
from bridle.surfaces.cli.remote import SessionsPlace
from bridle.values.keys import KeySettings


class CommandHost:
    """Keys, files and commands of the person; the sessions are here or on a server. See `TerminalHost`."""

    def __init__(self, keys: KeySettings, place: SessionsPlace, opened: AsyncExitStack) -> None:
        """`opened` closes other projects with the application."""
        self.keys = keys
        self.folder: Path | None = terminal_folder()
        self._place = place
        self._opened = opened
        self._backends: dict[str, Backend] = {}

    def know(self, backend: Backend) -> None:
        """Use these sessions for their directory."""
        self._backends[str(backend.directory)] = backend

    async def backend(self, directory: str) -> Backend:
        if directory not in self._backends:
            if self._place.url is None and not Path(directory).is_dir():
                raise ConfigError(f"the directory of this session no longer exists: {directory}")
            self._backends[directory] = await self._opened.enter_async_context(self._place.opened(directory))
        return self._backends[directory]

    async def report(self, sessions: Sessions, session: str) -> str:
        # Imported here because most applications write no report.
        from bridle.surfaces.cli.transfer import made

        return await made(sessions, session)

    def write(self, path: Path, content: bytes) -> None:
        from bridle.surfaces.cli.new_files import put_file

        put_file(path, content)

    def command(self, words: Sequence[str]) -> list[str]:
        refuse_inside_call(f"`bridle {words[0]}`")
        if self._place.url is not None:
            raise ConfigError(f"this is decided on the server's machine: bridle {' '.join(words)}")
        # With -P, since the working folder is the project, where a model may have written a module.
        return [sys.executable, "-P", "-c", "from bridle.surfaces.cli.main import main; main()", *words]


def way_back(session: str, place: SessionsPlace) -> str:
    """Return the words that name the way back into a session."""
    where = f"bridle attach {place.url}" if place.url is not None else "bridle"
    return f"continue this session with: {where} -s {session}"
