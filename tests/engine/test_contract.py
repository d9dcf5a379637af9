"""The contract of an engine, held by every kind: tasks here, workers on one SQLite file, workers on PostgreSQL."""

import asyncio
from collections import Counter

import pytest
from support.engine_app import KINDS, runtime, workers

from bridle.core.events import Entry
from bridle.core.inbox import TurnOptions
from bridle.core.parts import TurnFinish
from bridle.errors import NoSuchSession

ASKS = TurnOptions(on_ask="pause")


@pytest.fixture(params=KINDS)
def play(request, tmp_path):
    """Play a story with a runtime on this engine, and worker processes where it needs any."""

    def played(story):
        async def work():
            with workers(tmp_path, request.param) as there:
                async with runtime(tmp_path, request.param) as here:
                    return await asyncio.wait_for(story(here, there), 60)

        return asyncio.run(work())

    return played


def acts(here):
    """How often each call of the tool has run, by what it was given."""
    file = here.directory / "acts"
    return Counter(line.split()[1] for line in file.read_text().splitlines()) if file.exists() else Counter()


async def prompted(here, session, text, **more):
    return await here.wait(session, await here.prompt(session, text, **more))


def test_a_prompt_is_answered(play):
    async def story(here, there):
        session = await here.create()
        result = await prompted(here, session, "act:a act:b say:done")
        assert (result.reason, result.text, result.steps, acts(here)) == ("answered", "done", 3, {"a": 1, "b": 1})
        assert (await here.status(session)).state == "idle"

    play(story)


def test_wakes_coalesce_and_repeat_nothing(play):
    async def story(here, there):
        session = await here.create()
        prompt = await here.prompt(session, "act:a act:b act:c say:done")
        for _ in range(20):
            await here.engine.wake(session)
            await asyncio.sleep(0.01)
        result = await here.wait(session, prompt)
        await here.parked(session)
        assert (result.reason, acts(here)) == ("answered", {"a": 1, "b": 1, "c": 1})
        assert (await here.load(session)).turns == 1

    play(story)


def test_queued_prompts_are_answered_one_after_the_other(play):
    async def story(here, there):
        session = await here.create()
        texts = ["act:a say:one", "act:b say:two", "say:three"]
        prompts = [await here.prompt(session, text, queue=True) for text in texts]
        results = [await here.wait(session, prompt) for prompt in prompts]
        assert [(result.reason, result.text, result.turn) for result in results] == [
            ("answered", "one", 1),
            ("answered", "two", 2),
            ("answered", "three", 3),
        ]

    play(story)


def test_many_sessions_are_driven_side_by_side(play):
    async def story(here, there):
        sessions = [await here.create() for _ in range(8)]
        results = await asyncio.gather(*(prompted(here, each, f"act:{n} say:{n}") for n, each in enumerate(sessions)))
        assert [result.text for result in results] == [str(n) for n in range(8)]
        assert set(acts(here).values()) == {1}

    play(story)


def test_subagents_work_and_their_parent_goes_on(play):
    async def story(here, there):
        session = await here.create()
        result = await prompted(here, session, "task:act:a_say:found act:b say:done")
        assert (result.reason, result.text, acts(here)) == ("answered", "done", {"a": 1, "b": 1})
        assert "found" in str((await here.load(session)).parts)

    play(story)


def test_an_ask_parks_the_turn_and_its_answer_drives_it_on(play):
    async def story(here, there):
        session = await here.create()
        prompt = await here.prompt(session, "act:asked say:done", options=ASKS)
        paused = await here.wait(session, prompt)
        assert (paused.reason, (await here.status(session)).state) == ("paused", "paused")
        assert not await here.journal.held(session)
        await here.answer(session, paused.asks[0].id, "once")
        result = await here.wait(session, prompt)
        assert (result.reason, acts(here)) == ("answered", {"asked": 1})

    play(story)


def test_the_ask_of_a_subagent_is_answered_at_the_root(play):
    async def story(here, there):
        session = await here.create()
        prompt = await here.prompt(session, "task:act:asked_say:found say:done", options=ASKS)
        paused = await here.wait(session, prompt)
        assert (paused.reason, (await here.status(session)).state) == ("paused", "paused")
        await here.answer(session, paused.asks[0].id, "once")
        result = await here.wait(session, prompt)
        assert (result.reason, acts(here)) == ("answered", {"asked": 1})

    play(story)


def test_an_abort_reaches_the_turn_wherever_it_is_driven(play):
    async def story(here, there):
        session = await here.create()
        prompt = await here.prompt(session, "act:long say:done")
        while not acts(here):
            await asyncio.sleep(0.01)
        assert (await here.status(session)).state == "busy"
        await here.abort(session)
        assert (await here.wait(session, prompt)).reason == "aborted"

    play(story)


def test_prompts_behind_a_failed_turn_wait_until_they_are_resumed(play):
    async def story(here, there):
        session = await here.create()
        first = await here.prompt(session, "fail:")
        second = await here.prompt(session, "say:done", queue=True)
        assert (await here.wait(session, first)).reason == "error"
        assert (await here.wait(session, second)).reason == "held"
        await here.resume(session)
        assert (await here.wait(session, second)).text == "done"

    play(story)


def test_a_follower_sees_every_entry_once_and_in_order(play):
    async def story(here, there):
        session = await here.create()
        prompt = await here.prompt(session, "act:a act:b say:done")
        events = [event async for event in here.stream(session, prompt)]
        entries = [event for event in events if isinstance(event, Entry)]
        assert entries == await here.journal.load(session)
        assert isinstance(entries[-1].events[-1].part, TurnFinish)

    play(story)


def test_a_second_runtime_waits_for_what_the_first_drives(play):
    async def story(here, there):
        session = await here.create()
        prompt = await here.prompt(session, "act:a act:b act:c say:done")
        async with runtime(here.directory, there.kind) as second:
            result = await second.wait(session, prompt)
            await second.parked(session)
        assert (result.text, acts(here)) == ("done", {"a": 1, "b": 1, "c": 1})

    play(story)


def test_nothing_to_do_is_parked_and_an_unknown_session_is_named(play):
    async def story(here, there):
        session = await here.create()
        await here.parked(session)
        await here.engine.wake(session)
        await here.parked(session)
        assert (await here.status(session)).state == "idle"
        with pytest.raises(NoSuchSession, match="ses_unknown"):
            await here.parked("ses_unknown")

    play(story)


def test_a_closed_engine_has_ended_what_it_drove_and_may_be_closed_again(play):
    async def story(here, there):
        session = await here.create()
        prompt = await here.prompt(session, "act:long say:done")
        while not acts(here):
            await asyncio.sleep(0.01)
        await here.engine.close()
        await here.engine.close()
        if not there.processes:
            assert (await here.wait(session, prompt)).reason == "aborted"
        assert here.engine.closing and not here.engine.drives(session)

    play(story)


def test_a_session_whose_workers_died_is_taken_over(play):
    async def story(here, there):
        if not there.processes:
            return
        session = await here.create()
        prompt = await here.prompt(session, "task:act:a_act:b_act:c_say:found act:d say:done")
        for _ in range(2):
            await asyncio.sleep(0.15)
            there.kill()
        result = await here.wait(session, prompt)
        assert (result.reason, result.text) == ("answered", "done")
        assert set(acts(here).values()) == {1}

    play(story)
