"""The turns that are cut at every point, each with what it must end as."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from bridle import Limits, Reply, Rule, call
from bridle.config.settings import TreeSettings
from bridle.core.inbox import AbortItem, ExtendItem, PromptItem, TurnOptions
from bridle.core.parts import OnAsk
from bridle.core.result import Result
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest
from bridle.testing.scripted import Scripted, ScriptedCall, ScriptedError
from support.cut_process import Life, Scenario, answer_once
from support.virtual import SESSION


def step_of(request: ModelRequest) -> int:
    return int(request.id.split(".")[1])


def script(*replies: Scripted, then: Scripted | None = None) -> Callable[[ModelRequest], Scripted]:
    """Replies by step number, so that a step which is asked again gets the same one."""

    def play(request: ModelRequest) -> Scripted:
        number = step_of(request)
        reply = replies[number - 1] if number <= len(replies) else then
        assert reply is not None, f"there is no step {number} in the script"
        return reply

    return play


async def begin(life: Life, scenario_options: TurnOptions, text: str = "go", id: str = "prm_one") -> None:
    await life.runtime.create(SESSION)
    await life.runtime.journal.submit(SESSION, PromptItem(id, text, options=scenario_options))
    await life.runtime.resume(SESSION)


def person(on_ask: OnAsk = "deny") -> Callable[[Life], Coroutine[Any, Any, Result]]:
    async def people(life: Life) -> Result:
        await begin(life, TurnOptions(on_ask=on_ask))
        return await life.runtime.wait(SESSION, "prm_one")

    return people


async def aborting(life: Life) -> Result:
    await begin(life, TurnOptions())
    await asyncio.sleep(5)
    await life.runtime.journal.submit(SESSION, AbortItem("abt_one"))
    return await life.runtime.wait(SESSION, "prm_one")


async def steering(life: Life) -> Result:
    await begin(life, TurnOptions())
    await life.runtime.journal.submit(SESSION, PromptItem("prm_two", "and this"))
    await life.runtime.resume(SESSION)
    await life.runtime.wait(SESSION, "prm_one")
    return await life.runtime.wait(SESSION, "prm_two")


async def answering(life: Life) -> Result:
    await begin(life, TurnOptions(on_ask="pause"))
    result = await life.runtime.wait(SESSION, "prm_one")
    while result.reason == "paused":
        for ask in result.asks:
            await answer_once(life, ask)
        await life.runtime.resume(SESSION)
        result = await life.runtime.wait(SESSION, "prm_one")
    return result


async def queueing(life: Life) -> Result:
    await begin(life, TurnOptions())
    await life.runtime.journal.submit(SESSION, PromptItem("prm_two", "later", queue=True))
    await life.runtime.resume(SESSION)
    await life.runtime.wait(SESSION, "prm_two")
    return await life.runtime.wait(SESSION, "prm_one")


async def withdrawing(life: Life) -> Result:
    """Two prompts wait; the first is taken back, in whichever life, and the second is answered."""
    await begin(life, TurnOptions())
    for id in ("prm_two", "prm_three"):
        await life.runtime.journal.submit(SESSION, PromptItem(id, "later", queue=True))
    assert await life.runtime.withdraw(SESSION, "prm_two"), "no turn takes it before: the first one is still running"
    await life.runtime.resume(SESSION)
    await life.runtime.wait(SESSION, "prm_three")
    assert (await life.runtime.wait(SESSION, "prm_two")).reason == "withdrawn"
    return await life.runtime.wait(SESSION, "prm_one")


async def extending(life: Life) -> Result:
    await begin(life, TurnOptions())
    await life.runtime.journal.submit(SESSION, ExtendItem("ext_one", "steps", 2))
    await life.runtime.resume(SESSION)
    return await life.runtime.wait(SESSION, "prm_one")


class Flaky:
    """Fails twice for every first step of a world: the provider recovers in time."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    def __call__(self, request: ModelRequest) -> Scripted:
        self.counts[step_of(request)] += 1
        if step_of(request) == 1 and self.counts[1] in (1, 2):
            return Reply(text="half", error=ScriptedError("overloaded", status=529))
        return call("look", key="a") if step_of(request) == 1 else "done"


flaky = Flaky()


def task(key: str) -> ScriptedCall:
    return call("task", description="a piece", prompt=f"do {key}", subagent_type="child")


def filling(request: ModelRequest) -> Scripted:
    """Three calls whose results fill a small window; the provider counts a token for four characters."""
    if request.purpose == "compaction":
        return "In short."
    usage = Usage(sum(len(str(message)) for message in request.messages) // 4, 10)
    if step_of(request) <= 3:
        return Reply(calls=(call("act", key=f"{request.id} www"),), usage=usage)
    return Reply(text="done", usage=usage)


LONG = "It was a long answer that came in many small pieces, one after the other. "


WORDS = {LONG, "", "Hello.", "done", "closed", "In circles.", "out of calls", "first", "second", "thinking"}


SCENARIOS = [
    Scenario("answer", script("Hello."), person(), ("answered", 1, 0)),
    Scenario("slow answer", script(Reply(text=LONG, chunk=9, pace=0.3)), person(), ("answered", 1, 0)),
    Scenario("calls", script(call("look", key="a"), call("act", key="b"), "done"), person(), ("answered", 3, 2)),
    Scenario(
        "parallel calls",
        script([call("look", key="a"), call("act", key="b"), call("act", key="c")], "done"),
        person(),
        ("answered", 2, 3),
    ),
    Scenario(
        "closing, obedient",
        script(call("act", key="a"), call("act", key="b"), "closed"),
        person(),
        ("step_cap", 3, 2),
        steps=3,
    ),
    Scenario(
        "closing, defiant",
        script(call("act", key="a"), call("act", key="b"), call("act", key="c")),
        person(),
        ("step_cap", 3, 2),
        steps=3,
    ),
    Scenario("doom loop", script(*[call("look", key="same")] * 3, then="In circles."), person(), ("doom_loop", 4, 2)),
    Scenario(
        "tool budget",
        script([call("act", key=key) for key in "abcde"], then="out of calls"),
        person(),
        ("tool_budget", 2, 3),
        limits=Limits(tool_calls=3),
    ),
    Scenario("retry", flaky, person(), ("answered", 2, 1)),
    Scenario(
        "fallback",
        lambda request: Reply(text="half", error=ScriptedError("no credit", status=402)),
        person(),
        ("answered", 2, 1),
        spare=script(call("act", key="a"), "done"),
    ),
    Scenario(
        "abort",
        script(call("act", key="a"), then=Reply(text="thinking", hang=True)),
        aborting,
        ("aborted", 2, 1),
        tool_seconds=1.0,
    ),
    Scenario("steer", script(call("act", key="a"), "first", "second"), steering, ("answered", 2, 1)),
    Scenario("queue", script("first", then="second"), queueing, ("answered", 1, 0), turns=2),
    Scenario(
        "withdrawal",
        script(Reply(text="first", delay=1.0), then="second"),
        withdrawing,
        ("answered", 1, 0),
        turns=2,
    ),
    Scenario(
        "extension",
        script(call("act", key="a"), call("act", key="b"), call("act", key="c"), then="closed"),
        extending,
        ("step_cap", 4, 3),
        steps=2,
    ),
    Scenario("empty", script(""), person(), ("empty", 1, 0)),
    Scenario(
        "subagents beside a tool",
        script([task("a"), call("act", key="b"), task("c")], "done"),
        person(),
        ("answered", 2, 3),
        child=script(call("act", key="d"), "done"),
    ),
    Scenario(
        "subagents that wait their turn",
        script([task("a"), task("b"), task("c")], "done"),
        person(),
        ("answered", 2, 3),
        child=script("done"),
        tree=TreeSettings(live=1),
    ),
    Scenario(
        "a subagent at its cap",
        script(task("a"), "done"),
        person(),
        ("answered", 2, 1),
        child=script(call("act", key="a"), call("act", key="b")),
        child_steps=2,
    ),
    Scenario(
        "a subagent that asks",
        script([task("a"), call("look", key="b")], "done"),
        answering,
        ("answered", 2, 2),
        on_ask="pause",
        child=script(call("act", key="a"), "done"),
        child_permission=(Rule("python", "act", "ask"),),
    ),
    Scenario(
        "a tree aborted",
        script([task("a"), task("b")], then="never"),
        aborting,
        ("aborted", 1, 2),
        child=script(call("act", key="a"), then=Reply(text="thinking", hang=True)),
        tool_seconds=1.0,
    ),
    Scenario(
        "a handoff beside a tool",
        script([call("transfer_to_child"), call("act", key="a")]),
        person(),
        ("answered", 3, 3),
        child=script("never", call("look", key="b"), "done"),
        child_steps=9,
        limits=Limits(tokens=90_000),
        handoffs=("child",),
    ),
    Scenario(
        "synthesis",
        lambda request: "done" if request.purpose == "synthesis" else [call("gather", key=key) for key in "ab"],
        person(),
        ("synthesized", 1, 2),
        tools={"gather": True},
    ),
    Scenario(
        "compaction",
        filling,
        person(),
        ("answered", 4, 3),
        window=10_000,
    ),
    Scenario(
        "a title beside the steps",
        script(call("act", key="a"), Reply(calls=(call("look", key="b"),), delay=1.0), "done"),
        person(),
        ("answered", 3, 2),
        title=Reply(text="A good name", delay=0.5),
    ),
    Scenario(
        "a title that comes too late",
        script(call("act", key="a"), "done"),
        person(),
        ("answered", 2, 1),
        title=Reply(text="A good name", delay=20.0),
    ),
    Scenario(
        "files kept around calls",
        script(call("look", key="a"), [call("act", key="b"), call("act", key="c")], call("act", key="d"), "done"),
        person(),
        ("answered", 4, 4),
        keeps_files=True,
    ),
    Scenario(
        "token budget",
        script(Reply(calls=(call("act", key="a"),), usage=Usage(55_000, 3_000)), then="never"),
        person(),
        ("token_budget", 1, 1),
        limits=Limits(tokens=60_000),
    ),
    Scenario(
        "pause and answer",
        script([call("act", key="a"), call("look", key="b")], "done"),
        answering,
        ("answered", 2, 2),
        on_ask="pause",
        permission=(Rule("python", "act", "ask"),),
    ),
]
