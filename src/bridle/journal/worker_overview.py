"""`overview`: lists the live workers of a PostgreSQL journal, and the sessions that wait for one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from bridle.journal.postgres import PostgresJournal
from bridle.journal.postgres_queries import ALIVE

WORKERS = """
    SELECT w.host, w.process, extract(epoch FROM clock_timestamp() - w.began), w.queues,
        (SELECT count(*) FROM bridle.session AS s WHERE s.holder = w.id)
    FROM bridle.worker AS w WHERE w.until > clock_timestamp() ORDER BY w.host, w.id
"""
WAITING = f"""
    SELECT s.id, s.queue, s.problem, s.aside, coalesce(extract(epoch FROM clock_timestamp() - s.wanted), 0),
        EXISTS (SELECT FROM bridle.worker AS w WHERE w.until > clock_timestamp() AND s.queue = ANY (w.queues))
    FROM bridle.session AS s WHERE s.aside OR s.problem <> '' OR (s.wanted IS NOT NULL AND NOT {ALIVE})
    ORDER BY s.wanted, s.number
"""


class LiveProcess(msgspec.Struct, frozen=True):
    """A process with a heartbeat. Without queues it drives only what is started in it."""

    host: str
    process: int
    seconds: float
    queues: Sequence[str]
    sessions: int


class WaitingSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that waits for a worker, or whose last drive failed."""

    id: str
    queue: str
    problem: str
    aside: bool
    seconds: float
    has_worker: bool


class Overview(msgspec.Struct, frozen=True):
    """The processes and the waiting sessions of a journal."""

    processes: Sequence[LiveProcess]
    waiting: Sequence[WaitingSession]


async def overview(journal: PostgresJournal) -> Overview:
    """Return the live processes and the waiting sessions of a journal; raises `JournalError`."""
    processes = [
        LiveProcess(host, process, float(seconds), queues, sessions)
        for host, process, seconds, queues, sessions in await journal.rows(WORKERS)
    ]
    waiting = [
        WaitingSession(id=id, queue=queue, problem=problem, aside=aside, seconds=float(seconds), has_worker=has_worker)
        for id, queue, problem, aside, seconds, has_worker in await journal.rows(WAITING)
    ]
    return Overview(processes, waiting)
