"""One budget over a tree: whatever the order of events, spending stays within it and nobody is closed without need."""

import asyncio

import pytest
from support.cut_process import WiredJournal
from support.shared_budgets import PRICE, TREE, check_roomy, check_tight
from support.trees import ROOT, family, spawn
from support.virtual import run_virtually

from bridle import Agent, Limits, Reply, ScriptedModel, Settings, TreeLimits, call
from bridle.config.settings import Allowance, LimitSettings
from bridle.core.parts import Notice, Request
from bridle.core.states import Cut, Usage
from bridle.testing.scripted import ScriptedError

SCHEDULES = 500
SHARES = 10


@pytest.mark.slow
def test_spending_stays_within_a_budget_that_is_shared_with_the_background():
    for seed in range(SCHEDULES, SCHEDULES + 40):
        check_tight(seed, background=True)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_spending_stays_within_a_budget_in_every_order_of_events(share):
    for seed in range(share, SCHEDULES, SHARES):
        check_tight(seed) if seed % 2 else check_roomy(seed)


def test_a_childs_request_waits_for_the_reservations_of_others():
    """Two children, and money for the worst case of one at a time: the second waits, and both answer."""
    story = family(
        root=[[spawn("a"), spawn("b")], "both"],
        child=lambda request: Reply(text="ok", usage=Usage(100, 10), delay=10),
        price=PRICE,
        limits=Limits(cost=0.030),
        tree=TREE,
    )
    assert [made.state.report.reason for made in story.calls()] == ["answered", "answered"]
    # The second looks again every quarter of a second.
    assert (20.0 <= story.result.seconds <= 20.25, story.most_at_once) == (True, 1)


def test_the_tree_has_a_budget_of_its_own():
    story = family(
        root=[[spawn("a"), spawn("b")], "told"],
        child=lambda request: call("look", key=f"{request.messages[0].id} {request.id}"),
        tree=TreeLimits(steps=7, live=2),
        child_limits=Limits(tool_calls=50),
    )
    assert {made.state.report.reason for made in story.calls()} == {"tree_budget"}
    assert sum(finish.spent.steps for finish in story.finishes()) <= 7
    assert story.result.reason in ("answered", "tree_budget")


def test_a_turn_is_told_once_that_the_tree_has_little_left():
    looks = [call("look", key=str(n)) for n in range(16)]
    story = family(root=[spawn("a"), *looks, "done"], child=["ok"], tree=TreeLimits(steps=20))
    told = [part for part in story.sessions[ROOT].parts.values() if isinstance(part, Notice) and part.about == "budget"]
    assert [notice.text for notice in told] == ["Tree step limit nearly reached (16 of 20)"]
    assert (story.result.reason, story.result.steps) == ("answered", 18)


def test_a_reservation_of_a_dead_process_is_settled_by_whoever_it_stands_in_the_way_of():
    """A session of another process died in its request, and holds most of the day's money."""

    async def work(seams):
        journal = WiredJournal()
        limits = LimitSettings(daily=Allowance(cost=0.013))

        def agent(name, play):
            model = ScriptedModel(play, price=PRICE, ref=name, max_output_tokens=2_048)
            return Agent(name, model=model, seams=seams, journal=journal, settings=Settings(limits=limits))

        dying = agent("dying", lambda request: Reply(hang=True)).runtime()
        dead = await dying.create("ses_dead")
        await dying.prompt(dead, "go")
        await asyncio.sleep(1)
        held = (await journal.account("ses_dead/1")).held
        journal._sessions[dead].held = False
        result = await agent("living", lambda request: "ok").run("go")
        account = await journal.account("ses_dead/1")
        await dying.close()
        return held, account, result, (await journal.account("day/2023-11-14")).spent.cost

    held, account, result, spent = run_virtually(work)
    assert len(held) == 1 and account.held == {}
    assert account.spent == next(iter(held.values()))
    assert result.reason == "cost_budget"
    assert spent <= 0.013


def short_of_money(*, people=None, child_limits=None, fails_first=False):
    """Two children, money for one at a time, and the one who has it is slow: the requests that the other sent."""
    asked = []

    def child(request):
        asked.append(request.session)
        if fails_first and len(asked) == 1:
            return Reply(error=ScriptedError("busy", 503, {"retry-after": "2"}))
        return Reply(text="ok", usage=Usage(100, 10), delay=60)

    story = family(
        root=[[spawn("a"), spawn("b")], "told"],
        child=child,
        price=PRICE,
        limits=Limits(cost=0.030),
        child_limits=child_limits,
        tree=TREE,
        people=people,
    )
    other = next(id for id in story.sessions if "." in id and (id == asked[0]) == fails_first)
    sent = [part.state for part in story.sessions[other].parts.values() if isinstance(part, Request)]
    return story, sent


async def abort_soon(runtime, session, prompt):
    await asyncio.sleep(20)
    await runtime.abort(session)


@pytest.mark.parametrize("tried", [False, True])
def test_an_abort_ends_the_wait_for_the_reservations_of_others(tried):
    story, sent = short_of_money(people=abort_soon, fails_first=tried)
    assert (story.result.reason, story.result.seconds < 22) == ("aborted", True)
    assert [finish.reason for finish in story.finishes()] == ["aborted"] * 3
    assert sent == [Cut("abort", Usage(), 0.0)] * tried


@pytest.mark.parametrize("tried", [False, True])
def test_nobody_waits_for_the_reservations_of_others_beyond_their_own_time(tried):
    story, sent = short_of_money(child_limits=Limits(seconds=41), fails_first=tried)
    assert [made.state.report.reason for made in story.calls()] == ["time_budget"] * 2
    assert sent[:tried] == [Cut("deadline", Usage(), 0.0)] * tried


def test_a_turn_that_ends_while_its_reservation_is_looked_at_is_left_alone():
    class Changing(WiredJournal):
        """Between the list of those who hold something and the look at them, the other process gets done."""

        ends = None

        async def holding(self, owner):
            rows = await super().holding(owner)
            if rows:
                await self.ends()
            return rows

    async def work(seams):
        journal = Changing()
        limits = LimitSettings(daily=Allowance(cost=0.013))

        def agent(name, play):
            model = ScriptedModel(play, price=PRICE, ref=name, max_output_tokens=2_048)
            return Agent(name, model=model, seams=seams, journal=journal, settings=Settings(limits=limits))

        other = agent("other", lambda request: Reply(text="mine", delay=5)).runtime()
        session = await other.create("ses_other")
        prompt = await other.prompt(session, "go")
        await asyncio.sleep(1)
        journal.ends = lambda: other.wait(session, prompt)
        result = await agent("living", lambda request: "ok").run("go")
        entries = await journal.load(session)
        await other.close()
        return result, await other.wait(session, prompt), entries, await journal.load(session)

    result, others, before, after = run_virtually(work)
    assert (result.reason, others.reason, others.text) == ("answered", "answered", "mine")
    assert before == after
