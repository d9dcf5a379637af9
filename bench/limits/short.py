"""The rows with Bridle alone, in this process and without its waits between retries: seconds instead of minutes."""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench.contenders import limit_work
from bench.contenders.bridle import limit as limit_bridle
from bench.limits.judges import Seen
from bench.limits.roster import BRIDLE
from bench.limits.rows import Row
from bench.limits.server import Asked, Provider
from bridle.seams import Seams

LONGEST_WAIT_SECONDS = 0.01


@dataclass
class Hurried(Seams):
    """Everything as it is, but no long sleeps."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, LONGEST_WAIT_SECONDS))


async def play_here(row: Row) -> Seen:
    """Play a row in which nobody is killed."""
    end = asyncio.Event()

    def arrived(asked: Asked) -> None:
        if asked.number > row.most_requests:
            end.set()

    begin, outcome, stopped = time.monotonic(), None, ""
    with tempfile.TemporaryDirectory(prefix="bridle-limits-") as folder:
        async with Provider(row.script, BRIDLE.speech, arrived) as provider:
            ask = limit_work.Ask(provider.address, Path(folder), dict(row.ask), resume=False)
            turn, stop = asyncio.create_task(limit_bridle.play(ask, Hurried())), asyncio.create_task(end.wait())
            await asyncio.wait([turn, stop], timeout=row.seconds, return_when=asyncio.FIRST_COMPLETED)
            stop.cancel()
            if turn.done():
                result = turn.result()
                outcome = {"version": version("bridle"), "text": result.text, "ended": result.reason}
            else:
                turn.cancel()
                stopped = f"stopped after {time.monotonic() - begin:.0f} s"
        path = Path(folder) / "effects"
        effects = path.read_text().splitlines() if path.exists() else []
    return Seen(provider, effects, outcome, stopped, time.monotonic() - begin)
