"""A process may die before and after every write and every effect, and again while it recovers."""

import asyncio
from collections import Counter
from copy import copy
from dataclasses import dataclass, field, replace

import pytest
from support.oracle import read_turn
from support.virtual import SESSION, Cutter, Life, Scenario, World, answer_once, live, note_endings, reboot

from bridle import Limits, Reply, Rule, call
from bridle.config.settings import TreeSettings
from bridle.core.fold import fold, load
from bridle.core.inbox import AbortItem, ExtendItem, PromptItem, TurnOptions
from bridle.core.limits import NOTHING
from bridle.core.parts import Patch, Request, Sentinel, StepStart, Text, TurnFinish
from bridle.core.replay import verified
from bridle.core.session import Session
from bridle.core.states import Usage
from bridle.journal.memory import MemoryJournal
from bridle.testing.scripted import ScriptedError
from bridle.turn.closing import QUIET


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
    await life.runtime.resume(SESSION)


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
    await life.runtime.resume(SESSION)
    await life.runtime.wait(SESSION, "prm_one")
    return await life.runtime.wait(SESSION, "prm_two")


async def answering(life):
    await begin(life, TurnOptions(on_ask="pause"))
    result = await life.runtime.wait(SESSION, "prm_one")
    while result.reason == "paused":
        for ask in result.asks:
            await answer_once(life, ask)
        await life.runtime.resume(SESSION)
        result = await life.runtime.wait(SESSION, "prm_one")
    return result


async def queueing(life):
    await begin(life, TurnOptions())
    await life.runtime.journal.submit(SESSION, PromptItem("prm_two", "later", queue=True))
    await life.runtime.resume(SESSION)
    await life.runtime.wait(SESSION, "prm_two")
    return await life.runtime.wait(SESSION, "prm_one")


async def extending(life):
    await begin(life, TurnOptions())
    await life.runtime.journal.submit(SESSION, ExtendItem("ext_one", "steps", 2))
    await life.runtime.resume(SESSION)
    return await life.runtime.wait(SESSION, "prm_one")


def flaky(request, counts=None):
    """Fails twice for every first step of a world: the provider recovers in time."""
    counts = flaky.counts
    counts[step_of(request)] += 1
    if step_of(request) == 1 and counts[1] in (1, 2):
        return Reply(text="half", error=ScriptedError("overloaded", status=529))
    return call("look", key="a") if step_of(request) == 1 else "done"


flaky.counts = Counter()


def task(key):
    return call("task", description="a piece", prompt=f"do {key}", subagent_type="child")


def filling(request):
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


@dataclass
class Left:
    """All that is left of processes that died: what was written down, and what they did to the world."""

    store: MemoryJournal = field(default_factory=MemoryJournal)
    world: World = field(default_factory=World)
    counts: Counter = field(default_factory=Counter)
    """What the flaky provider remembers."""

    def copied(self):
        store = MemoryJournal()
        for id, kept in self.store._sessions.items():
            store._sessions[id] = replace(kept, entries=list(kept.entries), inbox=dict(kept.inbox))
        store._accounts.update(self.store._accounts)
        world = World(**{name: copy(value) for name, value in vars(self.world).items()})
        return Left(store, world, Counter(self.counts))

    def told(self):
        """All of it in words: who finds the same lives on in the same way."""
        world = {**vars(self.world), "ended": sorted(self.world.ended), "requests": len(self.world.requests)}
        return repr((self.store._sessions, self.store._accounts, world | {"streaming": ()}, self.counts))


def lived(scenario, left, life, at=None):
    """One more life on a copy of what is left, cut at a point or to its end: its result, what is left, its points."""
    left, cutter = left.copied(), Cutter(at)
    flaky.counts = left.counts
    result = live(scenario, left.store, left.world, cutter, life=life)
    assert (result is None) == (at is not None), "it dies where it is cut, and else it ends"
    if result is None:
        reboot(left.store)
        note_endings(left.store, left.world)
    return result, left, cutter.names


def play(scenario, *cuts):
    """Live through these cuts, then to the end."""
    left = Left()
    for life, at in enumerate(cuts):
        _, left, _ = lived(scenario, left, life, at)
    return lived(scenario, left, len(cuts))


def folded(entries, story):
    """The session, with the fold compared to a full scan after every entry."""
    session = Session()
    for entry in entries:
        fold(session, entry)
        if session.turn is not None:
            view = session.view(session.elapsed)
            assert view == read_turn(entries[: entry.sequence], view.crowded), story
    return session


def check(scenario, result, left, cuts, requests):
    store, world = left.store, left.world
    story = f"{scenario.name}, cut at {cuts}"
    sessions = {id: folded(kept.entries, f"{story}, {id}") for id, kept in store._sessions.items()}
    assert [verified(kept.entries) for kept in store._sessions.values()] == [None] * len(sessions), story
    session = sessions[SESSION]
    parts = list(session.parts.values())
    turns = range(1, scenario.turns + 1)
    assert (result.reason, result.steps, result.tool_calls) == scenario.ends, story
    assert result.text.strip(), story
    assert [part.number for part in parts if isinstance(part, TurnFinish)] == list(turns), story
    assert sum(isinstance(part, Sentinel) for part in parts) == (scenario.ends[0] not in QUIET), story
    steps = [part.id for part in parts if isinstance(part, StepStart)]
    assert steps == [f"{turn}.{step}.start" for turn in turns for step in range(1, result.steps + 1)], story
    assert [key for key in world.started if key.startswith("act") and world.started[key] > 1] == [], story
    assert world.ran_after_end == [], story
    assert world.invalid == [], story
    for account in store._accounts.values():
        assert (account.reserved, account.held, account.keeps) == (NOTHING, {}, NOTHING), story
        assert (account.children, account.live) == (0, 0), story
    for id, one in sessions.items():
        spent, below = one.view(0.0).spent, one.turn.below
        ledger = store._accounts[one.turn.start.account].spent
        assert (ledger.steps, ledger.tool_calls) == (
            spent.steps + below.steps,
            spent.tool_calls + below.tool_calls,
        ), (story, id)
        assert (ledger.tokens, ledger.cost) == (spent.tokens, spent.cost), (story, id)
        assert one.turn.finish is not None, (story, id)
        assert sum(isinstance(part, TurnFinish) for part in one.parts.values()) == one.turns, (story, id)
        words = [part.text for part in one.parts.values() if isinstance(part, Text) and part.by == "model"]
        assert set(words) <= WORDS, story
        assert not one.turn.batch, (story, id)
    assert sum(isinstance(part, Request) for part in parts) <= requests + len(cuts), story
    assert set(session.prompts.values()) == set(turns), story
    # Whatever was kept before a call was compared after it, by whoever came next.
    assert {part.state for part in parts if isinstance(part, Patch)} == ({"taken"} if scenario.keeps_files else set())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_turn_resumes_from_every_point_to_the_same_ending(scenario):
    whole, left, points = play(scenario)
    requests = sum(isinstance(part, Request) for part in load(left.store._sessions[SESSION].entries).parts.values())
    check(scenario, whole, left, (), requests)
    assert len(points) > 8
    # Deaths that leave the same behind are followed by the same life, which is lived once.
    once, twice, tried = {}, set(), set()
    for at in range(1, len(points) + 1):
        _, dead, _ = lived(scenario, Left(), 0, at)
        found = dead.told()
        if found not in once:
            result, left, second = lived(scenario, dead, 1)
            check(scenario, result, left, (at,), requests)
            once[found] = len(second)
        # A second death is tried at every third point; in trees, which have many more points, at every ninth.
        stride = 3 if scenario.child is None else 9
        for again in range(1 + at % stride, once[found] + 1, stride):
            if (found, again) in tried:
                continue
            tried.add((found, again))
            _, dead_again, _ = lived(scenario, dead, 1, again)
            if (found_again := dead_again.told()) not in twice:
                twice.add(found_again)
                result, left, _ = lived(scenario, dead_again, 2)
                check(scenario, result, left, (at, again), requests)


def test_a_step_that_kills_its_process_three_times_is_an_error():
    scenario = Scenario("deadly", script("done"), person(), ("error", 1, 0))
    _, _, points = play(scenario)
    cuts = [points.index("model before") + 1]
    for _ in range(2):
        result, _, points = play(scenario, *cuts)
        assert result.reason == "answered"
        cuts.append(points.index("model before") + 1)
    result, left, _ = play(scenario, *cuts)
    assert (result.reason, result.steps) == ("error", 1)
    assert "death of the process 3 times" in result.detail
    assert [account.held for account in left.store._accounts.values()] == [{}]
