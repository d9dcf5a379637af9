"""Entries for a journal under test."""

import asyncio

from bridle.core.events import Entry, PartPut, SessionInfo
from bridle.core.parts import Notice

INFO = SessionInfo("ses_a", "/project", created=1.0)


def note(n):
    return PartPut(Notice(f"n{n}", "test", f"text {n}"))


def entry(sequence, *events):
    return Entry(sequence, float(sequence), 0.0, events or (note(sequence),))


def story(work):
    asyncio.run(work())
