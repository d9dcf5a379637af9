"""Which session is meant when nobody names one."""

from __future__ import annotations

from bridle.errors import ConfigError
from bridle.runtime.runtime import Runtime


async def last_session(runtime: Runtime, wanted: str = "") -> str:
    """The session of this directory that changed last; raises `ConfigError` if there is none."""
    here = str(runtime.directory)
    for row in await runtime.sessions():
        if row.info.directory == here and not row.info.parent:
            return row.info.id
    raise ConfigError(f"{wanted}there is no session in {here} yet")
