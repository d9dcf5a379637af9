"""What a turn worked with is gone when somebody goes on with it: it ends with a word all the same."""

import asyncio

from support.cut_process import WiredJournal
from support.stories import look
from support.trees import ROOT, spawn
from support.virtual import run_virtually

from bridle import Reply, Rule, Runtime, RuntimeConfig, ScriptedModel, call, tool
from bridle.core.agent import AgentDefinition
from bridle.core.inbox import ChildAsksItem, ChildEndedItem, TurnOptions
from bridle.core.parts import Call

ASKS = (Rule("python", "look", "ask"),)
TWO = f"{ROOT}.1.1.1.0.0", f"{ROOT}.1.1.1.0.1"


class Shared(WiredJournal):
    """One file of two processes: whoever ends does not close it for the other."""

    async def close(self):
        """The other process has it open still."""

    def lose_leases(self):
        """The process is dead: the machine frees what it had locked."""
        for kept in self._sessions.values():
            kept.held = False


def process(journal, seams, *, root=None, child=("ok",), tools=(look,), permission=()):
    """A process that may know less than the one before it; without a root, the model of the turn is gone."""
    models = {"c": ScriptedModel(child, ref="c")} | ({"m": ScriptedModel(root, ref="m")} if root is not None else {})
    agents = [
        AgentDefinition("build", model="m", permission=permission),
        AgentDefinition("child", model="c", permission=permission),
    ]
    return Runtime(
        RuntimeConfig(journal=journal, models=models, agents=agents, subagents=["child"], tools=tools, seams=seams)
    )


async def calls(runtime):
    return [part.state for part in (await runtime.load(ROOT)).parts.values() if isinstance(part, Call)]


def test_a_call_whose_tool_is_gone_when_it_is_allowed_is_refused_and_the_turn_goes_on():
    async def work(seams):
        journal = Shared()
        script = [call("look", key="a"), "done"]
        async with process(journal, seams, root=script, permission=ASKS) as first:
            prompt = await first.prompt(await first.create(ROOT), "go", options=TurnOptions(on_ask="pause"))
            (ask,) = (await first.wait(ROOT, prompt)).asks
        async with process(journal, seams, root=script, permission=ASKS, tools=()) as second:
            await second.answer(ROOT, ask.id, "once")
            return await second.wait(ROOT, prompt), await calls(second)

    result, (state,) = run_virtually(work)
    assert (result.reason, result.text) == ("answered", "done")
    assert (state.refusal.name, state.output) == ("invalid", "look is not there any more")


def test_a_call_that_ran_when_its_process_died_is_not_run_again_if_nothing_is_known_of_it_any_more():
    @tool(repeatable=True)
    async def hang(key: str = "") -> str:
        """Never return."""
        return await asyncio.get_running_loop().create_future()

    async def work(seams):
        journal = Shared()
        first = process(journal, seams, root=[call("hang")], tools=[hang])
        prompt = await first.prompt(await first.create(ROOT), "go")
        await asyncio.sleep(1)
        journal.lose_leases()
        async with process(journal, seams, tools=[hang]) as second:
            await second.resume(ROOT)
            result, states = await second.wait(ROOT, prompt), await calls(second)
        await first.close()
        return result, states

    result, (state,) = run_virtually(work)
    assert (result.reason, state.refusal.name) == ("error", "unknown_outcome")
    assert result.detail.startswith("there is no model 'm'")


def test_a_tree_whose_root_lost_its_model_hears_of_all_its_subagents_and_ends():
    async def work(seams):
        journal = Shared()
        slow = {"child": lambda request: Reply(text="ok", delay=60)}
        first = process(journal, seams, root=[[spawn("a"), spawn("b")], "done"], **slow)
        prompt = await first.prompt(await first.create(ROOT), "go")
        await asyncio.sleep(1)
        journal.lose_leases()
        async with process(journal, seams, **slow) as second:
            await second.resume(ROOT)
            result, states = await second.wait(ROOT, prompt), await calls(second)
        await first.close()
        return result, [(state.report.child, state.report.reason) for state in states], journal._accounts[f"{ROOT}/1"]

    result, reports, account = run_virtually(work)
    assert (result.reason, reports) == ("error", [(child, "aborted") for child in TWO])
    assert (account.held, account.children, account.live) == ({}, 0, 0)


def test_news_of_a_subagent_is_left_in_the_inbox_of_a_parent_that_nobody_here_drives():
    async def work(seams):
        journal = Shared()
        script = {"root": [spawn("go"), "done"], "child": [call("look", key="a"), "ok"], "permission": ASKS}
        async with process(journal, seams, **script) as first:
            prompt = await first.prompt(await first.create(ROOT), "go", options=TurnOptions(on_ask="pause"))
            (ask,) = (await first.wait(ROOT, prompt)).asks
        async with process(journal, seams, **script) as second:
            await second.answer(TWO[0], ask.id.rpartition(":")[2], "once")
            await second.parked(TWO[0])
            left = [type(item) for item in await journal.inbox(ROOT)]
        async with process(journal, seams, **script) as third:
            await third.resume(ROOT)
            return left, await third.wait(ROOT, prompt), await journal.inbox(ROOT)

    left, result, unread = run_virtually(work)
    assert left == [ChildAsksItem, ChildEndedItem]
    assert (result.reason, result.text, unread) == ("answered", "done", [])
