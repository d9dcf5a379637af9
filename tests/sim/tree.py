"""A history with its sessions loaded once, and what every invariant asks of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from bridle.core.events import PartPut
from bridle.core.fold import load
from bridle.core.parts import (
    Call,
    Extension,
    Reasoning,
    Text,
    TurnFinish,
    TurnStart,
)
from sim.world import History


class Tree:
    """A history with its sessions loaded once."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.plan = history.plan
        self.world = history.world
        self.disk = history.disk
        self.results = history.results
        self.entries = {id: kept.entries for id, kept in history.sessions.items()}
        self.sessions = {id: load(entries) for id, entries in self.entries.items()}
        self._parts: dict[Any, list[tuple[str, Any]]] = {}
        self._timed: dict[str, list[tuple[Any, Any]]] = {}

    def parts(self, kind: Any) -> list[tuple[str, Any]]:
        """Every part of a kind with its session; most invariants ask, and for the same few kinds."""
        found = self._parts.get(kind)
        if found is None:
            found = self._parts[kind] = [
                (id, part)
                for id, session in self.sessions.items()
                for part in session.parts.values()
                if isinstance(part, kind)
            ]
        return found

    @cached_property
    def starts(self) -> dict[tuple[str, int], TurnStart]:
        return {(id, start.number): start for id, start in self.parts(TurnStart)}

    @cached_property
    def finishes(self) -> dict[tuple[str, int], TurnFinish]:
        return {(id, finish.number): finish for id, finish in self.parts(TurnFinish)}

    @cached_property
    def of_request(self) -> dict[str, dict[str, list[Any]]]:
        """What came of each request: its words and calls, in order."""
        found: dict[str, dict[str, list[Any]]] = {}
        for id, part in self.parts((Text, Reasoning, Call)):
            found.setdefault(id, {}).setdefault(".".join(part.id.split(".")[:3]), []).append(part)
        return found

    @cached_property
    def requests(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for request in self.world.requests:
            found.setdefault(request.session, []).append(request)
        return found

    def raised(self, id: str, turn: int, name: str) -> float:
        """By how much a person has raised this limit of a turn."""
        found = (part for where, part in self.parts(Extension) if (where, turn_of(part)) == (id, turn))
        return sum(part.by for part in found if part.limit == name)

    def events(self, id: str) -> list[Any]:
        return [event for _, event in self.timed(id)]

    def timed(self, id: str) -> list[tuple[Any, Any]]:
        """Every event with the entry that says when it was."""
        found = self._timed.get(id)
        if found is None:
            found = self._timed[id] = [(entry, event) for entry in self.entries[id] for event in entry.events]
        return found

    def account(self, id: str, turn: int) -> Any:
        return self.history.accounts[f"{id}/{turn}"]


def turn_of(part: Any) -> int:
    return int(part.id.split(".")[0])


def puts(event: Any, kind: Any) -> bool:
    return isinstance(event, PartPut) and isinstance(event.part, kind)
