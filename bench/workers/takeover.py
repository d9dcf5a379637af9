"""`taken_over`: how long sessions stay without a worker after theirs was killed, or has released them."""

from __future__ import annotations

import asyncio
import signal
import time

from bench.workers.fleet import Fleet
from bench.workers.tree import Journaled, runtime
from bridle import Runtime
from bridle.journal.postgres import PostgresJournal

SESSIONS, WORKERS = 20, 3
LOOK_SECONDS = 0.01
MOST_SECONDS = 120.0
HOLDERS = """
    SELECT s.id, w.process FROM bridle.session AS s LEFT JOIN bridle.worker AS w ON w.id = s.holder
"""


async def holders(journal: PostgresJournal) -> dict[str, int | None]:
    """Return for each session the process that holds it."""
    return dict(map(tuple, await journal.rows(HOLDERS)))


async def taken_over(given: Journaled, how: signal.Signals) -> list[float]:
    """Return for each session of one worker the seconds until another worker had it.

    They count from the kill, or from the release if the worker was told to stop.
    """
    fleet = Fleet(given, WORKERS)
    try:
        async with runtime(given) as here:
            assert isinstance(here.journal, PostgresJournal)
            return await _measured(here, here.journal, fleet, how)
    finally:
        fleet.close()


async def _measured(here: Runtime, journal: PostgresJournal, fleet: Fleet, how: signal.Signals) -> list[float]:
    for _ in range(SESSIONS):
        await here.prompt(await here.create(), "long")
    acts = here.directory / "acts"
    async with asyncio.timeout(MOST_SECONDS):
        while not acts.exists() or len(acts.read_text().splitlines()) < SESSIONS:
            await asyncio.sleep(LOOK_SECONDS)
    held = [process for process in (await holders(journal)).values() if process is not None]
    victim = max((worker.pid for worker in fleet.workers), key=held.count)
    theirs = {session for session, process in (await holders(journal)).items() if process == victim}
    number = next(at for at, worker in enumerate(fleet.workers) if worker.pid == victim)
    released = dict.fromkeys(theirs, time.monotonic()) if how == signal.SIGKILL else {}
    if how == signal.SIGKILL:
        fleet.kill(number)
    else:
        fleet.tell(number, how)
    taken: dict[str, float] = {}
    async with asyncio.timeout(MOST_SECONDS):
        while len(taken) < len(theirs):
            now_held, now = await holders(journal), time.monotonic()
            for session in theirs - taken.keys():
                if now_held[session] == victim:
                    continue
                if now_held[session] is not None or how == signal.SIGTERM:
                    released.setdefault(session, now)
                if now_held[session] is not None:
                    taken[session] = now
            await asyncio.sleep(LOOK_SECONDS)
    return sorted(taken[session] - released[session] for session in theirs)
