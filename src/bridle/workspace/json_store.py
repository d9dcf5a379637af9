"""`JsonStore`: a small, private JSON file that several processes share, written atomically under a lock."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from bridle.errors import ConfigError

Value = TypeVar("Value")


class JsonStore(Generic[Value]):
    """A JSON file of values by key, which only the user can read. Methods raise `ConfigError` with its path."""

    def __init__(self, path: Path, schema: type[dict[str, Value]]) -> None:
        self._path = path
        self._schema = schema

    def read(self) -> dict[str, Value]:
        try:
            mode = self._path.stat().st_mode
            if not stat.S_ISREG(mode):
                raise ConfigError(f"{self._path}: not a file; remove it to start over")
            if mode & 0o077:
                # Others could read the file until now; prevent it from now on.
                self._path.chmod(0o600)
            return msgspec.json.decode(self._path.read_bytes(), type=self._schema)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise ConfigError(f"{self._path}: cannot be read: {error}; remove it to start over") from error

    def change(self, key: str, change: Callable[[Value | None], Value]) -> Value:
        """Replace the value of a key by the result of `change`, and return it; a missing value is None."""
        with self._writing() as table:
            table[key] = change(table.get(key))
        return table[key]

    def remove(self, key: str) -> bool:
        """Remove a key; return False if it was missing."""
        with self._writing() as table:
            return table.pop(key, None) is not None

    @contextmanager
    def _writing(self) -> Iterator[dict[str, Value]]:
        """Lock the file, yield its content to be changed, and write it."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = _opened(self._path.with_name(f".{self._path.name}.lock"), os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                table = self.read()
                yield table
                replace_file(self._path, msgspec.json.format(msgspec.json.encode(table), indent=1))
            finally:
                os.close(lock)
        except OSError as error:
            raise ConfigError(f"{self._path}: cannot be written: {error}") from error


def replace_file(path: Path, content: bytes) -> None:
    """Write a file of the user atomically, readable by the user alone; raises `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A symbolic link stays one: the file may lie elsewhere.
    place = path.resolve()
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(_opened(fresh, os.O_WRONLY | os.O_EXCL), "wb") as file:
        file.write(content)
    fresh.replace(place)


def _opened(path: Path, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
