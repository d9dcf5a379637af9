"""Undo, redo and diff of turns: hides turns in the journal, refuses conflicts, restores files through `snapshots`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bridle.core.events import Entry, PartPut
from bridle.core.fold import load as load_session
from bridle.core.ids import redo_id, undo_id
from bridle.core.parts import Patch, Prompt, Redone, TurnStart, Undone
from bridle.core.session import Session
from bridle.core.undo import begins, visible
from bridle.errors import ConfigError, NoSuchSession, SnapshotFailed
from bridle.runtime.retention import end_background
from bridle.runtime.runtime import Runtime
from bridle.runtime.session_reader import children_in, parts_put
from bridle.runtime.sessions import Reverted
from bridle.snapshots.plan import Planned, Span
from bridle.snapshots.snapshots import Snapshots
from bridle.turn.record import Record

NAMED = 5


async def undo(
    runtime: Runtime, session: str, *, to: str = "", keep_files: bool = False, force: bool = False
) -> Reverted:
    """Hide everything from a turn on, and restore the files to their state before it.

    A turn that only waits for background subagents is aborted first, with them.
    `to` is a turn number or a prompt id; the default is the last turn. Raises `ConfigError` if there is nothing to
    undo, if the files were changed outside the session in the meantime (`force` undoes those changes too; a redo
    brings them back), or if their earlier state is no longer known; raises `LeaseLost` while a turn runs. If an
    earlier undo was recorded but its files were not restored, finishes that one instead.
    """
    async with _leased(runtime, session) as record:
        left = record.session.unfinished
        if isinstance(left, Undone):
            return await _finish_undo(runtime, record, left, keep_files=keep_files, force=force)
        entries = visible(await runtime.journal.load(session))
        turn = _turn(record.session, entries, to)
        found = await _found(runtime, session, entries, turn)
        undone = Undone(undo_id(record.session.sequence), turn, record.session.turns)
        planned: Planned | None = None
        if found.spans and not keep_files:
            planned = await _plan(runtime, record, found, force=force)
            undone = msgspec.structs.replace(undone, tree=planned.now, files=planned.names)
            await _kept(runtime).pin(_directory(record), session, undone.id, undone.tree)
        await record.append(PartPut(undone), weight="intent")
        await _follow(runtime, record, undone, planned)
        return Reverted(turn, undone.files, _words(entries, turn), (*found.unknown, *_left(planned, found.moved)))


async def _finish_undo(runtime: Runtime, record: Record, undone: Undone, *, keep_files: bool, force: bool) -> Reverted:
    """Restore the files of an undo whose process died after recording it."""
    planned = None
    if undone.tree and not keep_files:
        planned = await _plan(runtime, record, await _taken_back(runtime, record, undone), force=force)
    await _follow(runtime, record, undone, planned)
    return Reverted(undone.turn, undone.files, finished=True)


async def redo(runtime: Runtime, session: str, *, keep_files: bool = False) -> Reverted:
    """Revert the last undo; its files return to their state just before it.

    Raises `ConfigError` if there is nothing to redo, or if the files were changed since.
    """
    async with _leased(runtime, session) as record:
        left = record.session.unfinished
        again = left if isinstance(left, Redone) else None
        known = record.session.parts.get(again.undone) if again is not None else None
        undone = known or next(reversed(record.session.undone.values()), None)
        if not isinstance(undone, Undone):
            raise ConfigError(f"there is nothing to redo in session {session}")
        planned: Planned | None = None
        if undone.tree and not keep_files:
            spans = (await _taken_back(runtime, record, undone)).spans
            planned = await _kept(runtime).plan_redo(_directory(record), spans, undone.tree)
            _refuse(planned, force=False)
        redone = again or Redone(redo_id(record.session.sequence), undone.id)
        if again is None:
            await record.append(PartPut(redone), weight="intent")
        await _follow(runtime, record, redone, planned)
        return Reverted(undone.turn, planned.names if planned is not None else (), finished=again is not None)


async def _follow(runtime: Runtime, record: Record, mark: Undone | Redone, planned: Planned | None) -> None:
    if planned is not None:
        await _kept(runtime).bring_back(_directory(record), planned)
    await record.append(PartPut(msgspec.structs.replace(mark, restored=True)))


async def _plan(runtime: Runtime, record: Record, found: UndoTarget, *, force: bool) -> Planned:
    planned = await _kept(runtime).plan_undo(_directory(record), found.spans, found.sessions)
    _refuse(planned, force=force)
    return planned


def _refuse(planned: Planned, *, force: bool) -> None:
    """Raise `ConfigError` if the plan would destroy files without a copy or, without `force`, outside changes."""
    if planned.lost:
        raise ConfigError(
            f"in the way and without a copy, so it would be lost: {_some(planned.lost)}. Move it away first, or use "
            "--keep-files to leave all files as they are"
        )
    if planned.strange and not force:
        raise ConfigError(
            f"changed outside this session since: {_some(planned.strange)}. --force undoes these changes too where "
            "possible (redo restores them), --keep-files leaves all files as they are"
        )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")


def _left(planned: Planned | None, moved: Mapping[str, str]) -> tuple[str, ...]:
    """Return messages about files that the undo leaves alone, with what the user can do about them."""
    if planned is None:
        return ()
    told = [
        f"{place} was moved there from {former}, which is not kept: it is left where it is, move it back yourself"
        for place, former in moved.items()
    ]
    names = [name for name in planned.left if not any(name == place or name.startswith(f"{place}/") for place in moved)]
    more = f" (so were {len(names) - NAMED} others)" if len(names) > NAMED else ""
    told += [
        f"{name} was there before, and not kept then: it is left as it is, remove it yourself if it is not wanted"
        for name in names[:NAMED]
    ]
    return (*told[:-1], told[-1] + more) if told else ()


async def diff(runtime: Runtime, session: str, turn: int = 0) -> str:
    """Return the file changes of a session or one turn as a diff; raises `ConfigError` if they are not known."""
    entries = visible(await runtime.journal.load(session))
    if turn and begins(entries, turn) > entries[-1].sequence:
        raise ConfigError(f"session {session} has no turn {turn}")
    found = await _found(runtime, session, entries, turn or 1, only=bool(turn))
    if not found.spans:
        return ""
    info = load_session(entries).info
    assert info is not None
    try:
        return await _kept(runtime).diff(Path(info.directory), found.spans)
    except SnapshotFailed as failed:
        raise ConfigError(str(failed)) from failed


@asynccontextmanager
async def _leased(runtime: Runtime, session: str) -> AsyncIterator[Record]:
    await end_background(runtime, session, await runtime.load(session))
    try:
        async with runtime.leased(session) as lease:
            state = await runtime.load(session)
            if state.running is not None:
                raise ConfigError(f"session {session} has an open turn: `bridle resume {session}` or abort it first")
            yield Record(state, runtime.journal, lease, runtime.seams.clock, runtime.bus.publish)
    except SnapshotFailed as failed:
        raise ConfigError(f"{failed}; --keep-files leaves all files as they are") from failed


def _kept(runtime: Runtime) -> Snapshots:
    kept = runtime.snapshots
    if kept is None:
        raise SnapshotFailed("snapshots are switched off (snapshots.enabled)")
    return kept


def _directory(record: Record) -> Path:
    assert record.session.info is not None
    return Path(record.session.info.directory)


async def _taken_back(runtime: Runtime, record: Record, undone: Undone) -> UndoTarget:
    """Return the changes that an undo reverted."""
    session = record.lease.session
    entries = await runtime.journal.load(session)
    before = _put(entries, undone.id)
    shown = visible([entry for entry in entries if entry.sequence < before])
    return await _found(runtime, session, shown, undone.turn)


def _put(entries: Sequence[Entry], id: str) -> int:
    """Return the sequence number of the entry that first recorded a part."""
    return next(entry.sequence for entry in entries if any(part.id == id for part in parts_put([entry])))


def _turn(session: Session, entries: Sequence[Entry], to: str) -> int:
    """Return the number of the turn that `to` names; raises `ConfigError`."""
    starts = [part.number for part in parts_put(entries) if isinstance(part, TurnStart)]
    if not starts:
        raise ConfigError("there is no turn to undo")
    if not to:
        return starts[-1]
    if to.isdecimal() and int(to) in starts:
        return int(to)
    turn = session.prompts.get(to)
    if not turn:
        raise ConfigError(f"{to!r} is neither a turn of this session (1 to {starts[-1]}) nor a prompt of one")
    return turn


def _words(entries: Sequence[Entry], turn: int) -> str:
    """Return the text of the first prompt of a turn."""
    prompts = (part for part in parts_put(entries) if isinstance(part, Prompt))
    return next((prompt.text for prompt in prompts if prompt.turn == turn), "")


@dataclass(slots=True)
class UndoTarget:
    """The file changes to undo, the sessions that made them, and messages about unknown changes."""

    patches: list[Patch] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def spans(self) -> list[Span]:
        return [
            Span(patch.before, patch.after, frozenset(patch.left), patch.at, patch.closed)
            for patch in self.patches
            if patch.state == "taken" and patch.before != patch.after
        ]

    @property
    def moved(self) -> dict[str, str]:
        return {place: former for patch in self.patches for place, former in patch.moved.items()}


async def _found(
    runtime: Runtime, session: str, entries: Sequence[Entry], turn: int, *, only: bool = False
) -> UndoTarget:
    """Return the file changes from a turn on in chronological order, subagents included."""
    first = begins(entries, turn)
    last = begins(entries, turn + 1) if only else entries[-1].sequence + 1
    chosen = [entry for entry in entries if first <= entry.sequence < last]
    found = UndoTarget()
    await _gather(runtime, session, chosen, found)
    found.patches.sort(key=lambda patch: patch.at)
    for patch in found.patches:
        if patch.state != "taken":
            why = patch.detail or "it was interrupted"
            found.unknown.append(f"the changes in {patch.id} are not known: {why}")
        found.unknown += [f"{name} was changed and is not kept: it is left as it is" for name in patch.unkept]
    if found.patches and found.patches[-1].background:
        found.unknown.append("a command continued in the background: its later changes are not known")
    found.unknown = list(dict.fromkeys(found.unknown))
    return found


async def _gather(runtime: Runtime, session: str, entries: Sequence[Entry], found: UndoTarget) -> None:
    found.sessions.append(session)
    found.patches += {part.id: part for part in parts_put(entries) if isinstance(part, Patch)}.values()
    for child, calls in children_in(entries).items():
        try:
            below = await runtime.journal.load(child)
        except NoSuchSession:
            found.unknown.append(f"the changes of subagent {child} are not known: its session was deleted")
            continue
        await _gather(runtime, child, _for_calls(below, calls), found)


def _for_calls(entries: Sequence[Entry], calls: set[str]) -> list[Entry]:
    """Return the entries of a subagent's turns for these calls of its parent; it may have worked for other calls."""
    chosen: list[Entry] = []
    inside = False
    for entry in entries:
        for start in (part for part in parts_put([entry]) if isinstance(part, TurnStart)):
            inside = start.delegation is not None and start.delegation.call in calls
        if inside:
            chosen.append(entry)
    return chosen
