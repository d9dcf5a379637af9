"""A prompt that no turn has taken is taken back; one that was taken stays."""

import asyncio

import pytest
from support.cut_process import WiredJournal
from support.postgres import new_schema, server_url
from support.stories import look, tell
from support.virtual import run_virtually

from bridle import Agent, ConfigError, Reply, Rule, ScriptedModel, call
from bridle.core.inbox import PromptItem, TurnOptions, WithdrawItem
from bridle.core.parts import Delegation, File, Prompt, TurnStart, Withdrawn
from bridle.core.result import Result
from bridle.core.undo import visible
from bridle.journal.memory import MemoryJournal
from bridle.journal.postgres import PostgresJournal
from bridle.journal.sqlite import SqliteJournal

FOREVER = Reply(hang=True)


def asked(model):
    """What the model was asked with at last."""
    return [message.text for message in model.requests[-1].messages]


@pytest.mark.parametrize("queue", [True, False])
def test_a_prompt_that_waits_is_taken_back_at_once_while_the_model_is_still_answering(queue):
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.5)
        id = await runtime.prompt(session, "no, wait", files=(File("a.txt", "one"),), queue=queue)
        (waiting,) = await runtime.pending_prompts(session)
        assert (waiting.id, waiting.text, waiting.files) == (id, "no, wait", (File("a.txt", "one"),))
        waiter = asyncio.create_task(runtime.wait(session, id))
        assert await runtime.withdraw(session, id)
        step = (await runtime.load(session)).running.step
        assert (step.number, step.state) == (1, "open"), "long before the turn takes its inbox"
        assert await waiter == Result(session, id, "withdrawn")
        assert await runtime.pending_prompts(session) == []
        assert await runtime.withdraw(session, id), "again, and nothing changes"
        with pytest.raises(ConfigError, match="was withdrawn from this session"):
            await runtime.prompt(session, "no, wait", id=id, queue=queue)

    model = ScriptedModel([Reply(calls=(call("look", key="a"),), delay=100), "done"])
    story = tell(model, people=people)
    assert (story.result.text, asked(model)) == ("done", ["go", "", "saw a"])
    assert [part.text for part in story.parts(Prompt)] == ["go"]
    assert len(story.parts(Withdrawn)) == 1


def test_a_prompt_that_a_turn_has_taken_stays():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.5)
        assert not await runtime.withdraw(session, prompt)
        assert (await runtime.wait(session, prompt)).text == "done"
        assert not await runtime.withdraw(session, prompt)
        note = await runtime.prompt(session, "note", reply=False)
        await runtime.parked(session)
        assert not await runtime.withdraw(session, note), "a recorded note is read with the next prompt"

    assert tell(ScriptedModel([Reply(text="done", delay=2)]), people=people).parts(Withdrawn) == []


def test_a_withdrawal_that_arrives_together_with_its_prompt_comes_first():
    model = ScriptedModel(["first"])

    async def work(seams):
        async with Agent(model=model, seams=seams, journal=WiredJournal()).runtime() as runtime:
            session = await runtime.create()
            for item in (PromptItem("one", "no"), PromptItem("two", "yes"), WithdrawItem("one.withdraw", "one")):
                await runtime.journal.submit(session, item)
            await runtime.resume(session)
            assert (await runtime.wait(session, "two")).text == "first"
            assert (await runtime.wait(session, "one")).reason == "withdrawn"
            assert await runtime.journal.inbox(session) == []

    run_virtually(work)
    assert asked(model) == ["yes"]


def test_a_held_prompt_is_taken_back_without_starting_anything():
    async def people(runtime, session, prompt):
        await asyncio.sleep(0.1)
        later = await runtime.prompt(session, "later", queue=True)
        kept = await runtime.prompt(session, "much later", queue=True)
        await runtime.abort(session)
        assert (await runtime.wait(session, later)).reason == "held"
        assert await runtime.withdraw(session, later)
        assert await runtime.waiting_prompts(session) == [kept]
        await runtime.parked(session)
        assert (await runtime.status(session)).state == "idle"

    model = ScriptedModel(then=FOREVER)
    assert tell(model, people=people).result.reason == "aborted"
    assert len(model.requests) == 1


def test_a_paused_turn_goes_on_waiting():
    async def people(runtime, session, prompt):
        assert (await runtime.wait(session, prompt)).reason == "paused"
        later = await runtime.prompt(session, "later", queue=True)
        assert await runtime.withdraw(session, later)
        paused = await runtime.wait(session, prompt)
        assert paused.reason == "paused"
        await runtime.answer(session, paused.asks[0].id, "once")

    ask = (Rule("python", "look", "ask"),)
    model = ScriptedModel([call("look", key="a"), "done"])
    story = tell(model, permission=ask, options=TurnOptions(on_ask="pause"), people=people)
    assert (story.result.reason, story.ran) == ("answered", ["look a"])


def test_a_prompt_that_is_not_there_or_belongs_to_a_parent_is_an_error():
    async def work(seams):
        async with Agent(model=ScriptedModel(then=FOREVER), seams=seams).runtime() as runtime:
            session = await runtime.create()
            with pytest.raises(ConfigError, match=f"session {session} has no prompt 'prm_no'"):
                await runtime.withdraw(session, "prm_no")
            terms = TurnOptions(delegation=Delegation("above", "1.1.1.0.0", "a", 1))
            await runtime.journal.submit(session, PromptItem("prm_child", "do it", options=terms))
            with pytest.raises(ConfigError, match="belongs to the session above"):
                await runtime.withdraw(session, "prm_child")
            # Whatever puts the item there, the parent is not left waiting.
            await runtime.settle(session, WithdrawItem("prm_child.withdraw", "prm_child"))
            assert await runtime.waiting_prompts(session) == ["prm_child"]
            assert await runtime.journal.inbox(session) == await runtime.pending_prompts(session)

    run_virtually(work)


def test_a_prompt_that_comes_while_another_is_taken_back_is_answered():
    """The drive of the new prompt finds the lease taken for a moment."""

    class Slow(WiredJournal):
        async def release(self, lease):
            await asyncio.sleep(1)
            await super().release(lease)

    async def work(seams):
        journal, model = Slow(), ScriptedModel(["aborted", "answered"])
        async with Agent(model=model, seams=seams, journal=journal).runtime() as runtime:
            session = await runtime.create()
            await journal.submit(session, PromptItem("one", "no"))
            taking_back = asyncio.create_task(runtime.withdraw(session, "one"))
            await asyncio.sleep(0.5)
            new = await runtime.prompt(session, "yes")
            await asyncio.sleep(0.1)
            assert not (await runtime.load(session)).turns
            assert await taking_back
            await asyncio.sleep(30)
            assert (await runtime.load(session)).prompts == {new: 1}

    run_virtually(work)


def test_a_withdrawal_outlives_the_undo_of_the_turn_beside_which_it_was_made():
    async def work(seams):
        async with Agent(model=ScriptedModel([Reply(text="done", delay=9)]), seams=seams).runtime() as runtime:
            session = await runtime.create()
            first = await runtime.prompt(session, "go")
            await asyncio.sleep(1)
            later = await runtime.prompt(session, "later", queue=True)
            assert await runtime.withdraw(session, later)
            await runtime.wait(session, first)
            await runtime.undo(session)
            assert (await runtime.load(session)).prompts == {}
            assert (await runtime.wait(session, later)).reason == "withdrawn"
            entries = await runtime.journal.load(session)
            kept = [event.part for entry in visible(entries) for event in entry.events if hasattr(event, "part")]
            assert [type(part).__name__ for part in kept] == ["Withdrawn", "Undone", "Undone"]

    run_virtually(work)


def test_a_journal_that_forgets_old_sessions_forgets_those_that_end_with_a_withdrawal():
    async def work(seams):
        journal = MemoryJournal(keeps=1)
        model = ScriptedModel(then=Reply(text="done", delay=1))
        async with Agent(model=model, seams=seams, journal=journal).runtime() as runtime:
            for _ in range(9):
                session = await runtime.create()
                first = await runtime.prompt(session, "go")
                later = await runtime.prompt(session, "later", queue=True)
                assert await runtime.withdraw(session, later)
                await runtime.wait(session, first)
                await runtime.parked(session)
            assert len(await runtime.sessions()) <= 2

    run_virtually(work)


@pytest.mark.parametrize("queue", [True, False])
def test_a_cancelled_run_that_waits_takes_its_prompt_back_and_leaves_the_other_run_alone(queue):
    async def work(seams):
        model = ScriptedModel([Reply(calls=(call("look", key="a"),), delay=5), "done", "never"])
        agent = Agent(model=model, tools=[look], seams=seams, journal=WiredJournal())
        async with agent, agent.runtime() as runtime:
            await runtime.create("shared")
            first = asyncio.create_task(agent.run("go", session="shared"))
            await asyncio.sleep(1)
            later = asyncio.create_task(agent.run("later", session="shared", queue=queue))
            await asyncio.sleep(1)
            later.cancel()
            assert isinstance((await asyncio.gather(later, return_exceptions=True))[0], asyncio.CancelledError)
            assert (await first).output == "done"
            assert await runtime.waiting_prompts("shared") == []
            assert len((await runtime.load("shared")).prompts) == 1

    run_virtually(work)


def test_a_cancelled_run_behind_a_failed_turn_leaves_nothing_in_the_queue():
    async def work(seams):
        model = ScriptedModel([Reply(hang=True), "never"])
        agent = Agent(model=model, seams=seams, journal=WiredJournal())
        async with agent, agent.runtime() as runtime:
            session = await runtime.create()
            first = await runtime.prompt(session, "go")
            await asyncio.sleep(1)
            await runtime.abort(session)
            await runtime.wait(session, first)
            stream = agent.stream("later", session=session, queue=True)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0), stream:
                    await anext(stream)
            assert await runtime.waiting_prompts(session) == []
            assert len((await runtime.load(session)).prompts) == 1

    run_virtually(work)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def two(request, tmp_path):
    """Two journals as two processes have them; in memory it is the same one."""
    if request.param == "memory":
        shared = MemoryJournal()
        return shared, shared
    if request.param == "sqlite":
        return SqliteJournal(tmp_path / "journal.db"), SqliteJournal(tmp_path / "journal.db")
    schema = new_schema()
    return PostgresJournal(server_url(), schema=schema), PostgresJournal(server_url(), schema=schema)


def test_the_process_that_drives_decides_and_another_one_hears_of_it(two):
    async def work():
        agents = (Agent(model=ScriptedModel(then=FOREVER), tools=[look], journal=journal) for journal in two)
        async with next(agents).runtime() as drives, next(agents).runtime() as other:
            session = await drives.create()
            first = await drives.prompt(session, "go")
            while not (await drives.load(session)).turns:
                await asyncio.sleep(0.01)
            later = await other.prompt(session, "later", queue=True)
            assert [item.text for item in await other.pending_prompts(session)] == ["later"]
            assert not await other.withdraw(session, first)
            assert await other.withdraw(session, later)
            assert await drives.withdraw(session, later)
            assert (await other.wait(session, later)).reason == "withdrawn"
            await drives.abort(session)
            assert (await drives.wait(session, first)).reason == "aborted"
            state = await other.load(session)
            assert len([part for part in state.parts.values() if isinstance(part, TurnStart)]) == 1
        for journal in dict.fromkeys(two):
            await journal.close()

    asyncio.run(asyncio.wait_for(work(), 60))
