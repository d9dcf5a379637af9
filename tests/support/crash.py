"""A turn that dies at chosen points and is resumed, and what must hold at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from bridle.core.events import Entry
from bridle.core.fold import fold
from bridle.core.limits import NOTHING
from bridle.core.parts import Patch, Request, Sentinel, StepStart, Text, TurnFinish
from bridle.core.replay import verified
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.journal.memory import MemoryJournal
from bridle.turn.closing import QUIET
from bridle.wire import entries as wire
from support.crash_scenarios import WORDS, flaky
from support.cut_process import Cutter, Scenario, World, live, note_endings, reboot
from support.oracle import read_turn
from support.virtual import SESSION


@dataclass
class Left:
    """All that is left of processes that died: what was written down, and what they did to the world."""

    store: MemoryJournal = field(default_factory=MemoryJournal)
    world: World = field(default_factory=World)
    counts: Counter[int] = field(default_factory=Counter)
    """What the flaky provider remembers."""

    def copied(self) -> Left:
        store = MemoryJournal()
        for id, kept in self.store._sessions.items():
            store._sessions[id] = replace(kept, entries=list(kept.entries), inbox=dict(kept.inbox))
        store._accounts.update(self.store._accounts)
        world = World(**{name: copy(value) for name, value in vars(self.world).items()})
        return Left(store, world, Counter(self.counts))

    def told(self) -> str:
        """All of it in words: who finds the same lives on in the same way."""
        world = {**vars(self.world), "ended": sorted(self.world.ended), "requests": len(self.world.requests)}
        return repr((self.store._sessions, self.store._accounts, world | {"streaming": ()}, self.counts))


def lived(scenario: Scenario, left: Left, life: int, at: int | None = None) -> tuple[Result | None, Left, list[str]]:
    """One more life on a copy of what is left, cut at a point or to its end: its result, what is left, its points."""
    left, cutter = left.copied(), Cutter(at)
    flaky.counts = left.counts
    result = live(scenario, left.store, left.world, cutter, life=life)
    assert (result is None) == (at is not None), "it dies where it is cut, and else it ends"
    if result is None:
        reboot(left.store)
        note_endings(left.store, left.world)
    return result, left, cutter.names


def play(scenario: Scenario, *cuts: int) -> tuple[Result | None, Left, list[str]]:
    """Live through these cuts, then to the end."""
    left = Left()
    for life, at in enumerate(cuts):
        _, left, _ = lived(scenario, left, life, at)
    return lived(scenario, left, len(cuts))


_compared: dict[tuple[object, ...], int] = {}
"""Every beginning of a session whose fold was compared, numbered: what it adds to one that is an entry shorter."""


def folded(entries: Sequence[Entry], story: str) -> Session:
    """The session, with the fold compared to a full scan after every entry; lives share beginnings, compared once."""
    session, before = Session(), 0
    for entry in entries:
        fold(session, entry)
        beginning = (before, entry.sequence, entry.at, entry.elapsed, wire.encode_events(entry))
        if beginning not in _compared and session.turn is not None:
            view = session.view(session.elapsed)
            assert view == read_turn(entries[: entry.sequence], view.crowded), story
        before = _compared.setdefault(beginning, len(_compared) + 1)
    return session


def check(scenario: Scenario, result: Result, left: Left, cuts: Sequence[int], requests: int) -> None:
    store, world = left.store, left.world
    story = f"{scenario.name}, cut at {cuts}"
    sessions = {id: folded(kept.entries, f"{story}, {id}") for id, kept in store._sessions.items()}
    assert [verified(kept.entries) for kept in store._sessions.values()] == [None] * len(sessions), story
    session = sessions[SESSION]
    parts = list(session.parts.values())
    turns = range(1, scenario.turns + 1)
    assert (result.reason, result.steps, result.tool_calls) == scenario.ends, story
    assert result.text.strip(), story
    assert [part.number for part in parts if isinstance(part, TurnFinish)] == list(turns), story
    assert sum(isinstance(part, Sentinel) for part in parts) == (scenario.ends[0] not in QUIET), story
    steps = [part.id for part in parts if isinstance(part, StepStart)]
    assert steps == [f"{turn}.{step}.start" for turn in turns for step in range(1, result.steps + 1)], story
    assert [key for key in world.started if key.startswith("act") and world.started[key] > 1] == [], story
    assert world.ran_after_end == [], story
    assert world.invalid == [], story
    for account in store._accounts.values():
        assert (account.reserved, account.held, account.keeps) == (NOTHING, {}, NOTHING), story
        assert (account.children, account.live) == (0, 0), story
    for id, one in sessions.items():
        assert one.turn is not None, (story, id)
        spent, below = one.view(0.0).spent, one.turn.below
        ledger = store._accounts[one.turn.start.account].spent
        assert (ledger.steps, ledger.tool_calls) == (
            spent.steps + below.steps,
            spent.tool_calls + below.tool_calls,
        ), (story, id)
        assert (ledger.tokens, ledger.cost) == (spent.tokens, spent.cost), (story, id)
        assert one.turn.finish is not None, (story, id)
        assert sum(isinstance(part, TurnFinish) for part in one.parts.values()) == one.turns, (story, id)
        words = [part.text for part in one.parts.values() if isinstance(part, Text) and part.by == "model"]
        assert set(words) <= WORDS, story
        assert not one.turn.batch, (story, id)
    assert sum(isinstance(part, Request) for part in parts) <= requests + len(cuts), story
    assert set(session.prompts.values()) == set(turns), story
    # Whatever was kept before a call was compared after it, by whoever came next.
    assert {part.state for part in parts if isinstance(part, Patch)} == ({"taken"} if scenario.keeps_files else set())
