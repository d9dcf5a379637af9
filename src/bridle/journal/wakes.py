"""`WakeQueue`: queues wakes of sessions in PostgreSQL, finds sessions of dead holders, records why drives failed."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bridle.core.events import SessionInfo
from bridle.errors import NoSuchSession
from bridle.journal.journal import Wake

if TYPE_CHECKING:
    from psycopg import AsyncConnection

LONGEST_QUEUE = 40
"""PostgreSQL allows 63 bytes for the name of a channel, and Procrastinate puts 23 before that of the queue."""

WAKE = "SELECT bridle.wake_v1(%s, %s)"
SWEEP = "SELECT bridle.sweep_v1(%s)"
PENDING = """
    SELECT 1 FROM bridle_queue.procrastinate_jobs AS j WHERE queueing_lock = %s AND (status = 'todo' OR (
        status = 'doing' AND EXISTS (
            SELECT FROM bridle_queue.procrastinate_workers AS w
            WHERE w.id = j.worker_id AND w.last_heartbeat > clock_timestamp() - make_interval(secs => %s)
        )
    ))
"""
PROBLEM = "SELECT problem, aside FROM bridle.session WHERE id = %s"
SET_PROBLEM = "UPDATE bridle.session SET problem = %s WHERE id = %s"
WANT = "UPDATE bridle.session SET wanted = coalesce(wanted, clock_timestamp()) WHERE id = %s"
CLEAR = "SELECT bridle.clear_v1(%s)"
TAKERS = "SELECT count(*) FROM bridle.worker WHERE until > clock_timestamp() AND %s = ANY (queues)"

Rows = Callable[[str, Sequence[Any]], Awaitable[list[tuple[Any, ...]]]]
"""Runs a query of the journal and returns its rows."""
Text = Callable[[str], bytes]
"""Puts the schema of the journal into a query."""


def queue_named(app: str, place: str) -> str:
    """Return the queue of the sessions of an app and a place. An empty place stands for any machine."""
    name = f"{app}@{place}"
    if len(name.encode()) <= LONGEST_QUEUE:
        return name
    return f"{name.encode()[:19].decode(errors='ignore')}~{hashlib.sha256(name.encode()).hexdigest()[:20]}"


def queue_of(info: SessionInfo) -> str:
    """Return the queue for the wakes of a session."""
    return queue_named(info.app, info.place)


class WakeQueue:
    """The wakes of a journal. A wake means "look at this session now"; those that wait for one session count as one."""

    def __init__(self, rows: Rows, text: Text, prepare: Callable[[], Awaitable[None]], stalled: float) -> None:
        self._run = rows
        self._text = text
        self._prepare = prepare
        self.stalled = stalled
        """The seconds without a sign of life after which a worker counts as dead."""
        self._prepared = False

    async def ready(self) -> None:
        """Ensure that the tables of the queue are there."""
        if not self._prepared:
            await self._prepare()
            self._prepared = True

    async def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        await self.ready()
        return await self._run(query, values)

    def enqueue(self, session: str) -> Wake:
        """Return a wake for the transaction of `Journal.submit`."""

        async def add(connection: AsyncConnection[Any]) -> None:
            await self.ready()
            await connection.execute(self._text(WAKE), ([session], False))

        return add

    async def wake(self, sessions: Iterable[str], *, held_prompts: bool = False) -> None:
        await self._rows(WAKE, list(sessions), held_prompts)

    async def pending(self, session: str) -> bool:
        """Return whether a wake of the session waits, or a worker acts on one."""
        return bool(await self._rows(PENDING, session, self.stalled))

    async def sweep(self, patience: float) -> int:
        """Wake sessions whose holder is gone, and those that wait for longer than `patience`; return their number."""
        return int((await self._rows(SWEEP, patience))[0][0])

    async def problem(self, session: str) -> str:
        """Return why no process continues the session; empty if that is unknown."""
        rows = await self._rows(PROBLEM, session)
        if not rows:
            raise NoSuchSession(f"there is no session {session}")
        problem, aside = rows[0]
        if aside:
            return f"three workers in a row died while they drove it; try it again with: bridle resume {session}"
        return str(problem)

    async def set_problem(self, session: str, problem: str) -> None:
        await self._rows(SET_PROBLEM, problem, session)

    async def want(self, session: str) -> None:
        """Have the session looked at again once its lease is free."""
        await self._rows(WANT, session)

    async def clear(self) -> None:
        """Have the wakes acted on anew that dead workers had taken."""
        await self._rows(CLEAR, self.stalled)

    async def takers(self, info: SessionInfo) -> int:
        """Return the number of live workers that take sessions like this one."""
        return int((await self._rows(TAKERS, queue_of(info)))[0][0])
