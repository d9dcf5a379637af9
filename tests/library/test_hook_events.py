"""Events of a turn for functions of a program, and events of all sessions of a runtime."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from bridle import Agent, Context, Hooks, Reply, ScriptedModel, call, tool
from bridle.errors import NoSuchSession
from bridle.wire.events import (
    DeltaEvent,
    RemovedEvent,
    ResultEvent,
    SessionEvent,
    TextEvent,
    ToolUseEvent,
    TurnFinishEvent,
    TurnStartEvent,
)


@tool
def look(key: str) -> str:
    """Look something up."""
    return f"saw {key}"


def kinds(events):
    return [type(event).__struct_config__.tag for event in events]


def recorded(events):
    """The events that are told whenever a reader comes: those of deltas are told only to readers that were there."""
    live = [event for event in events if isinstance(event, (DeltaEvent, RemovedEvent))]
    live += [event for event in events if isinstance(event, ToolUseEvent) and event.state == "pending"]
    return [event for event in events if event not in live]


@pytest.mark.parametrize("is_async", [False, True])
def test_on_event_gets_the_events_that_the_stream_yields(is_async):
    heard = []

    async def later(event):
        heard.append(event)

    async def work():
        model = ScriptedModel([call("look", key="a"), Reply(text="one two three", chunk=4)])
        agent = Agent(model=model, tools=[look], hooks=[Hooks(on_event=later if is_async else heard.append)])
        async with agent.stream("go") as stream:
            return [event async for event in stream]

    first, *streamed, last = asyncio.run(work())
    assert (type(first), type(last)) == (SessionEvent, ResultEvent)
    assert recorded(heard) == recorded(streamed)
    assert kinds(heard)[:2] == ["turn_start", "prompt"] and isinstance(heard[-2], TurnFinishEvent)
    assert (
        "".join(event.text for event in heard if isinstance(event, DeltaEvent) and event.kind == "text")
        == "one two three"
    )


def test_an_ask_of_a_subagent_is_an_event_of_the_turn_above_it():
    heard, below = [], []
    pay = tool(needs=lambda key: True)(look.function)
    scout = Agent(
        "scout",
        description="looks",
        model=ScriptedModel([call("look", key="a"), "found"], ref="s"),
        tools=[pay],
        hooks=[Hooks(on_event=below.append)],
    )
    start = call("task", description="look", prompt="look", subagent_type="scout")
    lead = Agent(
        "lead",
        model=ScriptedModel([start, "done"], ref="l"),
        subagents=[scout],
        on_ask="pause",
        hooks=[Hooks(on_event=heard.append)],
    )
    result = lead.run_sync("go")
    assert result.reason == "paused"
    (ask,) = [event for event in heard if event.__struct_config__.tag == "ask"]
    assert (ask.id in result.asks[0].id, ask.session != result.session) == (True, True)
    # Each agent hears its own turn: the subagent's function has the subagent's steps.
    assert {event.session for event in below} == {ask.session}
    assert "turn_finish" not in kinds(heard)


def test_an_exception_of_on_event_is_logged_and_changes_nothing(caplog):
    heard = []

    def broken(event):
        heard.append(event)
        raise ValueError("the wire is cut")

    agent = Agent(model=ScriptedModel(["hi"]), hooks=[Hooks(on_event=broken)])
    assert agent.run_sync("go").output == "hi"
    assert "the wire is cut" in caplog.text and isinstance(heard[-2], TurnFinishEvent)


def test_an_on_event_that_hangs_is_left_behind(caplog):
    async def hangs(event):
        await asyncio.Event().wait()

    heard = []
    hooks = [Hooks(on_event=hangs, seconds=0.05), Hooks(on_event=heard.append)]
    assert Agent(model=ScriptedModel(["hi"]), hooks=hooks).run_sync("go").output == "hi"
    assert "hangs took longer than 0.05 s: it gets no more events" in caplog.text
    assert any(isinstance(event, TextEvent) for event in heard)


@dataclass
class Desk:
    heard: list = field(default_factory=list)
    open: bool = True


def test_on_event_gets_the_dependencies_while_they_are_open():
    desks = []

    @asynccontextmanager
    async def desk(metadata):
        desks.append(Desk())
        yield desks[-1]
        desks[-1].open = False

    async def note(ctx: Context[Desk], event):
        ctx.deps.heard.append((type(event), ctx.deps.open, ctx.metadata))

    agent = Agent[Desk, str](model=ScriptedModel(["hi"]), deps=desk, hooks=[Hooks(on_event=note)])
    agent.run_sync("go", metadata={"user": 7})
    (made,) = desks
    assert {each[1:] == (True, {"user": 7}) for each in made.heard} == {True} and not made.open
    assert [each[0] for each in made.heard][-2] == TurnFinishEvent


def test_a_resumed_turn_tells_only_what_is_new_and_the_next_turn_begins_anew(tmp_path):
    heard = []

    def agent(*replies):
        return Agent(
            model=ScriptedModel(list(replies)),
            tools=[tool(needs=lambda key: True)(look.function)],
            hooks=[Hooks(on_event=heard.append)],
            on_ask="pause",
            journal=tmp_path / "journal.db",
        )

    paused = agent(call("look", key="a")).run_sync("go")
    assert kinds(heard).count("ask") == 1
    heard.clear()

    async def answer():
        made = agent("never", "done", "again")
        async with made.runtime() as runtime:
            await runtime.answer(paused.session, paused.asks[0].id, "once")
            await runtime.wait(paused.session, paused.prompt)
        return await made.run("more", session=paused.session)

    assert asyncio.run(answer()).output == "again"
    starts = [place for place, event in enumerate(heard) if isinstance(event, TurnStartEvent)]
    assert len(starts) == 1 and heard[starts[0]].number == 2
    assert kinds(heard[: starts[0]]).count("turn_finish") == 1 and "prompt" not in kinds(heard[: starts[0]])
    assert kinds(heard[starts[0] :]).count("turn_finish") == 1


def test_a_runtime_tells_a_listener_the_events_of_all_sessions(caplog):
    heard = []

    def broken(event):
        raise ValueError("the wire is cut")

    async def work():
        scout = Agent("scout", description="looks", model=ScriptedModel(["found"], ref="s"))
        start = call("task", description="look", prompt="look", subagent_type="scout")
        agent = Agent("lead", model=ScriptedModel([start, "done", "again"], ref="l"), subagents=[scout])
        async with agent.runtime() as runtime:
            session = await runtime.create()
            first = await runtime.prompt(session, "go", options=agent.turn_options)
            runtime.listen(broken)
            runtime.listen(heard.append)
            result = await runtime.wait(session, first)
            second = await runtime.prompt(session, "more", options=agent.turn_options)
            await runtime.wait(session, second)
        return result

    result = asyncio.run(work())
    assert result.text == "done" and "the wire is cut" in caplog.text
    assert len({event.session for event in heard}) == 2
    own = [event for event in heard if event.session == result.session]
    assert [event.number for event in own if isinstance(event, TurnFinishEvent)] == [1, 2]
    spent = [event.usage.total for event in heard if event.__struct_config__.tag == "step_finish"]
    assert sum(spent[:3]) == result.tokens


def test_a_listener_outlives_a_session_that_is_deleted_and_one_that_raises_breaks_no_wait(caplog):
    heard = []

    async def work():
        agent = Agent(model=ScriptedModel(["hi"], ref="m"))
        async with agent.runtime() as runtime:
            runtime.bus.listen(lambda session, entry: 1 / 0)
            runtime.listen(heard.append)
            session = await runtime.create()
            prompt = await runtime.prompt(session, "go", options=agent.turn_options)
            assert (await runtime.wait(session, prompt)).text == "hi"
            with pytest.raises(NoSuchSession):
                await runtime.load("ses_none")

    asyncio.run(work())
    assert isinstance(heard[-2], TurnFinishEvent) and "a listener failed" in caplog.text
