"""Pins, archives and titles are facts of a session, changed at any time; lists follow them."""

import asyncio

import pytest
from support.cut_process import WiredJournal
from support.stories import look, tell
from support.virtual import run_virtually

from bridle import Agent, ConfigError, Reply, Rule, ScriptedModel, call
from bridle.core.inbox import TurnOptions
from bridle.runtime.retention import expired
from bridle.runtime.sessions import SessionQuery, pinned_first


def facts(info):
    return (info.title, info.pinned, info.archived > 0)


def test_a_session_is_renamed_pinned_and_archived_while_its_turn_runs():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.5)
        await runtime.rename(session, "A name")
        await runtime.pin(session, pinned=True)
        await runtime.archive(session, archived=True)
        assert facts((await runtime.load(session)).info) == ("A name", True, True)
        step = (await runtime.load(session)).running.step
        assert (step.number, step.state) == (1, "open")
        assert await runtime.sessions() == []
        (row,) = await runtime.sessions(SessionQuery(archived="only"))
        assert facts(row.info) == ("A name", True, True)
        await runtime.archive(session, archived=False)
        await runtime.pin(session, pinned=False)
        before = (await runtime.load(session)).sequence
        await runtime.pin(session, pinned=False)
        assert (await runtime.load(session)).sequence == before + 1
        assert [facts(row.info) for row in await runtime.sessions()] == [("A name", False, False)]

    story = tell(ScriptedModel([Reply(calls=(call("look", key="a"),), delay=100), "done"]), people=people)
    assert (story.result.text, facts(story.session.info)) == ("done", ("A name", False, False))


def test_an_undo_leaves_the_pin_and_a_fork_begins_without_it():
    async def work(seams):
        async with Agent(model=ScriptedModel(["done"]), seams=seams, journal=WiredJournal()).runtime() as runtime:
            session = await runtime.create()
            await runtime.wait(session, await runtime.prompt(session, "go"))
            await runtime.pin(session, pinned=True)
            await runtime.archive(session, archived=True)
            await runtime.undo(session)
            assert facts((await runtime.load(session)).info) == ("", True, True)
            await runtime.redo(session)
            fork = await runtime.fork(session)
            assert facts((await runtime.load(fork)).info) == ("", False, False)
            assert (await runtime.load(fork)).turns == 1

    run_virtually(work)


def test_pinned_sessions_come_first_and_are_not_pruned():
    async def work(seams):
        async with Agent(model=ScriptedModel([]), seams=seams).runtime() as runtime:
            old, new = [await runtime.create() for _ in range(2)]
            await runtime.pin(old, pinned=True)
            await asyncio.sleep(1)
            await runtime.rename(new, "newer")
            rows = await runtime.sessions()
            assert [row.info.id for row in rows] == [new, old]
            assert [row.info.id for row in pinned_first(rows)] == [old, new]
            await asyncio.sleep(10 * 86_400)
            assert await expired(runtime, days=5) == [new]

    run_virtually(work)


def test_sessions_are_found_by_their_state():
    async def work(seams):
        model = ScriptedModel(lambda request: call("look") if request.messages[-1].text == "ask" else Reply(hang=True))
        agent = Agent(model=model, tools=[look], permission=[Rule("python", "look", "ask")], seams=seams)
        async with agent.runtime() as runtime:
            idle, paused, busy, second = [await runtime.create() for _ in range(4)]
            await runtime.prompt(paused, "ask", options=TurnOptions(on_ask="pause"))
            await runtime.prompt(busy, "hang")
            await runtime.prompt(second, "hang")
            await asyncio.sleep(5)
            found = {}
            for state in ("idle", "paused", "busy", "interrupted"):
                found[state] = {row.info.id for row in await runtime.sessions(SessionQuery(state=state))}
            assert found == {"idle": {idle}, "paused": {paused}, "busy": {busy, second}, "interrupted": set()}
            (first,) = await runtime.sessions(SessionQuery(state="busy", limit=1))
            (other,) = await runtime.sessions(SessionQuery(state="busy", limit=9, before=first.mark))
            assert {first.info.id, other.info.id} == {busy, second}

    run_virtually(work)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda runtime, session: runtime.pin(session, pinned="yes"), "pinned"),
        (lambda runtime, session: runtime.archive(session, archived=1), "archived"),
        (lambda runtime, session: runtime.sessions({"text": "a"}), "query"),
    ],
)
def test_values_of_a_wrong_type_are_refused(call, words):
    async def work(seams):
        async with Agent(model=ScriptedModel([]), seams=seams).runtime() as runtime:
            session = await runtime.create()
            with pytest.raises(ConfigError, match=words):
                await call(runtime, session)

    run_virtually(work)


def test_the_command_line_pins_archives_and_lists(home):
    one, two, three = (
        home.json("--model", home.script({"text": "Hi."}), prompt)[1][0]["session"] for prompt in ("a", "b", "c")
    )

    def listed(*more):
        return [line.split() for line in home.run("sessions", *more).stdout.splitlines()]

    assert [line[0] for line in listed()] == [three, two, one]
    assert home.run("sessions", "pin", one).returncode == 0
    assert home.run("sessions", "archive", two).returncode == 0
    assert [(line[0], "*" in line) for line in listed()] == [(one, True), (three, False)]
    assert [line[0] for line in listed("--archived")] == [two]
    home.run("sessions", "unpin", one)
    home.run("sessions", "unarchive", two)
    assert {(line[0], "*" in line) for line in listed()} == {(one, False), (two, False), (three, False)}
