"""The project's files around calls: who is asked to keep them, and what is said if that does not go well."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import pytest
from support.crash_scenarios import person, script
from support.cut_process import Cutter, Scenario, World, live, reboot
from support.virtual import run_virtually

from bridle import Rule, ScriptedModel, call
from bridle.assembly.user_setup import UserSetup
from bridle.config.settings import SandboxSettings, Settings
from bridle.core.agent import AgentDefinition
from bridle.core.fold import load
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call, Changed, Notice, Patch
from bridle.core.permission import Access
from bridle.core.states import Done, Refusal, Refused
from bridle.core.stream import ToolSpec
from bridle.errors import SnapshotFailed
from bridle.journal.memory import MemoryJournal
from bridle.runtime import Runtime, RuntimeConfig
from bridle.tools.bash import TOOL as BASH
from bridle.tools.tool import Output, StructTool, loader, struct_schema

CHANGED = {"after": "after", "files": (Changed("file", "changed", 1, 1),)}


async def at_once() -> None:
    """Nothing stands in the way."""


async def never() -> None:
    await asyncio.sleep(1_000)


async def no_room() -> None:
    raise SnapshotFailed("no room is left")


@dataclass
class Keeper:
    """Whoever keeps files, and how that goes."""

    taking: Callable[[], Awaitable[None]] = at_once
    comparing: Callable[[], Awaitable[None]] = at_once
    asked: list[str] = field(default_factory=list)

    async def take(self, directory: Any, session: str) -> str:
        self.asked.append("take")
        await self.taking()
        return "before"

    async def compare(self, directory: Any, session: str, patch: Patch) -> Patch:
        self.asked.append("compare")
        await self.comparing()
        return msgspec.structs.replace(patch, **CHANGED)

    async def close(self) -> None:
        """It holds nothing."""


class Given(msgspec.Struct):
    command: str = ""


def tool_named(name, *, permission="python", repeatable=False, seconds=0.0, also=()):
    async def work(given, invocation):
        await asyncio.sleep(seconds)
        return Output(f"{name} is done")

    return StructTool(
        spec=ToolSpec(name, name, struct_schema(Given)),
        load=loader(Given),
        work=work,
        permission=permission,
        needs=lambda given, directory: (Access(permission, given.command or name), *also),
        repeatable=repeatable,
    )


TOOLS = (
    tool_named("look", repeatable=True),
    tool_named("act"),
    tool_named("work", seconds=60.0),
    tool_named("run", permission="bash"),
    tool_named("run_on", permission="bash", also=(Access("read", "file"),)),
    tool_named("run_far", permission="bash", also=(Access("external_directory", "/srv/*"),)),
    tool_named("run_by", permission="bash", also=(Access("bash", "timeout \ufffd", "passes"),)),
)


async def told(keeper, *replies, abort_after=None, seams=None, tools=TOOLS, **more):
    """One prompt whose calls are surrounded by looks at the files; the session at its end."""
    models = {"m": ScriptedModel([*replies, "done"])}
    agents = [AgentDefinition("build", model="m", permission=(Rule("*", "*", "allow"),))]
    user = UserSetup(files=keeper)
    async with Runtime(
        RuntimeConfig(models=models, tools=tools, agents=agents, user=user, seams=seams, **more)
    ) as runtime:
        session = await runtime.create()
        id = await runtime.prompt(session, "go", options=TurnOptions(agent="build"))
        if abort_after is not None:
            await asyncio.sleep(abort_after)
            await runtime.abort(session)
        await runtime.wait(session, id)
        return await runtime.load(session)


def tell(keeper, *replies, **more):
    return run_virtually(lambda seams: told(keeper, *replies, seams=seams, **more))


def patches(session):
    return [(part.before, part.state, part.detail) for part in session.parts.values() if isinstance(part, Patch)]


def notices(session):
    return [part.text for part in session.parts.values() if isinstance(part, Notice)]


def states(session):
    return [part.state for part in session.parts.values() if isinstance(part, Call)]


def test_files_are_looked_at_around_calls_that_may_change_them_and_around_no_others():
    keeper = Keeper()
    session = tell(keeper, call("look"), [call("act"), call("look", command="b")], call("look", command="c"))
    assert keeper.asked == ["take", "compare"]
    assert patches(session) == [("before", "taken", "")]
    assert (list(session.turn.files), notices(session)) == (["file"], [])


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("ls -l", []),
        ("git status --short", []),
        ("git diff --output=file", ["take", "compare"]),
        ("git commit", ["take", "compare"]),
        ("make", ["take", "compare"]),
    ],
)
def test_commands_that_only_read_are_known_by_their_names(command, asked):
    keeper = Keeper()
    tell(keeper, call("run", command=command))
    assert keeper.asked == asked


@pytest.mark.parametrize(("name", "asked"), [("run_on", []), ("run_by", []), ("run_far", ["take", "compare"])])
def test_of_what_a_command_needs_besides_only_reading_is_harmless(name, asked):
    keeper = Keeper()
    tell(keeper, call(name, command="ls"))
    assert keeper.asked == asked


@pytest.mark.parametrize(
    ("taking", "why"), [(no_room, "no room is left"), (never, "it took longer than 20 s")], ids=["failed", "late"]
)
def test_files_that_cannot_be_kept_hold_up_nothing_and_the_reader_is_told_once(taking, why):
    keeper = Keeper(taking=taking)
    session = tell(keeper, call("act"), call("act", command="again"))
    assert [type(state) for state in states(session)] == [Done, Done]
    assert notices(session) == [f"the changes of this turn cannot be undone: {why}"]
    assert (keeper.asked, patches(session)) == (["take"], [])


@pytest.mark.parametrize(
    ("comparing", "why"), [(no_room, "no room is left"), (never, "it took longer than 20 s")], ids=["failed", "late"]
)
def test_files_that_cannot_be_compared_are_said_to_be(comparing, why):
    session = tell(Keeper(comparing=comparing), call("act"))
    assert patches(session) == [("before", "failed", why)]


def test_an_abort_while_files_are_kept_starts_no_call():
    session = tell(Keeper(taking=never), call("act"), abort_after=1.0)
    assert states(session) == [Refused(Refusal("aborted"), states(session)[0].output)]
    assert (patches(session), notices(session)) == ([], [])


def test_what_an_aborted_call_has_done_can_be_undone_too():
    session = tell(Keeper(), call("work"), abort_after=1.0)
    assert patches(session) == [("before", "taken", "")]


def test_an_abort_does_not_wait_for_files_that_cannot_be_compared():
    session = tell(Keeper(comparing=never), call("work"), abort_after=1.0)
    assert patches(session) == [("before", "failed", "it took too long")]


def test_after_a_death_with_snapshots_switched_off_what_was_changed_cannot_be_known():
    scenario = Scenario("act", script(call("act"), "done"), person(), ("answered", 2, 1), keeps_files=True)
    whole = Cutter()
    live(scenario, MemoryJournal(), World(), whole, life=0)
    store = MemoryJournal()
    assert live(scenario, store, World(), Cutter(whole.names.index("compare") + 1), life=0) is None
    reboot(store)
    result = live(replace(scenario, keeps_files=False), store, World(), Cutter(), life=1)
    (kept,) = store._sessions.values()
    assert result.reason == "answered"
    assert patches(load(kept.entries)) == [("before", "failed", "snapshots are switched off")]


def test_what_a_command_in_the_background_changes_is_the_session_s_doing(tmp_path):
    keeper = Keeper()
    started = call("bash", command="sleep 30; touch late", background=True)
    settings = Settings(sandbox=SandboxSettings(mode="off"))
    work = told(keeper, started, call("look"), tools=[*TOOLS, BASH], directory=tmp_path, settings=settings)
    session = asyncio.run(work)
    assert keeper.asked == ["take", "compare", "take", "compare"]
    assert patches(session) == [("before", "taken", ""), ("after", "taken", "")]
