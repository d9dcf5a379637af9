"""`Finding` and `JournalHealth`: the results of checking a journal, each in one line that says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

Level = Literal["good", "warning", "fault"]


class Finding(msgspec.Struct, frozen=True):
    """One result of a check."""

    level: Level
    text: str


class JournalNumbers(msgspec.Struct, frozen=True):
    """The contents of a journal, counted."""

    sessions: int = 0
    entries: int = 0
    bytes: int = 0
    open_items: int = 0
    workers: int = 0


class JournalHealth(msgspec.Struct, frozen=True, kw_only=True):
    """All results of a check. A journal is sound if none of them is a fault."""

    place: str
    sound: bool
    findings: Sequence[Finding]
    numbers: JournalNumbers
