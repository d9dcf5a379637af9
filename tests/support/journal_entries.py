"""Entries for a journal under test."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from bridle.core.events import Entry, PartPut, Recorded, SessionInfo
from bridle.core.parts import Notice

INFO = SessionInfo("ses_a", "/project", "A title", 1.0, "plan", "provider/model", denied=("bash", "edit"))


def note(n: int) -> PartPut:
    return PartPut(Notice(f"n{n}", "test", f"text {n}"))


def entry(sequence: int, *events: Recorded) -> Entry:
    return Entry(sequence, float(sequence), 0.0, events or (note(sequence),))


def story(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())
