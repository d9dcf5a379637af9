"""What an undo hides: the entries from a turn on, until it is taken back; the journal keeps them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from bridle.core.events import Entry, PartPut, SessionPut
from bridle.core.parts import Redone, TurnStart, Undone


def has_mark(entries: Iterable[Entry]) -> bool:
    """Whether an undo, or the end of one, is among these."""
    return any(
        isinstance(event, PartPut) and isinstance(event.part, (Undone, Redone))
        for entry in entries
        for event in entry.events
    )


def visible(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries that nobody has undone, in order."""
    if not has_mark(entries):
        return entries
    kept: list[Entry] = []
    # Marks are put again when the files have followed; each counts once.
    before: dict[str, list[Entry]] = {}
    seen: set[str] = set()
    for entry in entries:
        for event in entry.events:
            part = event.part if isinstance(event, PartPut) else None
            if not isinstance(part, (Undone, Redone)) or part.id in seen:
                continue
            seen.add(part.id)
            if isinstance(part, Undone):
                before[part.id] = kept
                kept = _without(kept, begins(kept, part.turn))
            elif part.undone in before:
                shown = before[part.undone]
                kept = shown + [later for later in kept if later.sequence > shown[-1].sequence]
        kept.append(entry)
    return kept


def begins(entries: Sequence[Entry], turn: int) -> int:
    """The entry with which a turn began; one behind the last, if it has not."""
    for entry in entries:
        for event in entry.events:
            if isinstance(event, PartPut) and isinstance(event.part, TurnStart) and event.part.number == turn:
                return entry.sequence
    return entries[-1].sequence + 1 if entries else 1


def _without(entries: list[Entry], first: int) -> list[Entry]:
    """The entries before the first, and of the others what is true of the session whatever was undone."""
    kept: list[Entry] = []
    for entry in entries:
        if entry.sequence < first:
            kept.append(entry)
        elif facts := tuple(event for event in entry.events if isinstance(event, SessionPut)):
            kept.append(msgspec.structs.replace(entry, events=facts))
    return kept
