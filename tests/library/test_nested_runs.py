"""Agents that tools run inside their calls: places in the tree, failures, and the death of the process."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest
from support.paths import TESTS

from bridle import Agent, Context, Reply, Retry, ScriptedModel, TreeLimits, call, tool
from bridle.core.parts import OUTPUT
from bridle.journal.memory import MemoryJournal
from bridle.turn import call_model


def held(agent):
    """The runtime that `async with agent` keeps open."""
    return next(iter(agent._runtimes._open.values())).runtime


def results(result):
    return [message.text for message in result.messages if hasattr(message, "call")]


def inner(*replies, **more):
    return Agent("inner", model=ScriptedModel(list(replies) or ["inner"]), **more)


def outer(work, **more):
    """Run an agent with one tool, which does this work with its context."""

    @tool
    async def ask(ctx: Context[None]) -> str:
        """Ask other agents."""
        return await work(ctx)

    journal = MemoryJournal()
    result = Agent("outer", model=ScriptedModel([call("ask"), "outer"]), tools=[ask], journal=journal, **more).run_sync(
        "go"
    )
    return result, asyncio.run(journal.account(f"{result.session}/1"))


def test_several_agents_of_one_call_are_counted_together_and_wait_for_a_place():
    async def work(ctx):
        made = await asyncio.gather(*(ctx.run(inner(Reply(text=name, delay=0.05)), name) for name in "abc"))
        return " ".join(each.output for each in made)

    result, account = outer(work, tree=TreeLimits(live=1))
    assert (result.output, results(result)) == ("outer", ["a b c"])
    assert (account.spent.tokens, account.live, account.total) == (result.tokens, 0, 3)


def test_no_more_agents_are_run_than_the_tree_allows():
    async def work(ctx):
        await ctx.run(inner(), "one")
        return (await ctx.run(inner(), "two")).output

    result, account = outer(work, tree=TreeLimits(total=1))
    assert results(result) == ["no further agent may be run: this turn has started as many as it may"]
    assert (account.live, account.total) == (0, 1)


def test_a_tree_has_its_depth_for_them_too():
    @tool
    async def deeper(ctx: Context[None]) -> str:
        """Go deeper."""
        return (await ctx.run(inner(), "deeper")).output

    async def work(ctx):
        return results(await ctx.run(inner(call("deeper"), "inner", tools=[deeper]), "go"))[0]

    result, _ = outer(work)
    assert results(result) == ["no agent may be run here: a tree may be 1 deep"]


def test_an_agent_that_cannot_begin_gives_its_place_back():
    async def work(ctx):
        return (await ctx.run(Agent("inner", model="nowhere/model"), "go")).output

    result, account = outer(work)
    assert "nowhere" in results(result)[0]
    assert (account.live, account.children) == (0, 0)


def test_only_a_running_call_runs_another_agent():
    async def told(ctx: Context[None]) -> str:
        return (await ctx.run(inner(), "go")).output

    result = Agent(model=ScriptedModel(["hi"]), instructions=told).run_sync("go")
    assert (result.reason, result.detail) == ("error", "context.run: only a running tool call can run another agent")


def needing():
    def takes(ctx: Context[dict]) -> str:
        return ""

    return Agent("needing", model=ScriptedModel(["hi"]), tools=[takes])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda ctx: ctx.run("scout", "go"), "context.run: agent must be Agent, not 'scout'"),
        (lambda ctx: ctx.run(inner(), 5), "context.run: prompt must be text, not 5"),
        (lambda ctx: ctx.run(needing(), "go"), "agent needing: run: deps are missing: it takes dict"),
    ],
    ids=["agent", "prompt", "deps"],
)
def test_what_a_call_cannot_run_is_told_to_the_model(wrong, said):
    async def tries(ctx: Context[None]) -> str:
        return (await wrong(ctx)).output

    result = Agent(model=ScriptedModel([call("tries"), "done"]), tools=[tries]).run_sync("go")
    assert results(result) == [f"tries failed: ConfigError: {said}"]


KILLED = """
import os, signal, sys
from bridle import Agent, Context, ScriptedModel, call, tool
from bridle.journal.sqlite import SqliteJournal

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "create":
    create = SqliteJournal.create
    async def dying(self, info):
        die() if info.parent else None
        await create(self, info)
    SqliteJournal.create = dying

@tool
async def ask(ctx: Context[None]) -> str:
    "Ask."
    return (await ctx.run(Agent("inner", model=ScriptedModel(die)), "go")).output

Agent("outer", model=ScriptedModel([call("ask"), "outer"]), tools=[ask], journal=sys.argv[1]).run_sync("go", id="p1")
"""


@pytest.mark.parametrize("moment", ["create", "request"])
def test_after_the_death_of_the_process_the_place_is_free_and_the_outcome_unknown(moment, tmp_path):
    path = tmp_path / "j.db"
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    killed = subprocess.run([sys.executable, "-c", KILLED, path, moment], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL

    @tool
    async def ask(ctx: Context[None]) -> str:
        """Ask."""
        raise AssertionError("a call with an unknown outcome is not run again")

    agent = Agent("outer", model=ScriptedModel([call("ask"), "outer"]), tools=[ask], journal=path)

    async def resumed():
        async with agent:
            result = await agent.resume("p1")
            for _ in range(500):
                account = await held(agent).journal.account("p1/1")
                if not account.live:
                    break
                await asyncio.sleep(0.02)
            return result, account

    result, account = asyncio.run(resumed())
    assert (result.output, account.live, account.children) == ("outer", 0, 0)
    assert results(result)[0].startswith("The process died while this call was running.")


# Checks of the answer, and deferred calls.


def test_a_check_that_takes_too_long_rejects_the_answer(monkeypatch):
    monkeypatch.setattr(call_model, "CHECK_SECONDS", 0.05)
    seen = []

    async def slow(number):
        seen.append(number)
        if len(seen) == 1:
            await asyncio.sleep(60)
        return number

    model = ScriptedModel([call(OUTPUT, value=1), call(OUTPUT, value=2)])
    result = Agent(model=model, output=int, check=slow).run_sync("go")
    assert (result.output, model.requests[1].messages[-1].text) == (2, "the check of the answer took too long")


def test_an_abort_ends_a_check():
    async def work():
        begun = asyncio.Event()

        async def hangs(number):
            begun.set()
            await asyncio.sleep(60)

        agent = Agent(model=ScriptedModel([call(OUTPUT, value=1)]), output=int, check=hangs)
        run = asyncio.ensure_future(agent.run("go", id="p1"))
        await begun.wait()
        run.cancel()
        await asyncio.wait([run])
        async with agent.runtime() as runtime:
            return await runtime.wait("p1", "p1")

    assert asyncio.run(work()).reason == "aborted"


@tool(deferred=True)
def review(text: str) -> str:
    """Review a text."""
    raise Retry("never called")


def test_only_its_result_ends_a_deferred_call():
    agent = Agent(model=ScriptedModel([call("review", text="x"), "done"]), tools=[review])

    async def work():
        async with agent:
            paused = await agent.run("go")
            runtime, (ask,) = held(agent), paused.asks
            await runtime.answer(paused.session, ask.id, "once")
            await runtime.supply(paused.session, "1.1.1.0.9", "of another call")
            await runtime.parked(paused.session)
            still = (await runtime.load(paused.session)).running.asks
            await runtime.supply(paused.session, ask.id.removesuffix(".answer"), "it broke", failed=True)
            return still == paused.asks, await agent.resume(paused.session)

    still, result = asyncio.run(work())
    assert (still, result.output, results(result)) == (True, "done", ["it broke"])


def test_a_cancelled_run_that_waits_in_the_queue_leaves_the_running_turn_alone():
    async def work():
        agent = Agent(model=ScriptedModel([Reply(text="first", delay=0.4), "second"]))
        async with agent:
            first = asyncio.ensure_future(agent.run("one", id="p1"))
            while "p1" not in agent.config.journal._sessions or not agent.config.journal._sessions["p1"].held:
                await asyncio.sleep(0.01)
            second = asyncio.ensure_future(agent.run("two", session="p1", queue=True))
            await asyncio.sleep(0.1)
            second.cancel()
            await asyncio.wait([second])
            return await first

    result = asyncio.run(work())
    assert (result.reason, result.output) == ("answered", "first")
