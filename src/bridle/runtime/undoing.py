"""Turns undone and redone: the history and the files together, both recorded, nothing lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from bridle.core.events import CallMoved, Entry, PartPut
from bridle.core.fold import load as load_session
from bridle.core.parts import Patch, Prompt, Redone, TurnStart, Undone
from bridle.core.session import Session
from bridle.core.states import Waiting
from bridle.core.undo import begins, visible
from bridle.errors import ConfigError, LeaseLost, NoSuchSession, SnapshotFailed
from bridle.runtime.runtime import Runtime
from bridle.snapshots.repository import Held
from bridle.snapshots.restore import Span
from bridle.snapshots.snapshots import Snapshots
from bridle.turn.record import Record

NAMED = 5


class Reverted(NamedTuple):
    """What an undo or a redo came to: the turn from which on, the files that followed, what its prompt said."""

    turn: int
    files: tuple[str, ...]
    prompt: str = ""
    unknown: tuple[str, ...] = ()
    """What is not known of the files, in words."""


async def undo(
    runtime: Runtime, session: str, *, to: str = "", keep_files: bool = False, force: bool = False
) -> Reverted:
    """Hide everything from a turn on, and bring the files back to what they were before it.

    `to` is the number of a turn, or the id of a prompt; without it, the last turn. Raises `ConfigError` if there is
    nothing to undo, if somebody else has changed the files in the meantime (`force` takes them back all the same; a
    redo brings them again), or if they are not known any more; `LeaseLost` while a turn runs.
    """
    async with _leased(runtime, session) as record:
        await _finish(runtime, record)
        entries = visible(await runtime.journal.load(session))
        turn = _turn(record.session, entries, to)
        patches, words = await _patches(runtime, entries, turn), _words(entries, turn)
        undone = Undone(f"undo.{record.session.sequence}", turn, record.session.turns)
        wanted: Mapping[str, Held] = {}
        spans = _spans(patches)
        if spans and not keep_files:
            wanted, undone = await _planned(runtime, record, undone, spans, force=force)
        await record.append(PartPut(undone), weight="intent")
        if wanted:
            await _kept(runtime).bring_back(_directory(record), wanted)
        await record.append(PartPut(msgspec.structs.replace(undone, restored=True)))
        return Reverted(turn, undone.files, words, _unknown(patches))


async def redo(runtime: Runtime, session: str) -> Reverted:
    """Take the last undo back; its files become what they were when it was done."""
    async with _leased(runtime, session) as record:
        await _finish(runtime, record)
        undone = next(reversed(record.session.undone.values()), None)
        if undone is None:
            raise ConfigError(f"there is nothing to redo in session {session}")
        redone = Redone(f"redo.{record.session.sequence}", undone.id)
        wanted = await _as_left(runtime, record, undone)
        await record.append(PartPut(redone), weight="intent")
        if wanted:
            await _kept(runtime).bring_back(_directory(record), wanted)
        await record.append(PartPut(msgspec.structs.replace(redone, restored=True)))
        return Reverted(undone.turn, undone.files)


async def diff(runtime: Runtime, session: str, turn: int = 0) -> str:
    """What a session, or one of its turns, has changed in the files; raises `ConfigError` if it is not known."""
    entries = visible(await runtime.journal.load(session))
    state = load_session(entries)
    if turn and begins(entries, turn) > entries[-1].sequence:
        raise ConfigError(f"session {session} has no turn {turn}")
    patches = await _patches(runtime, entries, turn or 1, only=bool(turn))
    spans = _spans(patches)
    if not spans:
        return ""
    assert state.info is not None
    try:
        return await _kept(runtime).diff(Path(state.info.directory), spans)
    except SnapshotFailed as failed:
        raise ConfigError(str(failed)) from failed


@asynccontextmanager
async def _leased(runtime: Runtime, session: str) -> AsyncIterator[Record]:
    lease = await runtime.journal.acquire(session)
    if lease is None:
        raise LeaseLost(f"session {session} has a turn that runs: wait for it, or abort it")
    try:
        state = await runtime.load(session)
        if state.running is not None:
            raise ConfigError(f"session {session} has an open turn: `bridle resume {session}` or abort it first")
        yield Record(state, runtime.journal, lease, runtime.seams.clock, runtime.bus.publish)
    except SnapshotFailed as failed:
        raise ConfigError(f"{failed}; --keep-files undoes the history alone") from failed
    finally:
        await runtime.journal.release(lease)


def _kept(runtime: Runtime) -> Snapshots:
    kept = runtime.room.user.files
    if kept is None:
        raise SnapshotFailed("snapshots are switched off (snapshots.enabled)")
    return kept


def _directory(record: Record) -> Path:
    assert record.session.info is not None
    return Path(record.session.info.directory)


async def _planned(
    runtime: Runtime, record: Record, undone: Undone, spans: Sequence[Span], *, force: bool
) -> tuple[Mapping[str, Held], Undone]:
    kept, directory = _kept(runtime), _directory(record)
    now, plan, names = await kept.plan(directory, spans)
    if plan.strange and not force:
        named = ", ".join(plan.strange[:NAMED]) + (" …" if len(plan.strange) > NAMED else "")
        raise ConfigError(
            f"changed by somebody else since: {named}. --force takes that back too (redo brings it again), "
            "--keep-files undoes the history alone"
        )
    await kept.pin(directory, record.lease.session, undone.id, now)
    return plan.wanted, msgspec.structs.replace(undone, tree=now, files=names)


async def _as_left(runtime: Runtime, record: Record, undone: Undone) -> Mapping[str, Held]:
    """What the files of an undo were before it."""
    if not undone.tree:
        return {}
    return await _kept(runtime).at(_directory(record), undone.tree, await _spans_of(runtime, record, undone))


async def _spans_of(runtime: Runtime, record: Record, undone: Undone) -> list[Span]:
    """The changes that an undo took back."""
    session = record.lease.session
    entries = await runtime.journal.load(session)
    before = _put(entries, undone.id)
    shown = visible([entry for entry in entries if entry.sequence < before])
    return _spans(await _patches(runtime, shown, undone.turn))


async def _finish(runtime: Runtime, record: Record) -> None:
    """Have the files follow what a dead process has recorded of them."""
    left = record.session.unfinished
    if left is None:
        return
    undone = record.session.parts[left.undone] if isinstance(left, Redone) else left
    assert isinstance(undone, Undone)
    if undone.tree and isinstance(left, Redone):
        await _kept(runtime).bring_back(_directory(record), await _as_left(runtime, record, undone))
    elif undone.tree:
        _, plan, _ = await _kept(runtime).plan(_directory(record), await _spans_of(runtime, record, undone))
        await _kept(runtime).bring_back(_directory(record), plan.wanted)
    await record.append(PartPut(msgspec.structs.replace(left, restored=True)))


def _put(entries: Sequence[Entry], id: str) -> int:
    """The entry in which a part was put first."""
    return next(
        entry.sequence
        for entry in entries
        if any(isinstance(event, PartPut) and event.part.id == id for event in entry.events)
    )


def _turn(session: Session, entries: Sequence[Entry], to: str) -> int:
    """The turn that is meant; raises `ConfigError`."""
    starts = [event.part.number for event in _puts(entries) if isinstance(event.part, TurnStart)]
    if not starts:
        raise ConfigError("there is no turn to undo")
    if not to:
        return starts[-1]
    if to.isdigit() and int(to) in starts:
        return int(to)
    turn = session.prompts.get(to)
    if not turn:
        raise ConfigError(f"{to!r} is neither a turn of this session (1 to {starts[-1]}) nor a prompt of one")
    return turn


def _puts(entries: Sequence[Entry]) -> list[PartPut]:
    return [event for entry in entries for event in entry.events if isinstance(event, PartPut)]


def _words(entries: Sequence[Entry], turn: int) -> str:
    """What the first prompt of a turn said."""
    prompts = (event.part for event in _puts(entries) if isinstance(event.part, Prompt))
    return next((prompt.text for prompt in prompts if prompt.turn == turn), "")


async def _patches(runtime: Runtime, entries: Sequence[Entry], turn: int, *, only: bool = False) -> list[Patch]:
    """What was changed from a turn on, in the order of time; by subagents too."""
    first = begins(entries, turn)
    last = begins(entries, turn + 1) if only else entries[-1].sequence + 1
    found = await _patches_in(runtime, [entry for entry in entries if first <= entry.sequence < last])
    return sorted(found, key=lambda patch: patch.at)


async def _patches_in(runtime: Runtime, entries: Sequence[Entry]) -> list[Patch]:
    found = list({event.part.id: event.part for event in _puts(entries) if isinstance(event.part, Patch)}.values())
    for child, calls in _children(entries).items():
        try:
            below = await runtime.journal.load(child)
        except NoSuchSession:
            continue
        found += await _patches_in(runtime, _for_calls(below, calls))
    return found


def _children(entries: Sequence[Entry]) -> dict[str, set[str]]:
    """The subagents that worked in these entries, and the calls for which they did."""
    found: dict[str, set[str]] = {}
    for entry in entries:
        for event in entry.events:
            if isinstance(event, CallMoved) and isinstance(event.state, Waiting):
                found.setdefault(event.state.child, set()).add(event.id)
    return found


def _for_calls(entries: Sequence[Entry], calls: set[str]) -> list[Entry]:
    """What a subagent did for these calls of its parent; it may have worked for others too."""
    chosen: list[Entry] = []
    inside = False
    for entry in entries:
        for start in (event.part for event in _puts([entry]) if isinstance(event.part, TurnStart)):
            inside = start.mandate is not None and start.mandate.call in calls
        if inside:
            chosen.append(entry)
    return chosen


def _spans(patches: Sequence[Patch]) -> list[Span]:
    return [(patch.before, patch.after) for patch in patches if patch.state == "taken" and patch.before != patch.after]


def _unknown(patches: Sequence[Patch]) -> tuple[str, ...]:
    """What cannot be brought back, in words."""
    lost = [
        f"what was changed in {patch.id} is not known: {patch.detail}" for patch in patches if patch.state != "taken"
    ]
    large = [f"{name} is too large to be kept" for patch in patches for name in patch.large]
    return tuple(dict.fromkeys([*lost, *large]))
