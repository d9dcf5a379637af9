"""Approvals, deferred results, nested agents and cancellation of an agent in a Python program."""

import asyncio
import concurrent.futures

import anyio
import pytest

from bridle import (
    Agent,
    ConfigError,
    Context,
    Limits,
    Price,
    Reply,
    Rule,
    Runtime,
    RuntimeConfig,
    ScriptedModel,
    call,
    tool,
)
from bridle.core.events import PartPut
from bridle.core.inbox import AnswerItem
from bridle.core.ledger import TreeLimits
from bridle.core.parts import TurnFinish
from bridle.journal.memory import MemoryJournal

PAID = []


@tool(needs=lambda amount, to: amount > 100)
def pay(amount: int, to: str) -> str:
    """Pay someone."""
    PAID.append((amount, to))
    return f"paid {amount} to {to}"


def held(agent):
    """The runtime that `async with agent` keeps open."""
    return next(iter(agent._runtimes._open.values())).runtime


def results(result):
    return [message.text for message in result.messages if hasattr(message, "call")]


@pytest.fixture(autouse=True)
def nothing_paid():
    PAID.clear()


def test_a_call_asks_for_approval_when_its_arguments_need_one_and_another_program_answers(tmp_path):
    path = tmp_path / "j.db"

    def agent():
        model = ScriptedModel([[call("pay", amount=5, to="Ann"), call("pay", amount=500, to="Bob")], "paid"])
        return Agent(model=model, tools=[pay], journal=path, on_ask="pause")

    paused = agent().run_sync("go")
    assert (paused.reason, [ask.text for ask in paused.asks], PAID) == (
        "paused",
        ["Allow approval: pay?"],
        [(5, "Ann")],
    )

    async def approve():
        async with Runtime(RuntimeConfig(journal=path)) as runtime:
            await runtime.journal.submit(paused.session, answer(paused.asks[0].id))
        return await agent().resume(paused.session)

    def answer(ask):
        return AnswerItem("a1", ask, "once", "", {"amount": 50, "to": "Bob"})

    result = asyncio.run(approve())
    assert (result.reason, result.output, PAID) == ("answered", "paid", [(5, "Ann"), (50, "Bob")])
    assert results(result)[1].startswith("paid 50 to Bob")


def test_arguments_that_do_not_fit_leave_the_ask_open_and_a_deny_still_holds():
    model = ScriptedModel([call("pay", amount=500, to="Bob"), "done"])
    agent = Agent(model=model, tools=[pay], on_ask="pause")

    async def work():
        async with agent:
            paused = await agent.run("go")
            runtime = held(agent)
            ask = paused.asks[0].id
            await runtime.answer(paused.session, ask, "once", arguments={"amount": "much"})
            await runtime.parked(paused.session)
            still = (await runtime.load(paused.session)).running.asks
            await runtime.answer(paused.session, ask, "once", arguments={"amount": 1, "to": "Eve"})
            return [each.id for each in still] == [ask], await agent.resume(paused.session)

    open_, result = asyncio.run(work())
    assert (open_, result.reason, PAID) == (True, "answered", [(1, "Eve")])


def test_needs_may_name_subjects_for_the_rules():
    @tool(permission="delete", needs=lambda path: path)
    def delete(path: str) -> str:
        """Delete."""
        return f"deleted {path}"

    rules = [Rule("delete", "*", "allow"), Rule("delete", "/etc/*", "deny")]
    model = ScriptedModel([[call("delete", path="/tmp/a"), call("delete", path="/etc/b")], "done"])
    result = Agent(model=model, tools=[delete], permission=rules).run_sync("go")
    assert results(result) == ["deleted /tmp/a", "not executed: the rules deny delete for /etc/b"]


@tool(deferred=True)
def review(text: str) -> str:
    """Have a person review a text."""
    raise AssertionError("a deferred tool is never called")


def test_the_result_of_a_deferred_tool_comes_later_from_another_program(tmp_path):
    path = tmp_path / "j.db"

    def agent():
        return Agent(model=ScriptedModel([call("review", text="hello"), "reviewed"]), tools=[review], journal=path)

    paused = agent().run_sync("go")
    assert (paused.reason, [ask.kind for ask in paused.asks]) == ("paused", ["deferred"])
    call_id = paused.asks[0].id.removesuffix(".answer")

    async def later():
        async with agent().runtime() as runtime:
            await runtime.supply(paused.session, call_id, "looks good")
            return await runtime.wait(paused.session, paused.prompt)

    result = asyncio.run(later())
    assert (result.reason, result.text) == ("answered", "reviewed")


def test_an_agent_that_a_tool_runs_is_paid_by_the_outer_turn():
    inner = Agent("inner", model=ScriptedModel([Reply(text="inner answer")], price=Price(1.0, 1.0)))

    @tool
    async def ask(ctx: Context[None], what: str) -> str:
        """Ask another agent."""
        result = await ctx.run(inner, what)
        return f"{result.output} ({result.reason})"

    journal = MemoryJournal()
    outer = Agent(
        "outer",
        model=ScriptedModel([call("ask", what="?"), "outer"], price=Price(1.0, 1.0)),
        tools=[ask],
        journal=journal,
    )
    result = outer.run_sync("go")
    assert (result.output, results(result)) == ("outer", ["inner answer (answered)"])
    alone = Agent("outer", model=ScriptedModel(["outer"], price=Price(1.0, 1.0))).run_sync("go")
    assert result.tokens > 2 * alone.tokens
    root = asyncio.run(journal.account(f"{result.session}/1"))
    assert (root.spent.tokens, root.live, root.total) == (result.tokens, 0, 1)


def test_a_budget_of_the_tree_closes_the_agent_that_a_tool_runs():
    looping = Agent("inner", model=ScriptedModel([call("look", key=str(n)) for n in range(50)]), tools=[look])

    @tool
    async def ask(ctx: Context[None]) -> str:
        """Ask another agent."""
        return (await ctx.run(looping, "go")).reason

    outer = Agent("outer", model=ScriptedModel([call("ask"), "done"]), tools=[ask], tree=TreeLimits(steps=6))
    result = outer.run_sync("go")
    assert results(result)[0] == "tree_budget"
    assert result.reason in ("answered", "tree_budget")


@tool
async def look(key: str = "") -> str:
    """Look."""
    return key


def endings(journal):
    """The reasons with which the turns of each session have ended."""
    return [
        [event.part.reason for entry in kept.entries for event in entry.events if is_finish(event)]
        for kept in journal._sessions.values()
    ]


def is_finish(event):
    return isinstance(event, PartPut) and isinstance(event.part, TurnFinish)


def test_a_run_that_anyio_cancels_ends_its_turn():
    journal = MemoryJournal()
    model = ScriptedModel([Reply(hang=True)])

    async def work():
        agent = Agent(model=model, journal=journal)
        with anyio.move_on_after(0.2):
            await agent.run("go")
        with anyio.move_on_after(0.2):
            async for _ in agent.stream("go"):
                pass
        for _ in range(100):
            if endings(journal) == [["aborted"], ["aborted"]]:
                return
            await anyio.sleep(0.02)

    anyio.run(work)
    assert endings(journal) == [["aborted"], ["aborted"]]


def test_a_dropped_stream_ends_its_turn():
    journal = MemoryJournal()

    async def work():
        async for event in Agent(model=ScriptedModel([Reply(hang=True)]), journal=journal).stream("go"):
            if type(event).__name__ == "StepStartEvent":
                break
        for _ in range(100):
            if endings(journal) == [["aborted"]]:
                return
            await asyncio.sleep(0.02)

    asyncio.run(work())
    assert endings(journal) == [["aborted"]]


def test_many_runs_at_once_and_one_after_the_other_keep_few_sessions():
    agent = Agent(model=ScriptedModel(["hi"] * 1_000))

    async def work():
        for _ in range(3):
            await asyncio.gather(*(agent.run("go") for _ in range(300)))
        return len(agent.config.journal._sessions)

    assert asyncio.run(work()) <= 512


def test_run_sync_works_inside_a_running_loop_and_from_threads():
    agent = Agent(model=ScriptedModel(["hi"] * 40))

    async def work():
        inside = agent.run_sync("go").output
        threads = await asyncio.gather(*(asyncio.to_thread(agent.run_sync, "go") for _ in range(20)))
        return inside, {result.output for result in threads}

    assert asyncio.run(work()) == ("hi", {"hi"})


def test_override_replaces_the_model_of_an_agent_and_its_subagents():
    sub = Agent("sub", model="anthropic/claude-opus-4-7", description="d")
    agent = Agent(model="anthropic/claude-opus-4-7", subagents=[sub])
    start = call("task", description="d", prompt="p", subagent_type="sub")
    model = ScriptedModel(lambda request: "done" if "." in request.session or len(request.messages) > 1 else start)
    with agent.override(model=model):
        assert agent.run_sync("go").output == "done"
    assert len(model.requests) == 3


def test_the_same_id_again_returns_the_first_result():
    agent = Agent(model=ScriptedModel(["one", "two"]))
    assert [agent.run_sync("go", id="run_7").output for _ in range(2)] == ["one", "one"]


def test_limits_tools_system_options_and_files_belong_to_a_run(tmp_path):
    (tmp_path / "note.txt").write_text("remember")
    model = ScriptedModel(["hi"])
    agent = Agent(model=model, tools=[look, pay])
    agent.run_sync(
        "go",
        limits=Limits(steps=3),
        tools={"pay": False},
        system="Be brief.",
        options={"temperature": 0.5},
        files=[tmp_path / "note.txt"],
    )
    (request,) = model.requests
    assert [spec.name for spec in request.tools] == ["look"]
    assert ("Be brief." in request.system, request.options["temperature"]) == (True, 0.5)
    assert "remember" in request.messages[0].text


def test_unknown_arguments_of_a_run_are_named():
    with pytest.raises(ConfigError, match="run: unknown argument 'temprature'"):
        Agent(model=ScriptedModel(["hi"])).run_sync("go", temprature=1)


def test_an_agent_may_be_held_open_twice_and_from_two_threads():
    agent = Agent(model=ScriptedModel(["hi"] * 20))

    async def work():
        async with agent, agent:
            first = held(agent)
            assert (await agent.run("go")).output == "hi"
        return first.engine.closing, len(agent._runtimes._open)

    assert asyncio.run(work()) == (True, 0)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert {made.result()[1] for made in [pool.submit(asyncio.run, work()) for _ in range(4)]} <= {0, 1, 2, 3}
    assert agent._runtimes._open == {}
