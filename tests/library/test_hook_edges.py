"""Hooks where something else goes wrong too: models that are cut off or gone, aborts, people, slow listeners."""

import asyncio
from dataclasses import replace

from support.virtual import run_virtually

from bridle import Agent, Change, Hooks, Output, Refuse, Replace, Reply, Runtime, ScriptedModel, call, tool
from bridle.config.settings import Settings
from bridle.core.parts import Call, Compaction
from bridle.journal.memory import MemoryJournal
from bridle.wire.events import TurnFinishEvent

ran = []


@tool(needs=lambda key: key == "asks")
def look(key: str) -> str:
    """Look something up."""
    ran.append(key)
    return f"saw {key}"


def test_a_hook_may_give_an_error_as_the_output():
    hooks = [Hooks(before_call=lambda moment: Replace(Output("the shop is closed", failed=True)))]
    result = Agent(model=ScriptedModel([call("look", key="a"), "Done."]), tools=[look], hooks=hooks).run_sync("go")
    assert (result.messages[2].text, result.messages[2].failed) == ("the shop is closed", True)


def test_a_request_that_fails_and_is_sent_again_is_asked_about_each_time():
    seen = []

    async def work(seams):
        model = ScriptedModel([Reply(text="half", cut=2), "whole"])
        agent = Agent(model=model, seams=seams, hooks=[Hooks(before_request=seen.append)])
        return await agent.run("go")

    result = run_virtually(work)
    assert (result.output, [moment.step for moment in seen]) == ("whole", [1, 1])


def test_hooks_see_arguments_that_a_person_has_changed():
    seen = []

    async def work():
        agent = Agent(
            model=ScriptedModel([call("look", key="asks"), "Done."]),
            tools=[look],
            on_ask="pause",
            hooks=[Hooks(before_call=lambda moment: seen.append(dict(moment.arguments)) or Refuse("no"))],
        )
        async with agent.runtime() as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "go", options=agent.turn_options)
            (ask,) = (await runtime.wait(session, prompt)).asks
            assert seen == []
            await runtime.answer(session, ask.id, "once", arguments={"key": "b"})
            await runtime.wait(session, prompt)
            (made,) = [part for part in (await runtime.load(session)).parts.values() if isinstance(part, Call)]
            return made

    made = asyncio.run(work())
    assert (made.changed, made.state.refusal.name, seen) == ('{"key":"b"}', "hook", [{"key": "b"}])


def test_a_change_that_a_rule_asks_about_is_asked_about_once():
    seen = []

    async def work():
        agent = Agent(
            model=ScriptedModel([call("look", key="a"), "Done."]),
            tools=[look],
            on_ask="pause",
            hooks=[Hooks(before_call=lambda moment: seen.append(moment.call) or Change({"key": "asks"}))],
        )
        async with agent.runtime() as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "go", options=agent.turn_options)
            (ask,) = (await runtime.wait(session, prompt)).asks
            await runtime.answer(session, ask.id, "once")
            return ask, await runtime.wait(session, prompt)

    ran.clear()
    ask, result = asyncio.run(work())
    assert (ask.detail, result.text, ran, len(seen)) == ('{"key":"asks"}', "Done.", ["asks"], 1)


def test_a_refused_compaction_or_title_is_done_without_the_model():
    def guard(moment):
        return None if moment.purpose == "step" else Refuse("steps only")

    async def work():
        model, small = ScriptedModel(["one", "two"], ref="m"), ScriptedModel(title="A title", ref="s")
        agent = Agent(model=model, hooks=[Hooks(before_request=guard)], settings=Settings(small_model="s"))
        config = replace(agent.config, models={**agent.config.models, "s": small})
        async with Runtime(config) as runtime:
            session = await runtime.create()
            for text in ("go", "on"):
                await runtime.wait(session, await runtime.prompt(session, text, options=agent.turn_options))
            await runtime.compact(session)
            await runtime.parked(session)
            return await runtime.load(session), small, model

    state, small, model = asyncio.run(work())
    assert (state.info.title, small.requests, {request.purpose for request in model.requests}) == ("", [], {"step"})
    assert [part.by for part in state.parts.values() if isinstance(part, Compaction)][-1:] == ["bridle"]


def test_an_aborted_turn_asks_no_model_without_its_hooks():
    async def work():
        reached = asyncio.Event()

        async def guard(moment):
            reached.set()
            await asyncio.Event().wait()

        model = ScriptedModel(["never"], title="never")
        agent = Agent(model=model, hooks=[Hooks(before_request=guard)], settings=Settings(small_model="scripted/model"))
        async with agent.runtime() as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "go", options=agent.turn_options)
            await reached.wait()
            await runtime.abort(session)
            return await runtime.wait(session, prompt), model.requests

    result, requests = asyncio.run(work())
    assert (result.reason, requests) == ("aborted", [])


def test_a_turn_whose_model_is_gone_ends_although_its_hooks_are_out_of_reach():
    async def work():
        journal, seen = MemoryJournal(), []
        model = ScriptedModel([call("look", key="asks")], ref="m")
        hooks = [Hooks(on_event=seen.append)]
        agent = Agent(model=model, tools=[look], on_ask="pause", journal=journal, hooks=hooks)
        paused = await agent.run("go")
        seen.clear()
        async with Runtime(replace(agent.config, models={})) as runtime:
            await runtime.answer(paused.session, paused.asks[0].id, "once")
            return await runtime.wait(paused.session, paused.prompt), seen

    result, seen = asyncio.run(work())
    assert (result.reason, seen) == ("error", [])


def test_a_listener_that_is_slow_to_the_end_is_left_behind(caplog):
    heard = []

    async def slow(event):
        heard.append(event)
        await asyncio.sleep(30 if isinstance(event, TurnFinishEvent) else 0)

    async def late(event):
        await asyncio.sleep(100)

    async def work(seams):
        @tool
        async def nap() -> str:
            """Sleep."""
            await asyncio.sleep(20)
            return "awake"

        hooks = [Hooks(on_event=slow), Hooks(on_event=late, seconds=1)]
        return await Agent(model=ScriptedModel([call("nap"), "hi"]), tools=[nap], seams=seams, hooks=hooks).run("go")

    assert run_virtually(work).output == "hi"
    assert "slow did not take the last events in time" in caplog.text and "late took longer than 1 s" in caplog.text
