"""Turns handed over: work under way gets a grace, nothing new begins, and another process continues the same turn."""

import asyncio

import pytest
from support.stories import compare_with_oracle
from support.virtual import run_virtually

from bridle import Agent, Limits, Reply, Rule, ScriptedModel, call, tool
from bridle.core.events import CallMoved, PartPut, RequestMoved
from bridle.core.parts import Halt, Request, TurnFinish
from bridle.core.replay import verified
from bridle.core.states import Done, Interrupted, Refused
from bridle.errors import LeaseGivenUp
from bridle.journal.memory import MemoryJournal

GRACE = 10.0
begun: list[str] = []


@tool
async def work(seconds: float) -> str:
    """Work for a while."""
    begun.append(f"work {seconds:g}")
    await asyncio.sleep(seconds)
    return "worked"


@tool(repeatable=True)
async def look(seconds: float) -> str:
    """Look for a while."""
    begun.append(f"look {seconds:g}")
    await asyncio.sleep(seconds)
    return "seen"


def agent(seams, journal, *script, **given):
    begun.clear()
    permission = [Rule("python", "*", "allow")]
    return Agent(
        model=ScriptedModel(list(script)),
        tools=[work, look],
        journal=journal,
        permission=permission,
        seams=seams,
        **given,
    )


async def left_after(runtime, session, prompt, seconds):
    """Leave while the turn of this prompt is driven; return how long that took."""
    waiting = asyncio.create_task(runtime.wait(session, prompt))
    await asyncio.sleep(seconds)
    began = asyncio.get_running_loop().time()
    await runtime._drives.leaving.leave(GRACE)
    with pytest.raises(LeaseGivenUp):
        await waiting
    assert not await runtime.journal.held(session)
    return asyncio.get_running_loop().time() - began


async def handed_over(journal, agent, seconds, text="go"):
    """Let one process begin and leave, and another one end the turn; return its result, the entries and the time."""
    first, second = agent.runtime(), agent.runtime()
    session = await first.create()
    prompt = await first.prompt(session, text)
    took = await left_after(first, session, prompt, seconds)
    await second.resume(session)
    result = await second.wait(session, prompt)
    entries = await second.entries(session)
    for runtime in (first, second):
        await runtime.close()
    compare_with_oracle(entries)
    assert verified(entries) is None
    return result, [event for entry in entries for event in entry.events], took


def moved(events, kind):
    return [
        event.state
        for event in events
        if isinstance(event, (CallMoved, RequestMoved)) and isinstance(event.state, kind)
    ]


def test_a_call_that_ends_within_the_grace_is_recorded_and_no_request_follows_it_here():
    async def story(seams):
        journal = MemoryJournal()
        made = agent(seams, journal, Reply(calls=(call("work", seconds=4),)), "done")
        result, events, took = await handed_over(journal, made, 1.0)
        assert (result.reason, result.text, result.steps, begun) == ("answered", "done", 2, ["work 4"])
        assert 2.9 < took < 3.2
        assert not moved(events, Interrupted)

    run_virtually(story)


def test_a_call_that_outlasts_the_grace_is_ended_and_its_outcome_is_unknown_to_the_model():
    async def story(seams):
        journal = MemoryJournal()
        made = agent(seams, journal, Reply(calls=(call("work", seconds=60), call("work", seconds=2))), "done")
        result, events, took = await handed_over(journal, made, 1.0)
        assert (result.reason, begun) == ("answered", ["work 60", "work 2"])
        assert GRACE - 0.1 < took < GRACE + 1.5
        assert [state.output.split(".")[0] for state in moved(events, Refused)] == [
            "The process was told to stop while this call was running, and ended it"
        ]
        assert [state.output for state in moved(events, Done)] == ["worked"]

    run_virtually(story)


def test_a_call_that_is_safe_to_repeat_runs_again_in_the_next_process():
    async def story(seams):
        journal = MemoryJournal()
        result, events, _ = await handed_over(
            journal, agent(seams, journal, Reply(calls=(call("look", seconds=12),)), "done"), 1.0
        )
        assert (result.reason, begun) == ("answered", ["look 12", "look 12"])
        assert not moved(events, Refused)

    run_virtually(story)


def test_hand_overs_are_not_among_the_attempts_of_a_step():
    async def story(seams):
        journal = MemoryJournal()
        made = agent(seams, journal, *[Reply(text="never", delay=100)] * 5, "done")
        first = made.runtime()
        session = await first.create()
        prompt = await first.prompt(session, "go")
        for _ in range(5):
            await left_after(first, session, prompt, 1.0)
            await first.close()
            first = made.runtime()
            await first.resume(session)
        result = await first.wait(session, prompt)
        assert (result.reason, result.text, result.steps) == ("answered", "done", 1)
        entries = await first.entries(session)
        compare_with_oracle(entries)
        events = [event for entry in entries for event in entry.events]
        assert [state.handed_over for state in moved(events, Interrupted)] == [True] * 5
        account = await journal.account(f"{session}/1")
        assert account is None or not account.held
        await first.close()

    run_virtually(story)


def test_nothing_is_aborted_and_a_turn_that_ends_within_the_grace_ends_as_always():
    async def story(seams):
        journal = MemoryJournal()
        runtime = agent(seams, journal, Reply(text="done", delay=3)).runtime()
        session = await runtime.create()
        prompt = await runtime.prompt(session, "go")
        waiting = asyncio.create_task(runtime.wait(session, prompt))
        await asyncio.sleep(1)
        await runtime._drives.leaving.leave(GRACE)
        result = await waiting
        assert (result.reason, result.text) == ("answered", "done")
        await runtime.close()

    run_virtually(story)


def test_a_turn_with_subagents_is_handed_over_as_a_tree():
    async def story(seams):
        journal = MemoryJournal()
        child = Agent(
            "child", model=ScriptedModel([Reply(text="found", delay=100), "found"]), description="finds", seams=seams
        )
        made = Agent(
            model=ScriptedModel(
                [Reply(calls=(call("task", description="d", prompt="p", subagent_type="child"),)), "done"]
            ),
            subagents=[child],
            journal=journal,
            seams=seams,
            limits=Limits(steps=5),
        )
        first, second = made.runtime(), made.runtime()
        session = await first.create()
        prompt = await first.prompt(session, "go")
        await asyncio.sleep(1)
        await first._drives.leaving.leave(GRACE)
        await asyncio.sleep(2)
        result = await second.wait(session, prompt)
        assert (result.reason, result.text) == ("answered", "done")
        events = [
            event
            for row in await journal.sessions()
            for entry in await journal.load(row.info.id)
            for event in entry.events
        ]
        assert not [event for event in events if isinstance(event, PartPut) and isinstance(event.part, Halt)]
        assert (
            len([event for event in events if isinstance(event, PartPut) and isinstance(event.part, TurnFinish)]) == 2
        )
        requests = [event.part for event in events if isinstance(event, PartPut) and isinstance(event.part, Request)]
        assert len(requests) == 4
        await first.close()
        await second.close()

    run_virtually(story)
