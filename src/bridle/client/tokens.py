"""`ServerTokens`: finds and stores the token of each server, in the keyring or a file that only the user can read."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from bridle.config.load import data_home
from bridle.errors import ConfigError
from bridle.model.keys import Keys
from bridle.values.secrets import TOKEN_VARIABLE
from bridle.workspace.bounded_read import STREAM, read_given

MOST_TOKEN_BYTES = 4_096
TABLE = "server-tokens.json"


class ServerTokens:
    """The tokens of this user by origin. Processes inside a tool call get none of them."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        self._environment = environment
        self._keys = Keys(environment, data_home(environment) / TABLE)

    def given(self, file: Path | None = None) -> str:
        """Return the token of a file or of the environment; empty if none is given.

        Raises `ConfigError` for a file that cannot be read, or that others can read.
        """
        return token_in(file) if file is not None else self._environment.get(TOKEN_VARIABLE, "").strip()

    def stored(self, origin: str) -> str:
        """Return the stored token of a server; empty if there is none."""
        found = self._keys.stored(_name(origin))
        return found.value if found is not None else ""

    def store(self, origin: str, token: str) -> Literal["keyring", "file"]:
        """Keep the token of a server in the keyring, or in a file that only this user can read."""
        return self._keys.store(_name(origin), token)

    def forget(self, origin: str) -> bool:
        """Remove the stored token of a server; return False if there was none."""
        return self._keys.forget(_name(origin))


def token_in(file: Path) -> str:
    """Return the token in a regular file, or on standard input (`-`); raises `ConfigError` if others can read it."""
    try:
        mode = file.stat().st_mode if str(file) not in STREAM else 0
        if stat.S_ISREG(mode) and mode & 0o077:
            raise ConfigError(f"--token-file {file} can be read by others: chmod 600 {file}")
        token = read_given(file, MOST_TOKEN_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--token-file {file} cannot be read: {error}") from error
    if not token:
        raise ConfigError(f"--token-file {file} has no token")
    return token


def _name(origin: str) -> str:
    return f"server {origin}"
