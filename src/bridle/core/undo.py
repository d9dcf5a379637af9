"""Filters a session's entries: an undo hides those from a turn on, until a redo; `runtime.undo` restores the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from bridle.core.events import Entry, PartPut, Recorded, SessionPut
from bridle.core.parts import Part, Redone, TurnStart, Undone, Withdrawn


def has_mark(entries: Iterable[Entry]) -> bool:
    """Return whether these entries contain an undo or a redo."""
    return any(isinstance(part, (Undone, Redone)) for entry in entries for part in _parts(entry))


def visible(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the entries that are not undone, in order."""
    if not has_mark(entries):
        return entries
    kept: list[Entry] = []
    # Marks are recorded again once the files are restored; each counts once.
    before: dict[str, list[Entry]] = {}
    seen: set[str] = set()
    for entry in entries:
        for part in _parts(entry):
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
    """Return the sequence number of the entry that began a turn; one past the last entry if it has not begun."""
    for entry in entries:
        if any(isinstance(part, TurnStart) and part.number == turn for part in _parts(entry)):
            return entry.sequence
    return entries[-1].sequence + 1 if entries else 1


def _parts(entry: Entry) -> Iterator[Part]:
    return (event.part for event in entry.events if isinstance(event, PartPut))


def _without(entries: list[Entry], first: int) -> list[Entry]:
    """Return the entries before `first`; of later ones only facts about the session, which no undo affects."""
    kept: list[Entry] = []
    for entry in entries:
        if entry.sequence < first:
            kept.append(entry)
        elif facts := tuple(filter(_outlives_undo, entry.events)):
            kept.append(msgspec.structs.replace(entry, events=facts))
    return kept


def _outlives_undo(event: Recorded) -> bool:
    """Return whether an event is a fact about the session: its description, or that a prompt was withdrawn."""
    return isinstance(event, SessionPut) or (isinstance(event, PartPut) and isinstance(event.part, Withdrawn))
