"""Read a journal through the runtime, as plain data that can be compared and stored as JSON."""

from __future__ import annotations

import lzma
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from bridle import Runtime
from bridle.core.result import result_of
from bridle.wire import entries as wire

HERE = Path(__file__).parent
FILES = (".db", ".db-wal")
"""The database, and the log that a crash has left beside some of them."""
PACKED = ".xz"
MACHINE = (b"/work", b"/home", b"/root", b"/Users")
"""Paths of the machine that wrote the journals; none of them may be stored."""
SPAN = 1 << 32
"""The key of an entry is the session's number times this, plus the sequence number."""


def unpack(name: str, folder: Path) -> Path:
    """Copy a stored journal into a folder and return the path of the database."""
    for suffix in FILES:
        stored, target = HERE / f"{name}{suffix}", folder / f"journal{suffix}"
        if stored.exists():
            shutil.copyfile(stored, target)
        elif (packed := stored.with_name(stored.name + PACKED)).exists():
            target.write_bytes(lzma.decompress(packed.read_bytes()))
    return folder / "journal.db"


def builtins(value: Any) -> Any:
    """Return a value of Bridle as the JSON that is recorded."""
    return msgspec.json.decode(msgspec.json.encode(value))


def amounts(value: Any) -> Any:
    """Return what is counted in a value, without what is zero."""
    if isinstance(value, dict):
        return {key: inner for key, each in value.items() if (inner := amounts(each))}
    return value


def tag(part: Any) -> str:
    """Return the kind of a part, and its state where it has one."""
    for name in ("state", "outcome", "reason", "about", "purpose", "limit"):
        value = getattr(part, name, None)
        if value is not None:
            word = value if isinstance(value, str) else builtins(value)["type"]
            return f"{builtins(part)['kind']} {word}"
    return str(builtins(part)["kind"])


async def read_session(runtime: Runtime, id: str) -> dict[str, Any]:
    """Return everything of a session that a later version must load in the same way."""
    state = await runtime.load(id)
    assert state.info is not None
    parts = list(state.parts.values())
    finishes = [part for part in parts if builtins(part)["kind"] == "turn_finish"]
    results = {prompt: result_of(state, prompt) for prompt in state.prompts}
    return {
        "status": str((await runtime.status(id)).state),
        "title": state.info.title,
        "directory": state.info.directory,
        "parent": state.info.parent,
        "sequence": state.sequence,
        "inbox": [builtins(item)["type"] for item in await runtime.journal.inbox(id)],
        "turns": {
            str(part.number): {"reason": part.reason, "spent": amounts(builtins(part.spent))} for part in finishes
        },
        "answers": {
            prompt: {"reason": result.reason, "text": result.text, "output": result.output}
            for prompt, result in results.items()
        },
        "parts": [tag(part) for part in parts],
    }


async def read_account(runtime: Runtime, id: str) -> dict[str, Any] | None:
    """Return the sums of one account; None if it does not exist."""
    account = await runtime.journal.account(id)
    if account is None:
        return None
    names = ("parent", "scope", "spent", "reserved", "held", "keeps", "children", "live", "total")
    return amounts({name: builtins(getattr(account, name)) for name in names})


async def read_journal(runtime: Runtime, accounts: Iterable[str]) -> dict[str, Any]:
    """Return all sessions of a journal and these accounts."""
    ids = sorted(row.info.id for row in await runtime.sessions())
    return {
        "sessions": {id: await read_session(runtime, id) for id in ids},
        "accounts": {id: await read_account(runtime, id) for id in sorted(accounts)},
    }


class Raw(msgspec.Struct):
    """The rows of a database as they are stored, without any type of Bridle."""

    infos: dict[str, Any] = {}
    entries: dict[str, list[Any]] = {}
    items: dict[str, list[Any]] = {}
    accounts: dict[str, Any] = {}


def read_raw(path: Path) -> Raw:
    """Read the rows of a database with SQLite alone."""
    raw, decode = Raw(), msgspec.json.decode
    with closing(sqlite3.connect(path)) as connection:
        query = connection.execute
        for number, id, info in query("SELECT number, id, info FROM session WHERE length(info)").fetchall():
            span = (number * SPAN, (number + 1) * SPAN)
            rows = query("SELECT events FROM entry WHERE key >= ? AND key < ? ORDER BY key", span)
            raw.infos[id] = decode(info)
            raw.entries[id] = [decode(events) for (events,) in rows]
            waiting = query("SELECT item FROM inbox WHERE session = ? AND item IS NOT NULL ORDER BY number", (number,))
            raw.items[id] = [decode(item) for (item,) in waiting]
        raw.accounts = {id: decode(body) for id, body in query("SELECT id, account FROM account")}
    return raw


async def read_again(runtime: Runtime) -> Raw:
    """Load the same rows through the runtime and encode them again; accounts are left out."""
    raw = Raw()
    for row in await runtime.sessions():
        id = row.info.id
        raw.infos[id] = builtins(row.info)
        loaded = await runtime.journal.load(id)
        raw.entries[id] = [msgspec.json.decode(wire.encode_events(entry)) for entry in loaded]
        raw.items[id] = [builtins(item) for item in await runtime.journal.inbox(id)]
    return raw


def lost(before: Any, after: Any, where: str = "") -> list[str]:
    """Name every value that was recorded and is missing or different now; an empty value may be left out."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for key, value in before.items():
            if key in after:
                found += lost(value, after[key], f"{where}.{key}")
            elif value not in (None, "", 0, False, [], {}):
                found.append(f"{where}.{key} is gone")
        return found
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return [each for place, pair in enumerate(pairs) for each in lost(*pair, f"{where}[{place}]")]
    return [] if before == after else [f"{where}: {before!r} became {after!r}"]
