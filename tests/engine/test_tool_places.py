"""Calls wait for a place where a process limits how many run at once; aborts and time limits end the wait."""

import asyncio

import pytest
from support.virtual import run_virtually

from bridle import Agent, Limits, Reply, Rule, ScriptedModel, call, tool
from bridle.core.parts import Call

running: list[str] = []
most: list[int] = []


@tool
async def work(name: str, seconds: float) -> str:
    """Work for a while."""
    running.append(name)
    most.append(len(running))
    try:
        await asyncio.sleep(seconds)
    finally:
        running.remove(name)
    return f"worked {name}"


def runtime(seams, places, *script, **given):
    running.clear()
    most.clear()
    agent = Agent(
        model=ScriptedModel(list(script)),
        tools=[work],
        permission=[Rule("python", "*", "allow")],
        seams=seams,
        **given,
    )
    made = agent.runtime()
    made._drives.tool_places = asyncio.Semaphore(places)
    return made


async def outputs(here, session):
    state = await here.load(session)
    return [part.state for part in state.parts.values() if isinstance(part, Call)]


@pytest.mark.parametrize("places", [1, 2])
def test_no_more_calls_run_at_once_than_there_are_places_in_all_turns_together(places):
    async def story(seams):
        three = Reply(calls=tuple(call("work", name=str(each), seconds=1) for each in range(3)))
        here = runtime(seams, places, three, "done")
        sessions = [await here.create() for _ in range(2)]
        prompts = [await here.prompt(session, "go") for session in sessions]
        began = asyncio.get_running_loop().time()
        ends = await asyncio.gather(*map(here.wait, sessions, prompts))
        took = asyncio.get_running_loop().time() - began
        await here.close()
        return [end.reason for end in ends], took

    reasons, took = run_virtually(story)
    assert (reasons, max(most), round(took)) == (["answered"] * 2, places, 6 // places)


def test_an_abort_ends_the_wait_and_gives_no_place_away():
    async def story(seams):
        pair = Reply(calls=(call("work", name="a", seconds=60), call("work", name="b", seconds=60)))
        here = runtime(seams, 1, pair, call("work", name="c", seconds=1), "done")
        session = await here.create()
        prompt = await here.prompt(session, "go")
        await asyncio.sleep(1)
        await here.abort(session)
        assert (await here.wait(session, prompt)).reason == "aborted"
        again = await here.prompt(session, "once more")
        result = await here.wait(session, again)
        await here.close()
        return result.text

    assert run_virtually(story) == "done"
    assert max(most) == 1


def test_the_time_limit_of_a_turn_ends_the_wait():
    async def story(seams):
        pair = Reply(calls=(call("work", name="a", seconds=600), call("work", name="b", seconds=600)))
        here = runtime(seams, 1, pair, "out of time", limits=Limits(seconds=60))
        session = await here.create()
        result = await here.wait(session, await here.prompt(session, "go"))
        await here.close()
        return result.reason

    assert run_virtually(story) == "time_budget"
    assert most == [1]
