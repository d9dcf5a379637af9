"""A process may die before and after every write and every effect, and again while it recovers."""

import asyncio
from collections import Counter

import pytest
from harness import SESSION, Cutter, Life, Scenario, World, live, note_endings, reboot
from oracle import read_turn

from bridle import Limits, Reply, Rule, call
from bridle.core.fold import fold, load
from bridle.core.inbox import AbortItem, AnswerItem, ExtendItem, PromptItem, TurnOptions
from bridle.core.limits import NOTHING
from bridle.core.parts import Request, Sentinel, StepStart, Text, TurnFinish
from bridle.core.session import Session
from bridle.core.states import Asking, Usage
from bridle.journal.memory import MemoryJournal
from bridle.testing.scripted import ScriptedError


def step_of(request):
    return int(request.id.split(".")[1])


def script(*replies, then=None):
    """Replies by step number, so that a step which is asked again gets the same one."""

    def play(request):
        number = step_of(request)
        return replies[number - 1] if number <= len(replies) else then

    return play


async def begin(life: Life, scenario_options: TurnOptions, text: str = "go", id: str = "prm_one") -> None:
    await life.runtime.create(SESSION)
    await life.runtime.journal.submit(SESSION, PromptItem(id, text, options=scenario_options))
    life.runtime.resume(SESSION)


def person(on_ask="deny"):
    async def people(life):
        await begin(life, TurnOptions(on_ask=on_ask))
        return await life.runtime.wait(SESSION, "prm_one")

    return people


async def aborting(life):
    await begin(life, TurnOptions())
    await asyncio.sleep(5)
    await life.runtime.journal.submit(SESSION, AbortItem("abt_one"))
    return await life.runtime.wait(SESSION, "prm_one")


async def steering(life):
    await begin(life, TurnOptions())
    await life.runtime.journal.submit(SESSION, PromptItem("prm_two", "and this"))
    life.runtime.resume(SESSION)
    await life.runtime.wait(SESSION, "prm_one")
    return await life.runtime.wait(SESSION, "prm_two")


async def answering(life):
    await begin(life, TurnOptions(on_ask="pause"))
    result = await life.runtime.wait(SESSION, "prm_one")
    while result.reason == "paused":
        for ask in result.asks:
            await life.runtime.journal.submit(SESSION, AnswerItem(f"ans_{ask.id}", ask.id, "once"))
        life.runtime.resume(SESSION)
        result = await life.runtime.wait(SESSION, "prm_one")
    return result


async def queueing(life):
    await begin(life, TurnOptions())
    await life.runtime.journal.submit(SESSION, PromptItem("prm_two", "later", queue=True))
    life.runtime.resume(SESSION)
    await life.runtime.wait(SESSION, "prm_two")
    return await life.runtime.wait(SESSION, "prm_one")


async def extending(life):
    await begin(life, TurnOptions())
    await life.runtime.journal.submit(SESSION, ExtendItem("ext_one", "steps", 2))
    life.runtime.resume(SESSION)
    return await life.runtime.wait(SESSION, "prm_one")


def flaky(request, counts=None):
    """Fails twice for every first step of a world: the provider recovers in time."""
    counts = flaky.counts
    counts[step_of(request)] += 1
    if step_of(request) == 1 and counts[1] in (1, 2):
        return Reply(text="half", error=ScriptedError("overloaded", status=529))
    return call("look", key="a") if step_of(request) == 1 else "done"


flaky.counts = Counter()

LONG = "It was a long answer that came in many small pieces, one after the other. "
WORDS = {LONG, "", "Hello.", "done", "closed", "In circles.", "out of calls", "first", "second"}

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
        "abort",
        script(call("act", key="a"), then=Reply(text="thinking", hang=True)),
        aborting,
        ("aborted", 2, 1),
        tool_seconds=1.0,
    ),
    Scenario("steer", script(call("act", key="a"), "first", "second"), steering, ("answered", 2, 1)),
    Scenario("queue", script("first", then="second"), queueing, ("answered", 1, 0), turns=2),
    Scenario(
        "extension",
        script(call("act", key="a"), call("act", key="b"), call("act", key="c"), then="closed"),
        extending,
        ("step_cap", 4, 3),
        steps=2,
    ),
    Scenario("empty", script(""), person(), ("empty", 1, 0)),
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


def play(scenario, *cuts):
    """Live through these cuts, then to the end; returns what is left and how many points the last life had."""
    flaky.counts = Counter()
    store, world = MemoryJournal(), World()
    for life, at in enumerate((*cuts, None)):
        cutter = Cutter(at)
        result = live(scenario, store, world, cutter, life=life)
        if result is not None:
            return result, store, world, cutter
        reboot(store)
        note_endings(store, world)
    raise AssertionError("the last life was not cut and did not end")


def folded(entries, story):
    """The session, with the fold compared to a full scan after every entry."""
    session = Session()
    for entry in entries:
        fold(session, entry)
        if session.turn is not None:
            view = session.view(session.elapsed)
            assert view == read_turn(entries[: entry.sequence], view.crowded), story
    return session


def check(scenario, result, store, world, cuts, requests):
    story = f"{scenario.name}, cut at {cuts}"
    session = folded(store._sessions[SESSION].entries, story)
    parts = list(session.parts.values())
    turns = range(1, scenario.turns + 1)
    assert (result.reason, result.steps, result.tool_calls) == scenario.ends, story
    assert result.text.strip(), story
    assert [part.number for part in parts if isinstance(part, TurnFinish)] == list(turns), story
    assert sum(isinstance(part, Sentinel) for part in parts) == (scenario.ends[0] != "answered"), story
    steps = [part.id for part in parts if isinstance(part, StepStart)]
    assert steps == [f"{turn}.{step}.start" for turn in turns for step in range(1, result.steps + 1)], story
    assert [key for key in world.started if key.startswith("act") and world.started[key] > 1] == [], story
    assert world.ran_after_end == [], story
    assert [(account.reserved, account.held) for account in store._accounts.values()] == [(NOTHING, {})] * len(turns)
    assert store._accounts[f"{SESSION}/{scenario.turns}"].spent == session.view(0.0).spent, story
    words = [part.text for part in parts if isinstance(part, Text) and part.by == "model"]
    assert len(words) <= result.steps * len(turns) and set(words) <= WORDS, story
    assert not any(isinstance(state, Asking) for state in session.turn.batch.values()), story
    assert sum(isinstance(part, Request) for part in parts) <= requests + len(cuts), story
    assert set(session.prompts.values()) == set(turns), story


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_turn_resumes_from_every_point_to_the_same_ending(scenario):
    whole, store, world, cutter = play(scenario)
    requests = sum(isinstance(part, Request) for part in load(store._sessions[SESSION].entries).parts.values())
    check(scenario, whole, store, world, (), requests)
    points = len(cutter.names)
    assert points > 8
    for at in range(1, points + 1):
        result, store, world, second = play(scenario, at)
        check(scenario, result, store, world, (at,), requests)
        for again in range(1 + at % 3, len(second.names) + 1, 3):
            result, store, world, _ = play(scenario, at, again)
            check(scenario, result, store, world, (at, again), requests)


def test_a_step_that_kills_its_process_three_times_is_an_error():
    scenario = Scenario("deadly", script("done"), person(), ("error", 1, 0))
    _, _, _, cutter = play(scenario)
    deadly = cutter.names.index("model before") + 1
    cuts = [deadly]
    for _ in range(2):
        result, _, _, cutter = play(scenario, *cuts)
        assert result.reason == "answered"
        cuts.append(cutter.names.index("model before") + 1)
    result, store, _, _ = play(scenario, *cuts)
    assert (result.reason, result.steps) == ("error", 1)
    assert "death of the process 3 times" in result.detail
    assert [account.held for account in store._accounts.values()] == [{}]
