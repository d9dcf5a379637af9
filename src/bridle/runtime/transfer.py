"""Exports a session with its subagents as JSON, imports it after checks, and forks and renames sessions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bridle.assembly.limits import accounts_of
from bridle.core.context import sound
from bridle.core.events import Entry, SessionInfo, SessionPut
from bridle.core.ids import is_below
from bridle.core.inbox import DescribeItem
from bridle.core.ledger import Account, AccountChange, places
from bridle.core.limits import NOTHING, UNLIMITED, counted
from bridle.core.parts import History
from bridle.core.permission import Access
from bridle.core.repair import arguments_of
from bridle.core.session import OpenTurn, Session
from bridle.core.undo import begins
from bridle.errors import ConfigError, JournalRefused, NoSuchSession
from bridle.journal.journal import folded, session_entry
from bridle.runtime.argument_checks import file_bytes, fitting, history, safe_name, session_id
from bridle.runtime.runtime import Runtime
from bridle.runtime.session_reader import own_children, parts_put
from bridle.runtime.strip_authority import bounded, check_open_turn, disarmed, moved, paid_by, with_info
from bridle.turn.record import copied
from bridle.values.secrets import redacted

VERSION = 1
OUTPUTS = "{outputs}"
"""Placeholder for the folder of long outputs, which differs between machines."""
DIRECTORY = "{directory}"
"""Placeholder for the project directory, which the import replaces with its own."""
STORED = ".txt"
MOST_BYTES = 1 << 29
"""Maximum size of an imported file."""
LAST_TIME = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


class Carried(msgspec.Struct, frozen=True, omit_defaults=True):
    """One exported session: its entries, and its long outputs, which are stored in separate files."""

    info: SessionInfo
    entries: tuple[Entry, ...]
    outputs: dict[str, str] = {}


class Bundle(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An exported session with all its subagents, the session itself first."""

    bridle: int
    sessions: tuple[Carried, ...]
    redacted: bool = False


async def export_session(runtime: Runtime, session: str, *, redact: bool = False) -> bytes:
    """Return a session and all its subagents as one JSON document; raises `NoSuchSession`."""
    found: list[Carried] = []
    waiting = [session]
    while waiting:
        id = waiting.pop(0)
        entries = moved(await runtime.journal.load(id), DIRECTORY)
        state = folded(id, entries, Session())
        assert state.info is not None
        found.append(Carried(state.info, entries, _outputs(runtime, id)))
        known = {row.info.id for row in await runtime.journal.sessions()} if _unborn(state) else set()
        waiting += [child for child in own_children(id, entries) if child in known or child not in _unborn(state)]
    raw = msgspec.json.encode(Bundle(VERSION, tuple(found), redact))
    root = str(runtime.outputs) if runtime.outputs is not None else ""
    if root:
        raw = raw.replace(msgspec.json.encode(root)[1:-1], OUTPUTS.encode())
    if redact:
        raw = msgspec.json.encode(_without_secrets(msgspec.json.decode(raw)))
    return msgspec.json.format(raw, indent=1) + b"\n"


def _outputs(runtime: Runtime, session: str) -> dict[str, str]:
    folder = runtime.outputs / session if runtime.outputs is not None else None
    if folder is None or not folder.is_dir():
        return {}
    # Read as bytes, because reading as text would normalize line endings.
    return {path.name: path.read_bytes().decode("utf-8", "replace") for path in sorted(folder.glob(f"*{STORED}"))}


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [_without_secrets(each) for each in value]
    if isinstance(value, dict):
        return {key: _without_secrets(each) for key, each in value.items()}
    return value


async def import_bundle(runtime: Runtime, raw: bytes) -> str:
    """Write an exported session to the journal and return its id.

    Raises `ConfigError`, also if a different session has the same id. Everything is checked before anything is
    written, so a refused file leaves nothing behind. The session moves to the runtime's directory and loses its
    permissions: see `disarmed`.
    """
    root = str(runtime.outputs) if runtime.outputs is not None else ""
    try:
        here = raw.replace(OUTPUTS.encode(), msgspec.json.encode(root)[1:-1]) if root else raw
        bundle = msgspec.json.decode(here, type=Bundle)
    except RecursionError as error:
        raise ConfigError("this is not an exported session: it is nested too deeply") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(f"this is not an exported session: {error}") from error
    if bundle.bridle != VERSION or not bundle.sessions:
        raise ConfigError(f"this was exported by another version (format {bundle.bridle}), or is empty")
    for carried in bundle.sessions:
        _check(carried)
    if _tree(bundle) != [carried.info.id for carried in bundle.sessions]:
        raise ConfigError(f"this file does not have session {bundle.sessions[0].info.id} with all its subagents")
    directory = await _directory(runtime, bundle.sessions[0].info.id)
    found = [
        msgspec.structs.replace(
            each, entries=paid_by(disarmed(each.entries, directory, runtime.place), runtime.turns.account)
        )
        for each in bundle.sessions
    ]
    states = {carried.info.id: folded(carried.info.id, carried.entries, Session()) for carried in found}
    for id, state in states.items():
        if state.running is not None:
            check_open_turn(id, state.running, set(states), runtime.settings.behavior.ceiling)
            _check_children(runtime, id, state, state.running)
    found = [_within_bounds(runtime, carried, states[carried.info.id]) for carried in found]
    missing = [(carried, await _missing(runtime, carried)) for carried in found]
    states = {carried.info.id: folded(carried.info.id, carried.entries, Session()) for carried in found}
    for carried, entries in reversed(missing):
        opens = tuple(_accounts(runtime, states, carried.info.id))
        change = AccountChange(opens[0].id, opens=opens) if opens else None
        await copied(runtime.journal, _begun(carried), entries, change)
        _store(runtime, carried)
    return bundle.sessions[0].info.id


def _check(carried: Carried) -> None:
    """Raise `ConfigError` for content that no export writes."""
    id = carried.info.id
    session_id(id)
    begun = _begun(carried)
    numbers = [entry.sequence for entry in carried.entries]
    whole = carried.entries[0] == session_entry(begun)
    if begun.id != id or not whole or numbers != list(range(1, len(numbers) + 1)):
        raise ConfigError(f"session {id} has missing or misplaced entries")
    if not all(0 <= entry.at < LAST_TIME for entry in carried.entries):
        raise ConfigError(f"session {id} has an entry with an invalid time")
    try:
        said = folded(id, carried.entries, Session()).info
    except JournalRefused as error:
        raise ConfigError(str(error)) from error
    if said != carried.info:
        raise ConfigError(f"session {id} does not match its entries")
    _check_history(carried)
    for name in carried.outputs:
        if not safe_name(name) or not name.endswith(STORED):
            raise ConfigError(f"{name!r} is not the name of an output file")


def _check_history(carried: Carried) -> None:
    """Raise `ConfigError` for an earlier conversation with which no session begins."""
    for place, part in enumerate(parts_put(carried.entries)):
        if isinstance(part, History) and (place > 0 or part != history(part.messages)):
            raise ConfigError(f"session {carried.info.id} does not begin with a whole conversation")


def _within_bounds(runtime: Runtime, carried: Carried, state: Session) -> Carried:
    """Return the session with the limits of its open turn reduced to those of a new turn of its agent here."""
    turn = state.running
    if turn is None:
        return carried
    agent = runtime.turns.recorded_agent(turn.start.agent)
    limits = turn.limits.at_most(runtime.turns.bounds_of(agent, turn.start.delegation))
    if limits == turn.limits:
        return carried
    return msgspec.structs.replace(carried, entries=bounded(carried.entries, turn.start.number, limits))


def _check_children(runtime: Runtime, id: str, state: Session, turn: OpenTurn) -> None:
    """Raise `ConfigError` if an open turn has subagents that the rules here do not allow."""
    agent = runtime.turns.recorded_agent(turn.start.agent)
    for call in turn.children:
        wanted = Access("task", str(arguments_of(state.call(call).arguments).get("subagent_type", "")))
        if runtime.turns.verdict(wanted, agent) != "allow":
            raise ConfigError(
                f"session {id}: its open turn has started {wanted.pattern}, which your rules do not allow"
            )


def _accounts(runtime: Runtime, states: Mapping[str, Session], id: str) -> Iterator[Account]:
    """Yield the accounts of an open turn and of the turns above it; their usage counts here too."""
    state = states.get(id)
    turn = state.running if state is not None else None
    if turn is None:
        return
    # Further cost counts for the day of the import, not for the day on which the turn began.
    own, *above = accounts_of(runtime.settings, msgspec.structs.replace(turn.start, at=runtime.seams.clock.wall()))
    under = [each for each in states if is_below(each, id)]
    open_below = [found for each in under if (found := states[each].running) is not None]
    spent = NOTHING
    for each in (turn, *open_below):
        # Tokens and cost of finished subagents are already included in those of their parent.
        spent = spent.plus(each.spent(0.0).with_subagents(each.below))
    unborn = sum(child not in states for each in (turn, *open_below) for child in each.children.values())
    (working, beside), *others = (_working(each, states) for each in (turn, *open_below))
    # Concurrency slots are counted at the root; a turn that waits for its own subagents lends them its slot.
    live = working + sum(places(*each, lends=True) for each in others)
    counted = {"live": live, "total": len(under) + unborn} if turn.start.delegation is None else {}
    yield msgspec.structs.replace(own, spent=spent, children=working, beside=beside, **counted)
    yield from above
    if turn.start.delegation is not None:
        yield from _accounts(runtime, states, turn.start.delegation.parent)


def _working(turn: OpenTurn, states: Mapping[str, Session]) -> tuple[int, int]:
    """Return how many subagents of a turn have not ended, and how many of them are in the background."""
    working: list[str] = []
    for call, child in turn.children.items():
        last = states[child].turn if child in states else None
        asked = last.start.delegation if last is not None else None
        if asked is None or asked.call != call or states[child].running is not None:
            working.append(call)
    return len(working), sum(call in turn.background for call in working)


def _tree(bundle: Bundle) -> list[str]:
    """Return the ids of the sessions that an export of this bundle would contain, in order."""
    carried = {each.info.id: each for each in bundle.sessions}
    found = [bundle.sessions[0].info.id]
    for id in found:
        entries = carried[id].entries if id in carried else ()
        unborn = _unborn(folded(id, entries, Session())) if entries else ()
        found += [child for child in own_children(id, entries) if child in carried or child not in unborn]
    return found


def _unborn(state: Session) -> Collection[str]:
    """Return the subagents of an open turn, whose sessions may not exist if the process died before creating them."""
    return state.running.children.values() if state.running is not None else ()


async def _directory(runtime: Runtime, id: str) -> str:
    """Return the directory of an imported session: the one it has here already, or else the runtime's."""
    try:
        info = (await runtime.load(id)).info
    except NoSuchSession:
        info = None
    return info.directory if info is not None else str(runtime.directory)


async def _missing(runtime: Runtime, carried: Carried) -> Sequence[Entry]:
    """Return the entries that the journal lacks; raises `ConfigError` if it has others under this id."""
    id = carried.info.id
    try:
        known = tuple(await runtime.journal.load(id))
    except NoSuchSession:
        return carried.entries[1:]
    common = min(len(known), len(carried.entries))
    if _compared(id, known[:common]) != _compared(id, carried.entries[:common]):
        raise ConfigError(f"session {id} already exists here with different entries")
    rest = carried.entries[len(known) :]
    if rest and disarmed(known, "") != moved(known, ""):
        # Imported entries must not use permissions that were granted here.
        raise ConfigError(
            f"session {id} already exists here, with permissions granted here: delete it before you import it"
        )
    return rest


def _compared(id: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries without what an import changes: an earlier import may have set other limits."""
    plain = paid_by(disarmed(entries, "", ""), "")
    turn = folded(id, plain, Session()).running
    return bounded(plain, turn.start.number, UNLIMITED) if turn is not None else plain


def _begun(carried: Carried) -> SessionInfo:
    """Return the first recorded information about a session, with which it is created; raises `ConfigError`."""
    first = carried.entries[0].events[:1] if carried.entries else ()
    if not first or not isinstance(first[0], SessionPut):
        raise ConfigError(f"session {carried.info.id} lacks its first entry")
    return first[0].info


def _store(runtime: Runtime, carried: Carried) -> None:
    if runtime.outputs is None:
        return
    folder = runtime.outputs / carried.info.id
    for name, text in carried.outputs.items():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / name
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8", newline="")


async def fork_session(runtime: Runtime, session: str, turn: int | None = None) -> str:
    """Create a session with the same history up to a turn, by default the last finished one; return its id."""
    entries = await runtime.journal.load(session)
    state = await runtime.load(session)
    assert state.info is not None
    if turn is None:
        turn = state.turns if state.running is not None else state.turns + 1
    if not 1 <= turn <= state.turns + 1:
        raise ConfigError(f"session {session} has {counted(state.turns, 'turn')}: there is no turn {turn} to fork at")
    kept = [entry for entry in entries[1:] if entry.sequence < begins(entries, turn)]
    id, created = runtime.new_id(), runtime.seams.clock.wall()

    def renamed(info: SessionInfo) -> SessionInfo:
        return msgspec.structs.replace(info, id=id, created=created, parent="", pinned=False, archived=0.0)

    await copied(runtime.journal, renamed(state.info), with_info(kept, renamed))
    return id


async def rename_session(runtime: Runtime, session: str, title: str) -> None:
    """Give a session a title, also while a turn runs."""
    title = sound(fitting("title", title, str))
    await runtime.settle(session, DescribeItem(runtime.seams.new_id("dsc"), title=title))


def read_bundle(path: Path) -> bytes:
    """Return the content of a file or of standard input (`-`); raises `ConfigError`."""
    return file_bytes(path, str(path), MOST_BYTES)
