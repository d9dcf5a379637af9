"""`named_session`: the session that a person means by an id, the beginning of one, or nothing."""

from __future__ import annotations

from bridle.core.ids import is_named_by
from bridle.errors import ConfigError, JournalRefused, NoSuchSession
from bridle.runtime.sessions import SessionQuery, Sessions

MOST_NAMED = 5
SHORTEST = 4


async def named_session(sessions: Sessions, given: str) -> str:
    """Return the session with this id, or the only one whose id begins so; without one, the directory's last.

    Raises `NoSuchSession`, and `ConfigError` for the beginning of several ids.
    """
    if not given:
        return await sessions.last_session()
    try:
        await sessions.status(given)
    except NoSuchSession:
        return await _begun_with(sessions, given)
    except JournalRefused:
        # It is damaged, but it exists.
        return given
    return given


async def _begun_with(sessions: Sessions, given: str) -> str:
    rows = await sessions.sessions(SessionQuery(archived="with")) if len(given) >= SHORTEST else []
    found = [row.info for row in rows if is_named_by(row.info.id, given)]
    # The ids of subagents begin with that of their root.
    found = [info for info in found if not info.parent] or found
    if len(found) > 1:
        some = ", ".join(info.id for info in found[:MOST_NAMED])
        raise ConfigError(f"{given} is the beginning of {len(found)} session ids: {some}")
    if not found:
        raise NoSuchSession(f"there is no session {given}")
    return found[0].id
