"""A session in a journal whose entries were changed by whoever changes files: one line of events for each entry."""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from support.virtual import run_virtually

from bridle import ScriptedModel
from bridle.core.fold import load
from bridle.core.status import status_of
from bridle.errors import BridleError, JournalRefused
from bridle.journal.sqlite import SESSION_SPAN, SqliteJournal
from bridle.wire import entries as wire
from fuzz.recorded import SESSION, recorded, runtime_of
from fuzz.target import Target

PLACE = "/dev/shm" if Path("/dev/shm").is_dir() else None


def check(data: bytes) -> None:
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        run_virtually(lambda seams: opened(seams, Path(folder) / "journal.db", data))


async def opened(seams: Any, path: Path, data: bytes) -> None:
    journal = SqliteJournal(path, seams=seams)
    async with runtime_of(seams, journal, ScriptedModel([], then="Done.")) as runtime:
        await runtime.create(SESSION)
        changed(path, data)
        try:
            session = await runtime.load(SESSION)
        except JournalRefused as error:
            assert SESSION in str(error)
            try:
                await runtime.wait(SESSION, await runtime.prompt(SESSION, "go on"))
            except BridleError as refused:
                assert str(refused)
            return
        entries = await journal.load(SESSION)
        assert all(wire.decode_events(wire.encode_events(entry)) == entry.events for entry in entries)
        for end in range(1, len(entries)):
            load(entries[:end])
        assert status_of(session, held=False).state


def changed(path: Path, data: bytes) -> None:
    """Write the lines in the place of the entries, behind the back of the journal."""
    rows = [(SESSION_SPAN + number, 1.0, 1.0, line) for number, line in enumerate(data.split(b"\n"), 1)]
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM entry")
        database.executemany("INSERT INTO entry (key, at, elapsed, events) VALUES (?, ?, ?, ?)", rows)
        database.commit()


def lines(entries: Any) -> bytes:
    return b"\n".join(wire.encode_events(entry) for entry in entries)


WORDS = (
    *("put", "grown", "call", "request", "removed", "session", "state", "part", "id", "text", "turn", "running"),
    *("done", "failed", "refused", "open", "replied", "tries", "usage", "1.1", "undone", "redone", "waiting", "1"),
    *("compaction", "prune", "smaller", "extension", "steps", "turn_start", "step_start", "step_finish", "prompt"),
)
TARGETS = (
    Target(
        "journals",
        "Changed entries are a session, as is every beginning of them, or are refused in a sentence that names it, "
        "also to whoever goes on with it.",
        check,
        tuple(lines(entries) for entries in recorded()) + tuple(lines(entries[:9]) for entries in recorded()),
        tuple(word.encode() for word in WORDS),
        40,
        structured=True,
    ),
)
