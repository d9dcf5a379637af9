"""Files that somebody gave us as exported sessions."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from support.cut_process import WiredJournal
from support.virtual import run_virtually

from bridle import Runtime, RuntimeConfig
from bridle.core.events import SessionInfo, SessionPut
from bridle.errors import ConfigError
from bridle.runtime.strip_authority import disarmed
from bridle.runtime.transfer import DIRECTORY, Bundle, Carried, export_session, import_bundle
from fuzz.recorded import SESSION, recorded
from fuzz.target import Target

PLACE = "/dev/shm" if Path("/dev/shm").is_dir() else None


def check(data: bytes) -> None:
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        run_virtually(lambda seams: taken_in(seams, Path(folder), data))


async def taken_in(seams: Any, folder: Path, data: bytes) -> None:
    outputs = folder / "outputs"
    async with Runtime(
        RuntimeConfig(journal=WiredJournal(), outputs=outputs, seams=seams, directory=folder)
    ) as runtime:
        try:
            first = await import_bundle(runtime, data)
        except ConfigError as error:
            assert str(error)
            assert await runtime.sessions() == [], "refused, and there is a session of it"
            assert not outputs.exists(), "refused, and there are files of it"
            return
        given = msgspec.json.decode(data, type=Bundle)
        assert given.sessions[0].info.id == first
        for carried in given.sessions:
            state = await runtime.load(carried.info.id)
            assert state.info == settled(carried.info, str(folder), runtime.place)
            assert state.always == set() and (state.running is None or state.running.start.on_ask != "allow")
        for row in await runtime.sessions():
            assert datetime.fromtimestamp(row.updated, UTC), "it cannot be listed"
        written = {path.relative_to(folder).parts for path in folder.rglob("*") if path.is_file()}
        assert {(place[0], len(place)) for place in written} <= {("outputs", 3)}, "a file elsewhere"
        again = msgspec.json.decode(await export_session(runtime, first), type=Bundle)
        same = msgspec.structs.replace(
            given, redacted=False, sessions=tuple(taken(each, runtime.place) for each in given.sessions)
        )
        assert again == same, "another session is exported than was imported"


def taken(carried: Carried, place: str) -> Carried:
    """What is left of a session on another machine: no directory, and no authority."""
    info = settled(carried.info, DIRECTORY, place)
    return msgspec.structs.replace(carried, info=info, entries=disarmed(carried.entries, DIRECTORY, place))


def settled(info: SessionInfo, directory: str, place: str) -> SessionInfo:
    """The same session in this directory of another machine, or of none if any may drive it."""
    there = "" if info.app and not info.place else place
    return msgspec.structs.replace(info, directory=directory, place=there)


def bundle(number: int, end: int | None = None) -> bytes:
    entries = recorded()[number][:end]
    (first,) = entries[0].events
    assert isinstance(first, SessionPut) and isinstance(first.info, SessionInfo)
    infos = [event.info for entry in entries for event in entry.events if isinstance(event, SessionPut)]
    carried = Carried(infos[-1], entries, {"1.1.txt": "long output at {outputs}/x"})
    return msgspec.json.format(msgspec.json.encode(Bundle(1, (carried,))), indent=1) + b"\n"


WORDS = (
    *("{outputs}", "../x", ".hidden", "a/b", "x.txt", SESSION, f"{SESSION}.1", "put", "session", "bridle", "info"),
    *("outputs", "entries", "sequence", "redacted", "open", "tries", "parent", "id"),
)
TARGETS = (
    Target(
        "bundles",
        "A file is imported and exported again as the same, or refused in words, and then nothing of it is written.",
        check,
        (bundle(0), bundle(1), bundle(2), bundle(0, 1), bundle(0, 5)),
        tuple(word.encode() for word in WORDS),
        60,
        structured=True,
    ),
)
