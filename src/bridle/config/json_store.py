"""Small JSON files shared by several processes: atomic writes under a lock."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from bridle.errors import ConfigError

Content = TypeVar("Content")


class JsonStore(Generic[Content]):
    """A JSON file that only the user can read. Raises `ConfigError` with its path if it cannot be read or written."""

    def __init__(self, path: Path, schema: type[Content], empty: Content) -> None:
        self._path = path
        self._schema = schema
        self._empty = empty

    def read(self) -> Content:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=self._schema)
        except (FileNotFoundError, NotADirectoryError):
            return self._empty
        except (OSError, msgspec.MsgspecError) as error:
            raise ConfigError(f"{self._path}: cannot be read: {error}; remove it to begin anew") from error

    def change(self, change: Callable[[Content], Content]) -> Content:
        """Read, change and write the content under a lock; return the new content."""
        try:
            with self._alone():
                content = change(self.read())
                fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
                with suppress(FileNotFoundError):
                    fresh.unlink()
                handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
                with os.fdopen(handle, "wb") as file:
                    file.write(msgspec.json.format(msgspec.json.encode(content), indent=1))
                fresh.replace(self._path)
                return content
        except OSError as error:
            raise ConfigError(f"{self._path}: cannot be written: {error}") from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(
            self._path.with_name(f".{self._path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600
        )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
