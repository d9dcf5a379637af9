"""Sessions that are carried elsewhere, or go on in two directions: export, import and fork."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bridle.core.events import Entry, PartPut, SessionInfo, SessionPut
from bridle.core.parts import TurnStart
from bridle.core.secrets import redacted
from bridle.errors import ConfigError, LeaseLost, NoSuchSession
from bridle.runtime.finding import children_in
from bridle.runtime.runtime import Runtime
from bridle.turn.record import Record, copied

VERSION = 1
OUTPUTS = "{outputs}"
"""Where long outputs are stored, which is elsewhere on each machine."""


class Carried(msgspec.Struct, frozen=True, omit_defaults=True):
    """One session: everything that was recorded, and the outputs that were stored beside it."""

    info: SessionInfo
    entries: tuple[Entry, ...]
    outputs: dict[str, str] = {}


class Bundle(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A session with everything below it, the session itself first."""

    bridle: int
    sessions: tuple[Carried, ...]
    redacted: bool = False


async def export_session(runtime: Runtime, session: str, *, redact: bool = False) -> bytes:
    """A session and all its subagents as one JSON file; raises `NoSuchSession`."""
    found: list[Carried] = []
    waiting = [session]
    while waiting:
        id = waiting.pop(0)
        entries = await runtime.journal.load(id)
        state = await runtime.load(id)
        assert state.info is not None
        found.append(Carried(state.info, tuple(entries), _outputs(runtime, id)))
        waiting += sorted(child for child in children_in(entries) if child.startswith(f"{id}."))
    raw = msgspec.json.encode(Bundle(VERSION, tuple(found), redact))
    root = str(runtime.room.outputs) if runtime.room.outputs is not None else ""
    if root:
        raw = raw.replace(msgspec.json.encode(root)[1:-1], OUTPUTS.encode())
    if redact:
        raw = msgspec.json.encode(_without_secrets(msgspec.json.decode(raw)))
    return msgspec.json.format(raw, indent=1) + b"\n"


def _outputs(runtime: Runtime, session: str) -> dict[str, str]:
    folder = runtime.room.outputs / session if runtime.room.outputs is not None else None
    if folder is None or not folder.is_dir():
        return {}
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("*.txt"))}


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [_without_secrets(each) for each in value]
    if isinstance(value, dict):
        return {key: _without_secrets(each) for key, each in value.items()}
    return value


async def import_bundle(runtime: Runtime, raw: bytes) -> str:
    """Write what was exported into the journal: its id. Raises `ConfigError`, also if something else is there."""
    root = str(runtime.room.outputs) if runtime.room.outputs is not None else ""
    try:
        here = raw.replace(OUTPUTS.encode(), msgspec.json.encode(root)[1:-1]) if root else raw
        bundle = msgspec.json.decode(here, type=Bundle)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ConfigError(f"this is no exported session: {error}") from error
    if bundle.bridle != VERSION or not bundle.sessions:
        raise ConfigError(f"this was exported by another version (format {bundle.bridle}), or is empty")
    missing = [(carried, await _missing(runtime, carried)) for carried in bundle.sessions]
    for carried, entries in reversed(missing):
        await copied(runtime.journal, _begun(carried), entries)
        _store(runtime, carried)
    return bundle.sessions[0].info.id


async def _missing(runtime: Runtime, carried: Carried) -> Sequence[Entry]:
    """The entries that are not there yet."""
    numbers = [entry.sequence for entry in carried.entries]
    if numbers != list(range(1, len(numbers) + 1)) or _begun(carried).id != carried.info.id:
        raise ConfigError(f"session {carried.info.id} has gaps, or does not begin at its beginning")
    if not _safe(carried.info.id):
        raise ConfigError(f"{carried.info.id!r} is no id of a session")
    try:
        known = await runtime.journal.load(carried.info.id)
    except NoSuchSession:
        return carried.entries[1:]
    common = min(len(known), len(carried.entries))
    if tuple(known[:common]) != carried.entries[:common]:
        raise ConfigError(f"session {carried.info.id} is there already, and not the same")
    return carried.entries[len(known) :]


def _begun(carried: Carried) -> SessionInfo:
    """What a session was when it began, which is how it is made anew; raises `ConfigError`."""
    first = carried.entries[0].events[:1] if carried.entries else ()
    if not first or not isinstance(first[0], SessionPut):
        raise ConfigError(f"session {carried.info.id} does not begin at its beginning")
    return first[0].info


def _safe(name: str) -> bool:
    return bool(name) and all(letter.isalnum() or letter in "_.-" for letter in name) and not name.startswith(".")


def _store(runtime: Runtime, carried: Carried) -> None:
    if runtime.room.outputs is None:
        return
    folder = runtime.room.outputs / carried.info.id
    for name, text in carried.outputs.items():
        if not _safe(name):
            raise ConfigError(f"{name!r} is no name of an output")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / name
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")


async def fork_session(runtime: Runtime, session: str, turn: int | None = None) -> str:
    """A new session with the same history up to a turn, or to the end of the last one that has finished: its id."""
    entries = await runtime.journal.load(session)
    state = await runtime.load(session)
    assert state.info is not None
    if turn is None:
        turn = state.turns if state.running is not None else state.turns + 1
    if not 1 <= turn <= state.turns + 1:
        raise ConfigError(f"session {session} has {state.turns} turns: there is no turn {turn} to fork at")
    kept = [entry for entry in entries[1:] if entry.sequence < _begins(entries, turn)]
    info = msgspec.structs.replace(
        state.info, id=runtime.seams.new_id("ses"), created=runtime.seams.clock.wall(), parent=""
    )
    await copied(runtime.journal, info, [_renamed(entry, info) for entry in kept])
    return info.id


def _renamed(entry: Entry, info: SessionInfo) -> Entry:
    """An entry for another session."""
    events = tuple(
        SessionPut(msgspec.structs.replace(event.info, id=info.id, created=info.created, parent=""))
        if isinstance(event, SessionPut)
        else event
        for event in entry.events
    )
    return msgspec.structs.replace(entry, events=events)


async def rename_session(runtime: Runtime, session: str, title: str) -> None:
    """Give a session a title; raises `LeaseLost` if somebody drives it."""
    state = await runtime.load(session)
    assert state.info is not None
    lease = await runtime.journal.acquire(session)
    if lease is None:
        raise LeaseLost(f"session {session} is being driven: wait for it, or abort it")
    try:
        record = Record(state, runtime.journal, lease, runtime.seams.clock, runtime.bus.publish)
        await record.append(SessionPut(msgspec.structs.replace(state.info, title=title)))
    finally:
        await runtime.journal.release(lease)


def _begins(entries: Sequence[Entry], turn: int) -> int:
    """The entry with which a turn began; one behind the last, if it has not."""
    for entry in entries:
        for event in entry.events:
            if isinstance(event, PartPut) and isinstance(event.part, TurnStart) and event.part.number == turn:
                return entry.sequence
    return len(entries) + 1


def read_bundle(path: Path) -> bytes:
    """What a file holds; raises `ConfigError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
