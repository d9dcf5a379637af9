"""Prompts find their turn: steered, queued, held, answered; wakes coalesce; two runtimes share one journal."""

import asyncio
from dataclasses import replace

import pytest
from support.cut_process import WiredJournal
from support.stories import look, poll, tell
from support.virtual import run_virtually

from bridle import Agent, Limits, Reply, Rule, ScriptedModel, call
from bridle.config.settings import Settings
from bridle.core.inbox import AbortItem, ChildAsksItem, ChildEndedItem, CompactItem, PromptItem, TurnOptions
from bridle.core.limits import NOTHING
from bridle.core.parts import Extension, Notice, Prompt, TurnFinish, TurnStart
from bridle.core.session import Session
from bridle.core.states import Report, Usage
from bridle.journal.memory import MemoryJournal
from bridle.runtime import Runtime, RuntimeConfig
from bridle.turn.take_inbox import answerable

ASK = (Rule("python", "look", "ask"),)


def test_a_prompt_that_comes_while_a_turn_runs_is_steered_in_after_the_open_calls():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.5)
        second = await runtime.prompt(session, "and be quick")
        result = await runtime.wait(session, second)
        assert (result.turn, result.reason) == (1, "answered")

    model = ScriptedModel([Reply(calls=(call("look", key="a"),), delay=1), "both done"])
    story = tell(model, people=people)
    texts = [message.text for message in model.requests[-1].messages]
    assert texts == ["go", "", "saw a", "and be quick"]
    assert len(story.parts(TurnStart)) == 1


def test_after_a_final_step_a_steered_prompt_prolongs_the_turn_if_a_step_is_left():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.5)
        second = await runtime.prompt(session, "one more thing")
        assert (await runtime.wait(session, second)).text == "second"

    story = tell(ScriptedModel([Reply(text="first", delay=1), "second"]), people=people)
    assert (story.result.turn, story.result.text, story.result.steps) == (1, "first", 2)


def test_a_closing_turn_takes_no_prompt_so_it_becomes_the_next_turn():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.5)
        second = await runtime.prompt(session, "one more thing")
        result = await runtime.wait(session, second)
        assert (result.turn, result.text) == (2, "second")

    story = tell(ScriptedModel([Reply(text="first", delay=1), "second"]), steps=1, people=people)
    assert (story.result.reason, story.result.text) == ("step_cap", "first")


def test_a_queued_prompt_is_its_own_turn_afterwards():
    async def people(runtime, session, prompt):
        second = await runtime.prompt(session, "later", queue=True)
        assert (await runtime.wait(session, second)).turn == 2

    story = tell(ScriptedModel([Reply(text="first", delay=1), "second"]), people=people)
    assert (story.result.turn, story.result.text) == (1, "first")


def test_after_a_failure_queued_prompts_wait_for_the_person():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.1)
        second = await runtime.prompt(session, "later", queue=True)
        await runtime.abort(session)
        held = await runtime.wait(session, second)
        assert (held.reason, held.exit_status) == ("held", 5)
        await runtime.resume(session)
        assert (await runtime.wait(session, second)).text == "now"

    model = ScriptedModel(lambda request: Reply(hang=True) if request.id.startswith("1.") else "now")
    assert tell(model, people=people).result.reason == "aborted"


def test_the_same_prompt_id_twice_is_one_prompt():
    async def people(runtime, session, prompt):
        await runtime.prompt(session, "go", id=prompt)
        await runtime.wait(session, prompt)
        await runtime.prompt(session, "go", id=prompt)
        await runtime.wait(session, await runtime.prompt(session, "and then"))

    story = tell(ScriptedModel(["once", "twice"]), people=people)
    assert len(story.model.requests) == 2
    assert [m.text for m in story.model.requests[-1].messages] == ["go", "once", "and then"]


def test_a_prompt_without_reply_is_only_recorded():
    async def people(runtime, session, prompt):
        await runtime.wait(session, prompt)
        quiet = await runtime.prompt(session, "for your information", reply=False)
        result = await runtime.wait(session, quiet)
        assert (result.reason, result.exit_status) == ("recorded", 0)
        third = await runtime.prompt(session, "what did I say?")
        await runtime.wait(session, third)

    model = ScriptedModel(["hi", "that"])
    tell(model, people=people)
    assert [m.text for m in model.requests[-1].messages] == ["go", "hi", "for your information", "what did I say?"]


def test_permitted_calls_of_a_batch_run_before_the_pause_and_the_answer_resumes_the_same_turn():
    async def people(runtime, session, prompt):
        paused = await runtime.wait(session, prompt)
        assert paused.reason == "paused"
        state = await runtime.load(session)
        assert state.turn.used.tool_calls == 1
        assert (await runtime.status(session)).state == "paused"
        await asyncio.sleep(86_400)
        await runtime.answer(session, paused.asks[0].id, "once")

    model = ScriptedModel([[call("look", key="a"), call("poll", key="b")], "done"])
    story = tell(model, permission=ASK, options=TurnOptions(on_ask="pause"), people=people)
    assert (story.result.reason, story.result.steps, story.result.tool_calls) == ("answered", 2, 2)
    assert [message.text for message in model.requests[-1].messages[-2:]] == ["saw a", "state 1"]
    assert story.result.seconds < 10


def test_always_saves_the_answer_for_the_session():
    async def people(runtime, session, prompt):
        paused = await runtime.wait(session, prompt)
        await runtime.answer(session, paused.asks[0].id, "always")

    model = ScriptedModel([call("look", key="a"), call("look", key="b"), "done"])
    story = tell(model, permission=ASK, options=TurnOptions(on_ask="pause"), people=people)
    assert (story.result.reason, story.ran) == ("answered", ["look a", "look b"])


def test_a_saved_always_answers_no_deny():
    journal = WiredJournal()

    async def people(runtime, session, prompt):
        paused = await runtime.wait(session, prompt)
        await runtime.answer(session, paused.asks[0].id, "always")

    model = ScriptedModel([call("look", key="a"), "done"])
    story = tell(model, permission=ASK, options=TurnOptions(on_ask="pause"), people=people, journal=journal)
    stricter = ScriptedModel([call("look", key="b"), "not allowed"])
    deny = (Rule("python", "look", "deny"), Rule("python", "poll", "allow"))
    result = Agent("build", model=stricter, tools=[look], permission=deny, journal=journal).run_sync(
        "again", session=story.result.session
    )
    assert (result.tool_calls, stricter.requests[-1].messages[-1].text[:23]) == (0, "not executed: the rules")


def test_a_prompt_to_a_paused_session_rejects_its_asks_with_that_prompt():
    async def people(runtime, session, prompt):
        await runtime.wait(session, prompt)
        second = await runtime.prompt(session, "no, look at b instead")
        assert (await runtime.wait(session, second)).reason == "answered"

    model = ScriptedModel([call("look", key="a"), "I will not."])
    story = tell(model, permission=ASK, options=TurnOptions(on_ask="pause"), people=people)
    last, prompt = model.requests[-1].messages[-2:]
    assert "no, look at b instead" in last.text
    assert prompt.text == "no, look at b instead"
    assert (story.calls, story.ran) == ([("look", "rejected")], [])


def test_an_answer_twice_or_to_nothing_changes_nothing():
    async def people(runtime, session, prompt):
        paused = await runtime.wait(session, prompt)
        await runtime.answer(session, "no such ask", "once")
        await runtime.parked(session)
        await runtime.answer(session, paused.asks[0].id, "once")
        await runtime.answer(session, paused.asks[0].id, "reject")

    story = tell(
        ScriptedModel([call("look", key="a"), "done"]),
        permission=ASK,
        options=TurnOptions(on_ask="pause"),
        people=people,
    )
    assert (story.result.reason, story.ran) == ("answered", ["look a"])


def test_an_extension_raises_a_limit_of_the_running_turn_within_the_ceiling():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.5)
        extensions.append(await runtime.extend(session, "steps", 2))
        assert await runtime.extended(session, extensions[0]) is None
        extensions.append(await runtime.extend(session, "steps", 100_000))
        extensions.append(await runtime.extend(session, "cost", 1.0))
        await runtime.wait(session, prompt)
        became.extend([await runtime.extended(session, extension) for extension in extensions])

    extensions, became = [], []
    model = ScriptedModel(
        lambda r: Reply(calls=(call("poll", key=r.id),), delay=1) if r.tool_choice == "auto" else "closed"
    )
    story = tell(model, steps=2, limits=Limits(tool_calls=1_000), people=people)
    assert (story.result.reason, story.result.steps) == ("step_cap", 200)
    two, more, cost = extensions
    refused = "cost not extended: no such limit is set for this turn"
    assert became == [
        Extension(f"1.extension.{two}", "steps", 2.0, two),
        Extension(f"1.extension.{more}", "steps", 196.0, more),
        Notice(f"1.extension.{cost}", "extension", refused, item=cost),
    ]


def test_an_extension_after_the_closing_request_is_refused():
    async def people(runtime, session, prompt):
        await asyncio.sleep(1.5)
        await runtime.extend(session, "steps", 5)

    model = ScriptedModel(
        lambda r: Reply(text="closed", delay=2, calls=()) if r.tool_choice == "none" else call("poll")
    )
    story = tell(model, steps=2, people=people)
    assert (story.result.reason, story.result.steps) == ("step_cap", 2)
    assert story.parts(Extension) == []


def test_wakes_coalesce():
    async def people(runtime, session, prompt):
        for _ in range(50):
            await runtime.engine.wake(session)
            await asyncio.sleep(0.01)

    story = tell(ScriptedModel([Reply(text="one", delay=1)]), people=people)
    assert (len(story.model.requests), len(story.parts(TurnFinish))) == (1, 1)


@pytest.mark.parametrize("seed", range(20))
def test_every_prompt_is_answered_whatever_the_order_of_events(seed):
    async def people(runtime, session, prompt):
        prompts = [await runtime.prompt(session, f"p{n}", queue=bool(n % 2)) for n in range(4)]
        for each in prompts:
            assert (await runtime.wait(session, each)).reason == "answered"

    story = tell(ScriptedModel([], then=Reply(text="ok", delay=0.2)), people=people, seed=seed)
    assert {part.turn for part in story.parts(Prompt)} == {part.number for part in story.parts(TurnFinish)}


def test_a_second_runtimes_prompt_goes_to_the_holder():
    async def work(seams):
        journal = MemoryJournal()
        model = ScriptedModel([Reply(text="first", delay=5), "second"])
        agent = Agent("build", model=model, tools=[look, poll], seams=seams).config
        here = Runtime(replace(agent, journal=journal))
        there = Runtime(replace(agent, journal=journal, models={"scripted/model": ScriptedModel([])}))
        session = await here.create()
        first = await here.prompt(session, "go")
        await asyncio.sleep(1)
        second = await there.prompt(session, "from elsewhere")
        result = await there.wait(session, second)
        assert (result.reason, result.text) == ("answered", "second")
        assert (await here.wait(session, first)).turn == result.turn == 1
        await here.close()
        await there.close()

    run_virtually(work)


def test_two_processes_worth_of_runtimes_share_one_sqlite_file(tmp_path):
    async def work():
        path = tmp_path / "j.db"
        model = ScriptedModel([Reply(text="first", delay=0.5), "second"])
        agent = Agent("build", model=model).config
        here = Runtime(replace(agent, journal=path))
        there = Runtime(replace(agent, journal=path, models={}))
        session = await here.create()
        await here.prompt(session, "go")
        await asyncio.sleep(0.1)
        second = PromptItem("prm_other", "from elsewhere")
        await there.journal.submit(session, second)
        await there.engine.wake(session)
        result = await asyncio.wait_for(there.wait(session, "prm_other"), 60)
        assert (result.reason, result.text) == ("answered", "second")
        await there.close()
        await here.close()

    asyncio.run(work())


def test_a_budget_that_is_extended_grows_on_the_ledger_too():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.5)
        await runtime.extend(session, "tokens", 1_000)
        await runtime.wait(session, prompt)
        start = next(part for part in (await runtime.load(session)).parts.values() if isinstance(part, TurnStart))
        assert (await runtime.journal.account(start.account)).limits == Limits(tokens=51_000)

    model = ScriptedModel([Reply(calls=(call("look", key="a"),), delay=1), "done"])
    story = tell(model, limits=Limits(tokens=50_000), people=people)
    assert (story.result.reason, story.session.turn.limits.tokens) == ("answered", 51_000)


def test_words_that_want_no_reply_are_recorded_while_a_turn_runs():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.5)
        noted = await runtime.prompt(session, "just so you know", reply=False)
        await runtime.wait(session, prompt)
        assert (await runtime.wait(session, noted)).reason == "recorded"

    model = ScriptedModel([Reply(calls=(call("look", key="a"),), delay=1), "done"])
    story = tell(model, people=people)
    assert [(part.text, part.turn) for part in story.parts(Prompt)] == [("go", 1), ("just so you know", 0)]


def test_a_prompt_in_the_only_step_of_a_talk_only_turn_opens_a_turn_of_its_own():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.5)
        second = await runtime.prompt(session, "and now?")
        assert (await runtime.wait(session, second)).turn == 2

    story = tell(ScriptedModel([Reply(text="first", delay=1), "second"]), steps=0, people=people)
    assert (story.result.turn, story.result.text) == (1, "first")


def test_what_subagents_tell_of_calls_that_are_over_is_taken_and_changes_nothing():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.5)
        report = Report("nobody", "answered", NOTHING, Usage())
        await runtime.journal.submit(session, ChildAsksItem("asks", "1.1.1.0", "nobody"))
        await runtime.journal.submit(session, ChildEndedItem("ended", "1.1.1.0", report, "done"))
        await runtime.wait(session, prompt)
        assert await runtime.journal.inbox(session) == []

    model = ScriptedModel([Reply(calls=(call("look", key="a"),), delay=1), "done"])
    story = tell(model, people=people)
    assert (story.result.reason, story.calls) == ("answered", [("look", "done")])


@pytest.mark.parametrize(
    "item",
    [PromptItem("prm_one", "go", options=TurnOptions(model="gone/model")), CompactItem("cmp_one")],
    ids=["prompt", "compaction"],
)
def test_a_turn_that_cannot_be_had_ends_with_a_word_if_nobody_is_there_to_tell(item):
    async def work(seams):
        async with Runtime(
            RuntimeConfig(journal=WiredJournal(), settings=Settings(model="gone/model"), seams=seams)
        ) as runtime:
            session = await runtime.create()
            await runtime.journal.submit(session, item)
            await runtime.resume(session)
            await asyncio.sleep(5)
            return (await runtime.load(session)).turn.finish

    finish = run_virtually(work)
    assert (finish.reason, "gone" in finish.detail) == ("error", True)


def test_what_is_told_to_a_session_without_a_turn_moves_nothing():
    assert not answerable(Session(), [AbortItem("abt_one")])
