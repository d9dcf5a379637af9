"""The library under misuse: turns at once, names that meet, and values that are wrong."""

import asyncio
import threading

import msgspec
import pytest

from bridle import Agent, ConfigError, Output, Reply, Rule, Runtime, RuntimeConfig, ScriptedModel, Settings, call, tool
from bridle.core.agent import AgentDefinition as Definition
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Delegation, File
from bridle.journal.memory import MemoryJournal
from bridle.runtime.transfer import rename_session

MINE = {"description": "d", "prompt": "p"}


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
        assert posted.wait(60)
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
    assert begun.wait(60)
    results.append(asyncio.run(second()))
    thread.join()
    assert [result.reason for result in results] == ["answered", "answered"]
    assert "and this" in [message.text for message in model.requests[1].messages if hasattr(message, "text")]


def test_a_journal_that_the_caller_opened_stays_open():
    journal = MemoryJournal()

    async def work():
        async with Runtime(RuntimeConfig(journal=journal)) as other:
            session = await other.create()
            lease = await other.journal.acquire(session)
            await Agent(model=ScriptedModel(["one"]), journal=journal).run("go")
            return await journal.held(session), lease is not None

    assert asyncio.run(work()) == (True, True)


# Names that meet.


def tools_called(name, *replies):
    """A function tool of this name for each reply."""

    def made(reply):
        @tool(name=name)
        def function() -> str:
            return reply

        function.tool.spec = msgspec.structs.replace(function.spec, description=reply)
        return function

    return [made(reply) for reply in replies]


def results(model):
    return [
        message.text for request in model.requests for message in request.messages if message.id.endswith(".result")
    ]


def test_each_agent_of_a_tree_runs_its_own_tools():
    own, first, second = tools_called("f", "the parent's", "the first's", "the second's")
    models = [ScriptedModel([call("f"), "done"], ref="same/model") for _ in range(2)]
    subagents = [
        Agent(name, model=model, tools=[made])
        for name, model, made in zip(("first", "second"), models, (first, second), strict=True)
    ]
    parent = ScriptedModel(
        [
            Reply(calls=(call("f"), *(call("task", **MINE, subagent_type=name) for name in ("first", "second")))),
            "done",
        ],
        ref="same/model",
    )
    agent = Agent("parent", model=parent, tools=[own], subagents=subagents, permission=[Rule("*", "*", "allow")])
    assert agent.run_sync("go").reason == "answered"
    assert results(parent)[0] == "the parent's"
    assert [results(model) for model in models] == [["the first's"], ["the second's"]]


def test_a_tool_that_is_off_for_an_agent_is_off_below_it_only_where_it_is_the_same_tool():
    (shared,) = tools_called("shared", "shared")
    mine, theirs = tools_called("f", "mine", "theirs")
    below = ScriptedModel([call("f"), "done"])
    child = Agent("child", model=below, tools=[theirs, shared])
    above = ScriptedModel([call("task", **MINE, subagent_type="child"), "done"])
    agent = Agent("parent", model=above, tools=[mine, shared], subagents=[child], permission=[Rule("*", "*", "allow")])

    async def work():
        async with agent.runtime() as runtime:
            session = await runtime.create()
            options = TurnOptions(agent="parent", model=agent._definition.model, tools={"f": False, "shared": False})
            return await runtime.wait(session, await runtime.prompt(session, "go", options=options))

    assert asyncio.run(work()).reason == "answered"
    assert [spec.name for spec in above.requests[0].tools] == ["task"]
    assert [spec.name for spec in below.requests[0].tools] == ["f"]
    assert results(below) == ["theirs"]


def test_two_of_one_name_are_refused_when_the_agent_is_made():
    one, other = tools_called("f", "one", "other")
    model = ScriptedModel()
    with pytest.raises(ConfigError, match="agent x: tools: two tools are called 'f'"):
        Agent("x", model=model, tools=[one, other])
    with pytest.raises(ConfigError, match="agent x: subagents: two agents are called 'a'"):
        Agent("x", model=model, subagents=[Agent("a", model=model), Agent("a", model=model, instructions="other")])
    with pytest.raises(ConfigError, match="agent x: subagents: two agents are called 'x'"):
        Agent("x", model=model, subagents=[Agent("x", model=model)])
    with pytest.raises(ConfigError, match="agent x: tools: 'task' is the tool that starts subagents"):
        Agent("x", model=model, tools=tools_called("task", "t"), subagents=[Agent("a", model=model)])
    same = Agent("a", model=model)
    Agent("x", model=model, tools=[one, one], subagents=[same, Agent("b", model=model, subagents=[same])])


# Values that are wrong.


def test_a_verdict_that_there_is_none_of_is_an_error_where_the_rule_is_made():
    with pytest.raises(ConfigError, match="Rule: verdict must be allow, ask or deny, not 'denny'"):
        Rule("python", "*", "denny")


WRONG = [
    (lambda: Agent(model=ScriptedModel(), on_ask="alow"), "on_ask"),
    (lambda: Agent(5, model=ScriptedModel()), "name"),
    (lambda: Agent(model=ScriptedModel(), prompt=5), "prompt"),
    (lambda: Agent(model=ScriptedModel(), permission=["deny"]), "permission"),
    (lambda: Agent(model=ScriptedModel(), settings=Settings(permission={"bash": "denny"})), "permission"),
    (lambda: Runtime(RuntimeConfig(agents=[Definition("a", mode="secondary")])), "mode"),
    (lambda: Runtime(RuntimeConfig(settings=Settings(agent=5))), "agent"),
    (lambda: Runtime(RuntimeConfig(settings={"agent": "build"})), "settings"),
    (lambda: Runtime(RuntimeConfig(restrictions=[("deny",)])), "restrictions"),
]


@pytest.mark.parametrize(("make", "named"), WRONG, ids=[named for _, named in WRONG])
def test_a_value_outside_its_set_is_an_error_that_names_the_argument(make, named):
    with pytest.raises(ConfigError, match=named):
        make()


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def test_a_rule_that_names_a_tool_instead_of_its_permission_is_an_error():
    with pytest.raises(ConfigError, match=r"permission: .*'pay' is a tool.*Rule\('python', 'pay', 'deny'\)"):
        Agent(model=ScriptedModel(), tools=[pay], permission=[Rule("pay", "*", "deny")])
    model = ScriptedModel([call("pay", amount=3), "Done."])
    agent = Agent(model=model, tools=[pay], permission=[Rule("python", "*", "allow"), Rule("python", "pay", "deny")])
    agent.run_sync("go")
    assert "paid" not in results(model)[0]


POISON = [
    ("choice", lambda runtime, session: runtime.answer(session, "1.1.1.0.0.bash", "yes")),
    ("ask", lambda runtime, session: runtime.answer(session, 5, "once")),
    ("feedback", lambda runtime, session: runtime.answer(session, "x", "reject", None)),
    ("on_ask", lambda runtime, session: runtime.prompt(session, "x", options=TurnOptions(on_ask="maybe"))),
    ("on_ask", lambda runtime, session: runtime.prompt(session, "x", reply=False, options=TurnOptions(on_ask="no"))),
    ("tools", lambda runtime, session: runtime.prompt(session, "x", options=TurnOptions(tools={"bash": "off"}))),
    ("limits", lambda runtime, session: runtime.prompt(session, "x", options=TurnOptions(limits={"stepz": 1}))),
    (
        "limits",
        lambda runtime, session: runtime.prompt(
            session, "x", reply=False, options=TurnOptions(limits={"cost": float("nan")})
        ),
    ),
    ("output", lambda runtime, session: runtime.prompt(session, "x", options=TurnOptions(output={"x": object()}))),
    (
        "delegation",
        lambda runtime, session: runtime.prompt(
            session, "x", options=TurnOptions(delegation=Delegation("p", "c", "a", 1))
        ),
    ),
    ("options", lambda runtime, session: runtime.prompt(session, "x", options={"agent": "build"})),
    ("files", lambda runtime, session: runtime.prompt(session, "x", files=[File("a", media=5)])),
    ("files", lambda runtime, session: runtime.prompt(session, "x", files=["a.txt"])),
    ("text", lambda runtime, session: runtime.prompt(session, 5)),
    ("queue", lambda runtime, session: runtime.prompt(session, "x", queue="no")),
    ("id", lambda runtime, session: runtime.prompt(session, "x", id=5)),
    ("id", lambda runtime, session: runtime.prompt(session, "x", id="2.start")),
    ("id", lambda runtime, session: runtime.prompt(session, "x", id="half \ud800")),
    ("system", lambda runtime, session: runtime.prompt(session, "x", options=TurnOptions(system=7))),
    ("detail", lambda runtime, session: runtime.abort(session, detail=None)),
    ("turn", lambda runtime, session: runtime.abort(session, turn="1")),
    ("limit", lambda runtime, session: runtime.extend(session, "stepz", 1)),
    ("by", lambda runtime, session: runtime.extend(session, "cost", "1")),
    ("title", lambda runtime, session: rename_session(runtime, session, None)),
    ("command", lambda runtime, session: runtime.shell(session, 5)),
    ("prompt", lambda runtime, session: runtime.withdraw(session, 5)),
    ("call", lambda runtime, session: runtime.supply(session, 5, "x")),
    ("output", lambda runtime, session: runtime.supply(session, "1.1.1.0.0", None)),
    ("pinned", lambda runtime, session: runtime.pin(session, "yes")),
    ("archived", lambda runtime, session: runtime.archive(session, 5)),
    ("approvals", lambda runtime, session: runtime.set_approvals(session, "always")),
    ("place", lambda runtime, session: runtime.move(session, 5)),
    ("metadata", lambda runtime, session: runtime.prompt(session, "x", metadata={"a": object()})),
    ("metadata", lambda runtime, session: runtime.prompt(session, "x", metadata=5)),
    ("wants", lambda runtime, session: runtime.prompt(session, "x", wants="scout")),
    ("subtask", lambda runtime, session: runtime.prompt(session, "x", subtask=5)),
    ("fallbacks", lambda runtime, session: runtime.prompt(session, "x", options=TurnOptions(fallbacks="m"))),
    ("account", lambda runtime, session: runtime.prompt(session, "x", options=TurnOptions(account=5))),
    ("arguments", lambda runtime, session: runtime.answer(session, "x", "once", arguments=[5])),
    ("messages", lambda runtime, session: runtime.create(messages=[5])),
    ("id", lambda runtime, session: runtime.create(5)),
    ("id", lambda runtime, session: runtime.create("../../elsewhere")),
    ("id", lambda runtime, session: runtime.create("day")),
]


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_what_a_caller_passes_never_makes_a_session_unreadable(kept, tmp_path):
    agent = Agent(model=ScriptedModel(["one", "two"]), journal=tmp_path / "journal.db" if kept == "file" else None)

    async def work():
        async with agent.runtime() as runtime:
            session = await runtime.create()
            options = agent.turn_options
            await runtime.wait(session, await runtime.prompt(session, "go", options=options))
            before = await runtime.journal.load(session)
            for named, poison in POISON:
                with pytest.raises(ConfigError, match=named):
                    await poison(runtime, session)
                assert (await runtime.journal.inbox(session), len(await runtime.sessions())) == ([], 1), named
            assert await runtime.journal.load(session) == before
            return (await runtime.wait(session, await runtime.prompt(session, "more", options=options))).text

    assert asyncio.run(work()) == "two"


OUTPUTS = [
    Output("x", kept="yes"),
    Output(5),
    Output("x", files=[3]),
    Output("x", synthesize="always"),
    Output("x", attached=("a.png",)),
]


@pytest.mark.parametrize("output", OUTPUTS, ids=repr)
def test_an_output_of_the_wrong_shape_fails_its_call_and_nothing_else(output, tmp_path):
    @tool
    def odd() -> Output:
        """Return something odd."""
        return output

    model = ScriptedModel([call("odd"), "went on", "again"])
    agent = Agent(model=model, tools=[odd], permission=[Rule("*", "*", "allow")], journal=tmp_path / "journal.db")
    first = agent.run_sync("go")
    assert (first.reason, first.text) == ("answered", "went on")
    assert "odd returned" in results(model)[0]
    assert agent.run_sync("more", session=first.session).text == "again"


def test_what_is_right_is_taken_as_it_was_given():
    options = TurnOptions(on_ask="pause", tools={"f": False}, limits={"steps": 3, "cost": 0.5}, output={"a": [1, None]})
    model = ScriptedModel(["one"])

    async def work():
        async with Runtime(RuntimeConfig(models={"m": model}, agents=[Definition("build", model="m")])) as runtime:
            session = await runtime.create("mine-1.a")
            await runtime.prompt(session, "half \ud800", id="web/7", reply=False, options=options)
            await runtime.parked(session)
            return (await runtime.load(session)).prompts, await runtime.journal.inbox(session)

    assert asyncio.run(work()) == ({"web/7": 0}, [])
