"""The only write path: what is held and what is being written never overtake each other."""

import asyncio

from bridle.core.events import PartPut, SessionInfo
from bridle.core.parts import Notice
from bridle.core.session import Session
from bridle.journal.memory import MemoryJournal
from bridle.seams import SystemClock
from bridle.turn.record import Record


class SlowJournal(MemoryJournal):
    """Every append takes until it is let go."""

    def __init__(self):
        super().__init__()
        self.free = asyncio.Event()

    async def append(self, *given, **more):
        await self.free.wait()
        await super().append(*given, **more)


def said(text):
    return PartPut(Notice(text, "warning", text))


def test_what_is_held_comes_after_what_is_being_written():
    async def work():
        journal, published = SlowJournal(), []
        await journal.create(SessionInfo("ses_a", "/"))
        session = Session()
        session.sequence = 1
        lease = await journal.acquire("ses_a")
        record = Record(session, journal, lease, SystemClock(), lambda _, entry: published.append(entry))
        writing = asyncio.ensure_future(record.append(said("first")))
        await asyncio.sleep(0)
        holding = asyncio.ensure_future(record.append_with_next(said("second")))
        await asyncio.sleep(0)
        assert not writing.done() and not holding.done() and session.sequence == 1
        journal.free.set()
        await asyncio.gather(writing, holding)
        assert (session.sequence, len(published)) == (3, 1)
        await record.append(said("third"))
        entries = await journal.load("ses_a", 1)
        assert published == entries
        assert [(entry.sequence, entry.events) for entry in entries] == [
            (2, (said("first"),)),
            (3, (said("second"),)),
            (4, (said("third"),)),
        ]

    asyncio.run(work())
