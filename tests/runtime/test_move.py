"""Moving a session to another machine: what is recorded, what is refused, and what an import makes of it."""

import asyncio

import pytest
from support.engine_app import runtime

from bridle import Reply, Runtime, RuntimeConfig, ScriptedModel
from bridle.core.inbox import TurnOptions
from bridle.errors import ConfigError, LeaseLost, NoSuchSession


def played(story):
    asyncio.run(asyncio.wait_for(story(), 60))


async def places(here):
    return {row.info.id: row.info.place for row in await here.sessions()}


def test_a_session_moves_with_its_subagents_and_its_entries_stay(tmp_path):
    async def story():
        async with runtime(tmp_path, "local") as here:
            session = await here.create()
            await here.wait(session, await here.prompt(session, "task:say:found say:done"))
            before = await here.entries(session)
            moved = await here.move(session, "there")
            assert moved[0] == session and len(moved) == 2
            assert await places(here) == dict.fromkeys(moved, "there")
            assert (await here.entries(session))[: len(before)] == before
            # Once more changes nothing.
            assert await here.move(session, "there") == moved
            assert len(await here.entries(session)) == len(before) + 1
            with pytest.raises(ConfigError, match=f"moves with its parent: move session {session}"):
                await here.move(moved[1], "here")

    played(story)


def test_a_turn_that_runs_elsewhere_holds_its_tree_where_it_is(tmp_path):
    async def story():
        config = RuntimeConfig(
            journal=tmp_path / "journal.db", models={"m": ScriptedModel([Reply(hang=True)], ref="m")}, place="here"
        )
        async with Runtime(config) as driving, Runtime(config) as here:
            session = await driving.create()
            prompt = await driving.prompt(session, "go", options=TurnOptions(model="m"))
            while not await here.is_driven(session) or (await here.load(session)).running is None:
                await asyncio.sleep(0.01)
            with pytest.raises(LeaseLost, match="has a running turn: wait for it, or abort it"):
                await here.move(session, "there")
            assert await places(here) == {session: "here"}
            await here.abort(session)
            await driving.wait(session, prompt)
            await driving.parked(session)
            await here.move(session, "there")
            assert await places(here) == {session: "there"}

    played(story)


@pytest.mark.parametrize(
    ("place", "app", "words"),
    [
        ("", "", "place: name the machine"),
        ("a b", "", "place: 'a b' is not a valid name"),
        ("there", "shop", "every worker of the app shop takes it"),
    ],
)
def test_what_cannot_move_says_why(tmp_path, place, app, words):
    async def story():
        async with Runtime(RuntimeConfig(journal=tmp_path / "journal.db", app=app)) as here:
            session = await here.create()
            with pytest.raises(ConfigError, match=words):
                await here.move(session, place)
            with pytest.raises(NoSuchSession):
                await here.move("ses_unknown", "there")

    played(story)


@pytest.mark.parametrize(
    ("app", "before", "after"), [("", "there", "here"), ("shop", "there", "here"), ("shop", "", "")]
)
def test_an_imported_session_belongs_to_the_machine_that_has_imported_it(tmp_path, app, before, after):
    async def story():
        async with Runtime(RuntimeConfig(journal=tmp_path / "a.db", app=app, place=before)) as there:
            session = await there.create()
            raw = await there.export(session)
        async with Runtime(RuntimeConfig(journal=tmp_path / "b.db", place="here")) as here:
            assert await here.import_bundle(raw) == await here.import_bundle(raw) == session
            assert await places(here) == {session: after}

    played(story)
