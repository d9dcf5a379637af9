"""Write the recorded journals: `python tests/data/journals/make.py OUT [NAME…]`, run by hand and never by a test.

Each scenario is played in virtual time with `ScriptedModel`, in a child process with its own SQLite file. For a crash,
the child is killed at the point that is named here. Beside each database stands a JSON file with what this version of
Bridle loads from it. At the end the program lists what the recorded types can hold and no journal holds.

The stored journals are those of an older version and must not be written again: add new scenarios under new names.
"""

from __future__ import annotations

import asyncio
import lzma
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from data.journals.gaps import missing_in
from data.journals.reading import FILES, MACHINE, PACKED, builtins, read_journal, read_raw
from data.journals.scenarios import (
    FIRST,
    FOLDER,
    PIXEL,
    SCENARIOS,
    SCHEMA,
    SECOND,
    SESSION,
    Scenario,
    open_runtime,
    options,
    tools,
)
from support.virtual import VirtualLoop, virtual_seams

from bridle import Agent, Limits, Runtime, ScriptedModel
from bridle.assembly.user_setup import UserSetup
from bridle.core.inbox import (
    AbortItem,
    AnswerItem,
    CompactItem,
    ExtendItem,
    PromptItem,
    TurnOptions,
)
from bridle.core.parts import Changed, File
from bridle.errors import SnapshotFailed
from bridle.runtime.retention import delete_session
from bridle.runtime.transfer import export_session, fork_session, import_bundle, rename_session
from bridle.runtime.undo import redo, undo
from bridle.seams import Seams
from bridle.snapshots.snapshots import Snapshots
from bridle.tools.tool import Tool

LARGEST = 60_000
"""Larger files are stored compressed."""
STARTED = 1_700_000_000.0
"""The wall time at which the first process of each scenario starts: on the day at which the tests go on."""

LIMITS = {"tool_calls": 5, "tokens": 90_000, "seconds": 60.0, "steps": 4}

People = Callable[[Runtime, Scenario], Awaitable[Any]]


@dataclass(frozen=True)
class Cut:
    """A point at which the process is killed: the nth time that a fact of this kind has these values.

    Facts are `entry` (an event was written), `item` (an inbox item was submitted), `call` (a tool runs) and `request`
    (a model is asked).
    """

    fact: str
    values: dict[str, Any]
    nth: int = 1

    def meets(self, fact: str, values: Any) -> bool:
        return fact == self.fact and _within(self.values, values)


def _within(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and _within(wanted[key], found[key]) for key in wanted)
    return bool(wanted == found)


def put(kind: str, nth: int = 1, session: str = SESSION, **fields: Any) -> Cut:
    return Cut("entry", {"session": session, "event": "put", "part": {"kind": kind, **fields}}, nth)


def moved(state: str, nth: int = 1, **fields: Any) -> Cut:
    return Cut("entry", {"event": "call", "state": {"type": state, **fields}}, nth)


def asked(nth: int = 1, **fields: Any) -> Cut:
    return Cut("request", fields, nth)


def running(key: str) -> Cut:
    return Cut("call", {"key": key})


def submitted(kind: str) -> Cut:
    return Cut("item", {"type": kind})


class Killer:
    """Counts facts and kills this process at its cut."""

    def __init__(self, cut: Cut | None) -> None:
        self._cut = cut
        self._met = 0

    def saw(self, fact: str, values: Any) -> None:
        if self._cut is not None and self._cut.meets(fact, values):
            self._met += 1
            if self._met == self._cut.nth:
                die()

    def watch(self, runtime: Runtime, models: dict[str, Any]) -> None:
        """Have every fact of a runtime reported here."""
        runtime.bus.listen(
            lambda session, entry: [self.saw("entry", {"session": session, **builtins(each)}) for each in entry.events]
        )
        submit = runtime.journal.submit

        async def noted(session: str, item: Any, *, wake: Any = None) -> bool:
            fresh = await submit(session, item, wake=wake)
            self.saw("item", builtins(item))
            return fresh

        runtime.journal.submit = noted
        for model in models.values():
            model.stream = self._streaming(model.stream)

    def _streaming(self, stream: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def streaming(request: Any) -> Any:
            self.saw("request", {name: getattr(request, name) for name in ("session", "id", "purpose", "model")})
            async for event in stream(request):
                yield event

        return streaming


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def plain(runtime: Runtime, scenario: Scenario) -> None:
    """One prompt, to its end or to its pause."""
    await prompt(runtime, scenario)
    await runtime.wait(SESSION, FIRST)


async def prompt(runtime: Runtime, scenario: Scenario, text: str = "go", **more: Any) -> None:
    await runtime.create(SESSION)
    await runtime.prompt(SESSION, text, **{"id": FIRST, "options": options(scenario), **more})


def answering(choice: str, feedback: str = "") -> People:
    async def people(runtime: Runtime, scenario: Scenario) -> None:
        await prompt(runtime, scenario)
        result = await runtime.wait(SESSION, FIRST)
        while result.reason == "paused":
            for ask in result.asks:
                await runtime.answer(SESSION, ask.id, choice, feedback)
            result = await runtime.wait(SESSION, FIRST)

    return people


def aborting(seconds: float) -> People:
    async def people(runtime: Runtime, scenario: Scenario) -> None:
        await prompt(runtime, scenario)
        await asyncio.sleep(seconds)
        await runtime.abort(SESSION, detail="by hand")
        await runtime.wait(SESSION, FIRST)

    return people


def then_prompt(seconds: float, **more: Any) -> People:
    """A second prompt, some time after the first."""

    async def people(runtime: Runtime, scenario: Scenario) -> None:
        await prompt(runtime, scenario)
        await asyncio.sleep(seconds)
        await runtime.prompt(SESSION, "and this", id=SECOND, **more)
        await runtime.wait(SESSION, FIRST)
        await runtime.wait(SESSION, SECOND)

    return people


def turns(*texts: str, **more: Any) -> People:
    """Several prompts, each after the end of the one before."""

    async def people(runtime: Runtime, scenario: Scenario) -> None:
        await plain(runtime, scenario)
        for number, text in enumerate(texts, 2):
            id = await runtime.prompt(SESSION, text, id=f"prm_{number}", **more)
            await runtime.wait(SESSION, id)

    return people


def extending(*extensions: tuple[str, float], seconds: float = 0.5) -> People:
    async def people(runtime: Runtime, scenario: Scenario) -> None:
        await prompt(runtime, scenario)
        await asyncio.sleep(seconds)
        for limit, by in extensions:
            await runtime.extend(SESSION, limit, by)
        await runtime.wait(SESSION, FIRST)

    return people


def leaving(*items: Any) -> People:
    """Another process submits items and drives nothing."""

    async def people(runtime: Runtime, scenario: Scenario) -> None:
        for item in items:
            await runtime.journal.submit(SESSION, item)

    return people


async def resuming(runtime: Runtime, scenario: Scenario) -> None:
    """A later process goes on with the turn."""
    await runtime.resume(SESSION)
    await runtime.wait(SESSION, FIRST)


async def steering(runtime: Runtime, scenario: Scenario) -> None:
    await prompt(runtime, scenario)
    await asyncio.sleep(1)
    await runtime.prompt(SESSION, "only so that you know", id="prm_note", reply=False)
    await runtime.prompt(SESSION, "and this", id=SECOND)
    await runtime.wait(SESSION, FIRST)
    await runtime.wait(SESSION, SECOND)


async def compacting(runtime: Runtime, scenario: Scenario) -> None:
    await plain(runtime, scenario)
    await runtime.compact(SESSION)
    await runtime.parked(SESSION)
    await runtime.compact(SESSION)
    await runtime.parked(SESSION)
    await runtime.wait(SESSION, await runtime.prompt(SESSION, "and now?", id=SECOND))


async def undoing(runtime: Runtime, scenario: Scenario) -> None:
    await turns("again")(runtime, scenario)
    await undo(runtime, SESSION)
    await undo(runtime, SESSION, to="1")


async def prompting_again(runtime: Runtime, scenario: Scenario) -> None:
    await runtime.wait(SESSION, await runtime.prompt(SESSION, "and now?", id=SECOND))


async def redoing(runtime: Runtime, scenario: Scenario) -> None:
    await undoing(runtime, scenario)
    await redo(runtime, SESSION)


async def forking(runtime: Runtime, scenario: Scenario) -> None:
    await turns("again")(runtime, scenario)
    fork = await fork_session(runtime, SESSION, 2)
    await runtime.wait(fork, await runtime.prompt(fork, "another way", id="prm_fork"))


async def renaming(runtime: Runtime, scenario: Scenario) -> None:
    await turns("again")(runtime, scenario)
    await rename_session(runtime, SESSION, "Renamed by hand")


async def denying(runtime: Runtime, scenario: Scenario) -> None:
    await prompt(runtime, scenario)
    result = await runtime.wait(SESSION, FIRST)
    await runtime.answer(SESSION, result.asks[0].id, "reject")
    await runtime.wait(SESSION, FIRST)


async def long_prompt(runtime: Runtime, scenario: Scenario) -> None:
    await prompt(runtime, scenario, "a long prompt " * 800)
    await runtime.wait(SESSION, FIRST)


async def delegating(runtime: Runtime, scenario: Scenario) -> None:
    await prompt(runtime, scenario, options=TurnOptions("plan", on_ask="pause"))
    result = await runtime.wait(SESSION, FIRST)
    while result.reason == "paused":
        for ask in result.asks:
            await runtime.answer(SESSION, ask.id, "always")
        result = await runtime.wait(SESSION, FIRST)


async def in_background(runtime: Runtime, scenario: Scenario) -> None:
    """Play as if a command of the session went on in the background."""
    runtime.commands.backgrounds._running[SESSION] = {"bg_1": SimpleNamespace(status=None)}
    await plain(runtime, scenario)
    runtime.commands.backgrounds._running.clear()


async def from_library(runtime: Runtime, scenario: Scenario) -> None:
    await runtime.create(SESSION)
    more = {"journal": runtime.journal, "seams": runtime.seams, "directory": runtime.directory}
    model = ScriptedModel(scenario.script, ref="m")
    library = Agent("agent", model=model, tools=tools([])[:2], limits=Limits(steps=3, tool_calls=9), **more)
    await library.run("go", session=SESSION)


async def with_files(runtime: Runtime, scenario: Scenario) -> None:
    (runtime.directory / "notes.txt").write_text("one\ntwo\n")
    files = (File("notes.txt", "one\ntwo\n"), File("pixel.png", media="image/png", data=PIXEL))
    await prompt(runtime, scenario, files=files)
    await runtime.wait(SESSION, FIRST)


class GoneServer:
    """A source of tools whose server has gone."""

    async def prepare(self) -> None:
        pass

    def tools(self, taken: Mapping[str, Tool]) -> Mapping[str, Tool]:
        return {}

    def instructions(self) -> str:
        return ""

    def news(self, taken: Mapping[str, Tool]) -> Sequence[str]:
        return ["the server notes has gone"]


async def switching(runtime: Runtime, scenario: Scenario) -> None:
    object.__setattr__(runtime.turns, "toolset", replace(runtime.turns.toolset, source=GoneServer()))
    await plain(runtime, scenario)
    more = TurnOptions("plan", "m", "deny", "Be brief.", {"act": False, "gather": True}, LIMITS, variant="quick")
    await runtime.wait(SESSION, await runtime.prompt(SESSION, "plan it", id=SECOND, options=more))


async def deleting(runtime: Runtime, scenario: Scenario) -> None:
    await runtime.create("ses_gone")
    await runtime.wait("ses_gone", await runtime.prompt("ses_gone", "go", id="prm_gone"))
    await plain(runtime, scenario)
    await delete_session(runtime, "ses_gone")


async def creating(runtime: Runtime, scenario: Scenario) -> None:
    await runtime.create(SESSION)


async def submitting(runtime: Runtime, scenario: Scenario) -> None:
    await runtime.create(SESSION)
    await runtime.journal.submit(SESSION, PromptItem(FIRST, "go", options=options(scenario)))
    die()


async def subtasking(runtime: Runtime, scenario: Scenario) -> None:
    await prompt(runtime, scenario, subtask="child", wants=("child",))
    await runtime.wait(SESSION, FIRST)


async def noting(runtime: Runtime, scenario: Scenario) -> None:
    """A prompt without reply while the model is asked: the reply is recorded with it, before anything follows."""
    await prompt(runtime, scenario)
    await asyncio.sleep(0.5)
    await runtime.prompt(SESSION, "only so that you know", id="prm_note", reply=False)
    await runtime.wait(SESSION, FIRST)


def queueing() -> list[PromptItem]:
    """Prompts that wait, with everything that a prompt may ask of its turn."""
    every = TurnOptions(
        "build", "m", "pause", "Be brief.", {"gather": False}, {**LIMITS, "cost": 2.0}, None, "quick", SCHEMA
    )
    return [
        PromptItem("prm_deny", "first", options=TurnOptions(on_ask="deny")),
        PromptItem("prm_person", "second", queue=True, options=TurnOptions(on_ask="person")),
        PromptItem("prm_subtask", "third", queue=True, options=TurnOptions(on_ask="allow"), subtask="child"),
        PromptItem("prm_pause", "fourth", queue=True, options=every),
    ]


class ScriptedFiles:
    """Stands for the snapshots of a project; every comparison tells of another change, and the third fails."""

    def __init__(self) -> None:
        self._number = 0

    async def take(self, directory: Any, session: str) -> str:
        return f"tree{self._number}"

    async def compare(self, directory: Any, session: str, patch: Any) -> Any:
        self._number += 1
        if self._number == 3:
            raise SnapshotFailed("the disk is full")
        files = (Changed("a.txt", "changed", 2, 1), Changed("b.txt", "added", 3), Changed("c.txt", "deleted", 0, 4))
        more = {"more": 2, "unkept": ("large.bin",), "left": ("d.txt", "e.txt"), "moved": {"e.txt": "f.txt"}}
        return msgspec.structs.replace(
            patch, after=f"tree{self._number}", files=files, closed=STARTED + self._number, **more
        )

    async def close(self) -> None:
        return


class NoFiles(ScriptedFiles):
    """Stands for snapshots that cannot be taken."""

    async def take(self, directory: Any, session: str) -> str:
        raise SnapshotFailed("the disk is full")


class News:
    """Stands for instructions at web addresses that could not be fetched."""

    async def prepare(self) -> None:
        return

    def news(self) -> list[str]:
        return ["https://example.org/instructions.md could not be fetched"]


def scripted_files() -> UserSetup:
    return UserSetup(files=ScriptedFiles())


def real_files() -> UserSetup:
    return UserSetup(files=Snapshots(FOLDER / "snapshots", {"PATH": os.environ["PATH"], "HOME": str(FOLDER)}))


@dataclass(frozen=True)
class Writing:
    """How a journal is written: the people and the cut of each process, in order."""

    lives: tuple[tuple[People, Cut | None], ...] = ((plain, None),)
    virtual: bool = True
    log: bool = False
    """Keep the log of the database beside it, as the crash left it."""
    user: Callable[[], UserSetup] | None = None
    outputs: bool = False
    bundle_of: str = ""
    """How the session is written that is then exported, and imported here in place of the people."""
    sealed: bool = False


def by(people: People, **more: Any) -> Writing:
    return Writing(((people, None),), **more)


def cut(*cuts: Cut, people: People = plain, **more: Any) -> Writing:
    first, *rest = cuts
    return Writing(((people, first), *((resuming, each) for each in rest)), **more)


def left(people: People, first: Cut | None, *items: Any) -> Writing:
    return Writing(((people, first), (leaving(*items), None)))


ASK = "1.1.1.0.0.python"
WRITINGS: dict[str, Writing] = {
    "denied": by(denying),
    "aborted": by(aborting(3)),
    "aborted_pause": by(aborting(3)),
    "library": by(from_library),
    "compaction_long_prompt": by(long_prompt),
    "mandate": by(delegating),
    "subagent_denied": by(denying),
    "aborted_call": by(aborting(2)),
    "sealed": Writing(sealed=True),
    "compaction_by_hand": by(compacting),
    "extended": by(extending(("steps", 2), ("cost", 1.0), ("tool_calls", 5))),
    "extended_all": by(extending(("tool_calls", 5), ("tokens", 9_000), ("cost", 1.0), ("seconds", 30.0))),
    "extended_time": by(extending(("seconds", 100.0), seconds=50)),
    "steered": by(steering),
    "queued_turns": by(then_prompt(0, queue=True)),
    "undone": by(undoing, virtual=False, user=real_files),
    "redone": by(redoing, virtual=False, user=real_files),
    "undo_interrupted": cut(put("undone"), people=undoing),
    "undo_noticed": Writing(((undoing, put("undone")), (prompting_again, None))),
    "forked": by(forking),
    "imported": Writing(bundle_of="imported"),
    "renamed": by(renaming),
    "files": by(with_files, virtual=False),
    "stored_output": Writing(outputs=True),
    "patches": by(in_background, user=scripted_files),
    "unkept": Writing(user=lambda: UserSetup(files=NoFiles())),
    "hooks": Writing(virtual=False),
    "question": by(answering("once", "blue")),
    "approved_always": by(answering("always")),
    "approval_unsaved": by(answering("always"), user=lambda: UserSetup(approvals=Path("/dev/null/approvals.json"))),
    "rejected_with_words": by(answering("reject", "look elsewhere")),
    "switched": by(switching, user=lambda: UserSetup(remote=News())),
    "subtask": by(subtasking),
    "deleted": by(deleting),
    "created": by(creating),
    "crash_before_turn": by(submitting),
    "crash_turn_opened": cut(put("turn_start"), log=True),
    "crash_request": cut(asked(id="1.1.1"), log=True),
    "crash_text": cut(Cut("entry", {"event": "grown"}, 6), log=True),
    "crash_second_attempt": cut(asked(id="1.2.1"), asked(id="1.2.2")),
    "crash_three_attempts": cut(asked(id="1.1.1"), asked(id="1.1.2"), asked(id="1.1.3")),
    "crash_retry": cut(Cut("entry", {"event": "request", "state": {"type": "open"}})),
    "crash_pending": cut(put("prompt", 2), people=noting),
    "crash_running": cut(moved("done"), log=True),
    "crash_repeat": cut(running("a"), moved("repeat")),
    "crash_unknown": cut(running("a"), moved("refused")),
    "crash_approved": cut(moved("approved"), people=answering("once")),
    "crash_closing": cut(asked(id="1.2.1")),
    "crash_halt": cut(put("halt"), people=aborting(2)),
    "crash_unfinished": cut(put("prompt", 2), people=noting),
    "crash_refused": cut(put("refused")),
    "crash_extension": cut(put("extension"), people=extending(("steps", 2))),
    "crash_steered": cut(put("prompt", 2), people=then_prompt(1)),
    "crash_compaction": cut(asked(purpose="compaction")),
    "crash_compacted": cut(put("compaction")),
    "crash_synthesis": cut(asked(purpose="synthesis")),
    "crash_title": cut(asked(purpose="title")),
    "crash_patch": cut(running("b"), user=scripted_files),
    "crash_output": cut(running("a")),
    "crash_allowances": cut(asked(id="1.2.1")),
    "crash_todos": cut(running("a")),
    "crash_children": cut(running("d"), log=True),
    "crash_queued": cut(asked(model="c")),
    "crash_background": cut(asked(id="1.3.1", session=SESSION)),
    "crash_child_finished": cut(Cut("entry", {"event": "put", "part": {"kind": "turn_finish"}})),
    "crash_child_prompted": cut(Cut("item", {"type": "prompt", "options": {"agent": "child"}})),
    "crash_child_unborn": cut(moved("waiting")),
    "crash_recalled": cut(moved("waiting", 2, recalled=True), people=aborting(2)),
    "imported_open": Writing(bundle_of="crash_children"),
    "paused_by_hook": Writing(virtual=False),
    "inbox_answer": left(
        plain, None, AnswerItem("ans_one", ASK, "always"), AnswerItem("ans_two", ASK.replace("0.0", "0.1"), "once")
    ),
    "inbox_reject": left(plain, None, AnswerItem("ans_one", ASK, "reject", "look elsewhere")),
    "inbox_abort": left(plain, asked(id="1.1.1"), AbortItem("abt_one", 1, "from elsewhere")),
    "inbox_extend": left(
        plain, running("slow a"), *(ExtendItem(f"ext_{limit}", limit, 2) for limit in (*LIMITS, "cost"))
    ),
    "inbox_compact": left(plain, asked(id="1.2.1"), CompactItem("cmp_one")),
    "inbox_prompts": left(
        plain,
        running("slow a"),
        PromptItem("prm_note", "only so that you know", reply=False),
        PromptItem(SECOND, "and this", (File("notes.txt", "one\n"),), wants=("child",)),
        PromptItem("prm_three", "later", queue=True, options=TurnOptions(system="Be brief.", variant="")),
    ),
    "inbox_child_asks": cut(submitted("child_asks")),
    "inbox_child_ended": cut(submitted("child_ended"), log=True),
    "inbox_options": left(creating, None, *queueing()),
    "held_prompt": by(then_prompt(0, queue=True)),
}


class WallClock:
    """The machine's clock, moved to the time of the scenarios."""

    def __init__(self, start: float) -> None:
        self._system = Seams().clock
        self._moved = start - self._system.wall()

    def wall(self) -> float:
        return self._system.wall() + self._moved

    def monotonic(self) -> float:
        return self._system.monotonic()


async def _live(name: str, journal: Path, seams: Seams, number: int, bundle: bytes) -> None:
    scenario, writing = SCENARIOS[name], WRITINGS.get(name, Writing())
    people, at = writing.lives[number]
    killer, ran = Killer(at), []
    more: dict[str, Any] = {"seams": seams, "tools": tools(ran, lambda key: killer.saw("call", {"key": key}))}
    if writing.user is not None:
        more["user"] = writing.user()
    if writing.outputs:
        more["outputs"] = FOLDER / name / "outputs"
    runtime = open_runtime(scenario, name, journal, ran=ran, hooks=True, **more)
    models = {ref: runtime.models.find(ref)[0] for ref in ("m", "c")}
    if writing.sealed:
        models["m"].stream = _sealing(models["m"].stream)
    killer.watch(runtime, models)
    await (import_bundle(runtime, bundle) if bundle else people(runtime, scenario))
    if at is not None:
        raise SystemExit(f"{name}: process {number + 1} was not killed")
    await runtime.close()


def _sealing(stream: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Seal what a provider may seal."""

    async def streaming(request: Any) -> Any:
        async for event in stream(request):
            yield msgspec.structs.replace(event, seal="sealed") if hasattr(event, "seal") else event

    return streaming


def live(name: str, journal: Path, number: int, bundle: bytes = b"") -> None:
    """Play one process of a scenario in a child of this one."""
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if status and not killed:
            raise SystemExit(f"{name}: process {number + 1} failed")
        return
    start = STARTED + 1_000 * number
    try:
        if WRITINGS.get(name, Writing()).virtual:
            loop = VirtualLoop()
            asyncio.set_event_loop(loop)
            loop.run_until_complete(_live(name, journal, virtual_seams(loop, 100 + number, start), number, bundle))
        else:
            seams = Seams(WallClock(start), virtual_seams(VirtualLoop(), 100 + number).random)
            asyncio.run(_live(name, journal, seams, number, bundle))
        os._exit(0)
    except BaseException as error:
        traceback.print_exception(error)
        os._exit(1)


async def _exported(name: str, journal: Path) -> bytes:
    async with open_runtime(SCENARIOS[name], name, journal, ran=[]) as runtime:
        return await export_session(runtime, SESSION)


def bundle_for(name: str, writing: Writing, folder: Path) -> bytes:
    """Write a session into another journal and export it."""
    origin = folder / "origin.db"
    source = WRITINGS[writing.bundle_of] if writing.bundle_of != name else Writing()
    kept = WRITINGS[name]
    WRITINGS[name] = source
    try:
        for number in range(len(source.lives)):
            live(name, origin, number)
    finally:
        WRITINGS[name] = kept
    return asyncio.run(_exported(name, origin))


def shrink(journal: Path) -> None:
    """Move the log into the database and give free pages back."""
    with closing(sqlite3.connect(journal, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def store(name: str, folder: Path, out: Path) -> None:
    """Store the files of a journal, compressed where they are large."""
    for suffix in FILES:
        source = folder / f"journal{suffix}"
        for target in (out / f"{name}{suffix}", out / f"{name}{suffix}{PACKED}"):
            target.unlink(missing_ok=True)
        if not source.exists() or not source.stat().st_size:
            continue
        raw = source.read_bytes()
        for place in MACHINE:
            if place in raw:
                raise SystemExit(f"{name}{suffix} holds a path of this machine: {place.decode()}")
        if len(raw) <= LARGEST:
            (out / f"{name}{suffix}").write_bytes(raw)
        else:
            (out / f"{name}{suffix}{PACKED}").write_bytes(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME))


async def _expected(name: str, journal: Path, accounts: list[str]) -> dict[str, Any]:
    async with open_runtime(SCENARIOS[name], name, journal, ran=[]) as runtime:
        return await read_journal(runtime, accounts)


def write(name: str, out: Path) -> SimpleNamespace:
    """Write one journal and what it is expected to load as."""
    writing = WRITINGS.get(name, Writing())
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / name).mkdir(parents=True)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        journal = folder / "journal.db"
        bundle = bundle_for(name, writing, folder) if writing.bundle_of else b""
        for number in range(len(writing.lives)):
            live(name, journal, number, bundle)
        if not writing.log:
            shrink(journal)
        store(name, folder, out)
        raw = read_raw(journal)
        expected = asyncio.run(_expected(name, journal, list(raw.accounts)))
    shutil.rmtree(FOLDER, ignore_errors=True)
    text = msgspec.json.format(msgspec.json.encode(expected), indent=1).decode()
    (out / f"{name}.json").write_text(text + "\n")
    return SimpleNamespace(raw=raw, expected=expected)


def main(out: Path, names: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    written = {}
    for name in names or SCENARIOS:
        written[name] = write(name, out)
        sessions = written[name].expected["sessions"]
        told = [f"{id}: {each['status']} {each['inbox'] or ''}" for id, each in sessions.items()]
        print(f"{name}: {'; '.join(told)}")
    if not names:
        loaded = {
            part for each in written.values() for one in each.expected["sessions"].values() for part in one["parts"]
        }
        print("\nParts as they are loaded:", ", ".join(sorted(loaded)))
        print("\nNot in any journal:", *missing_in(each.raw for each in written.values()), sep="\n  ")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
