"""The library under misuse: turns at once, names that meet, and values that are wrong."""

import asyncio
import threading

from bridle import Agent, Reply, Runtime, ScriptedModel, call, tool
from bridle.journal.memory import MemoryJournal


def test_two_runs_of_one_agent_at_once_need_no_journal():
    """The first run has ended, and has closed its runtime, while the second one is in the middle of a call."""
    begun: list[str] = []

    async def work():
        over = asyncio.Event()

        @tool
        async def wait(who: str) -> str:
            """Wait, unless it is the first."""
            begun.append(who)
            if len(begun) > 1:
                await over.wait()
            return "went on"

        agent = Agent(model=ScriptedModel([call("wait", who="x"), "done"]), tools=[wait])
        first, second = agent.run("one"), agent.run("two")

        async def quick():
            result = await first
            over.set()
            return result

        return [(result.reason, result.text) for result in await asyncio.gather(quick(), second)]

    assert asyncio.run(work()) == [("answered", "done")] * 2
    assert len(begun) == 2


def test_one_agent_without_a_journal_runs_in_many_threads():
    agent = Agent(model=ScriptedModel([Reply(text="yes", delay=0.01)]))
    ended: list[str] = []

    def work():
        ended.append(agent.run_sync("go").reason)

    threads = [threading.Thread(target=work) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == ["answered"] * 32


def test_a_prompt_from_another_thread_reaches_the_turn_that_runs():
    model = ScriptedModel([call("wait"), "one", "two"])
    begun, posted = threading.Event(), threading.Event()

    @tool
    def wait() -> str:
        """Wait for the other prompt."""
        begun.set()
        assert posted.wait(30)
        return "waited"

    agent = Agent(model=model, tools=[wait])
    sessions: list[str] = []

    async def first():
        async with agent.runtime() as runtime:
            sessions.append(await runtime.create())
            prompt = await runtime.prompt(sessions[0], "go")
            return await runtime.wait(sessions[0], prompt)

    async def second():
        async with agent.runtime() as runtime:
            prompt = await runtime.prompt(sessions[0], "and this")
            posted.set()
            return await runtime.wait(sessions[0], prompt)

    results = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(first())))
    thread.start()
    assert begun.wait(30)
    results.append(asyncio.run(second()))
    thread.join()
    assert [result.reason for result in results] == ["answered", "answered"]
    assert "and this" in [message.text for message in model.requests[1].messages if hasattr(message, "text")]


def test_a_journal_that_the_caller_opened_stays_open():
    journal = MemoryJournal()

    async def work():
        async with Runtime(journal=journal) as other:
            session = await other.create()
            lease = await other.journal.acquire(session)
            await Agent(model=ScriptedModel(["one"]), journal=journal).run("go")
            return await journal.held(session), lease is not None

    assert asyncio.run(work()) == (True, True)
