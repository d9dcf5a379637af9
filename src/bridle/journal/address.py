"""`JournalAddress`: where a journal is kept, a SQLite file or a schema of a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from bridle.errors import ConfigError

SCHEMES = ("postgresql://", "postgres://")


class JournalAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a journal: `url` of a PostgreSQL server, else `path` of a SQLite file."""

    path: Path = Path()
    url: str = ""
    listen_url: str = ""
    schema: str = "bridle"

    def __repr__(self) -> str:
        # The address may contain a password.
        return f"JournalAddress({'postgresql' if self.url else str(self.path)!r})"


def is_postgres(given: str) -> bool:
    """Return whether a journal is given as an address of PostgreSQL, and not as a path.

    Raises `ConfigError` for other addresses, of which a path would make a folder called `sqlite:`.
    """
    scheme, mark, _ = given.partition("://")
    if not mark or "/" in scheme:
        return False
    if f"{scheme}://" not in SCHEMES:
        raise ConfigError(f"journal: {scheme}:// is not supported: give a path for SQLite, or postgresql://…")
    return True


def journal_address(given: str | Path, *, listen_url: str = "", schema: str = "bridle") -> JournalAddress:
    """Return the address of a journal that is given as a `postgresql://` address or as a path; raises `ConfigError`."""
    if isinstance(given, str) and is_postgres(given):
        return JournalAddress(url=given, listen_url=listen_url, schema=schema)
    return JournalAddress(path=Path(given).expanduser())


def private_files(journal: object, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files of a journal in SQLite, or the sockets of the server of one on PostgreSQL, that are there."""
    if isinstance(journal, str) and is_postgres(journal):
        folders = (folder for folder in _hosts(journal, environment) if folder.startswith("/"))
        return tuple(socket for folder in folders for socket in sorted(Path(folder).glob(".s.PGSQL.*")))
    if not isinstance(journal, (str, Path)):
        return ()
    real = Path(journal).expanduser().resolve()
    return tuple(real.with_name(f"{real.name}{end}") for end in ("", "-wal", "-shm", ".reserve", ".locks"))


def _hosts(url: str, environment: Mapping[str, str]) -> list[str]:
    """Return the hosts of an address, of which one that begins with a slash is the folder of a socket."""
    place = urlsplit(url)
    named = [unquote(place.netloc.rpartition("@")[2]), *parse_qs(place.query).get("host", [])]
    return [host for each in (*named, environment.get("PGHOST", "")) for host in each.split(",")]
