"""Subagents: children as sessions of their own, counted over the tree, reported truthfully."""

import asyncio

import pytest
from support.trees import ROOT, family, spawn

from bridle import Limits, Reply, Rule, call
from bridle.core.inbox import ChildEndedItem, PromptItem
from bridle.core.ledger import TreeLimits
from bridle.core.limits import NOTHING
from bridle.core.parts import Prompt, TurnStart
from bridle.core.states import Done, Failed, Refused, Waiting
from bridle.testing.scripted import ScriptedError


def test_children_work_beside_ordinary_tools_and_their_reports_reach_the_parent():
    story = family(
        root=[[spawn("find a"), call("look", key="x"), spawn("find b")], "both found"],
        child=lambda request: f"done: {request.messages[0].text}",
    )
    assert (story.result.reason, story.result.text) == ("answered", "both found")
    assert story.ran == ["look x"]
    first, look, second = (part.state for part in story.calls())
    assert isinstance(look, Done)
    assert first.output == "[subagent ses_root.1.1.1.0.0: answered]\n\ndone: find a"
    assert second.output == "[subagent ses_root.1.1.1.0.2: answered]\n\ndone: find b"
    assert (story.result.steps, story.result.tool_calls) == (2, 3)
    # Tokens of the children are the parent's too: 11 for the calls, and 14 for each of the three texts.
    assert story.result.tokens == 11 + 14 + 14 + 14


def test_a_defiant_child_makes_as_many_requests_as_it_may_and_the_parent_is_told():
    story = family(root=[spawn("dig"), "told"], child=lambda request: call("look", key=request.id), child_steps=2)
    assert len(story.requests("child")) == 2
    (made,) = story.calls()
    assert isinstance(made.state, Failed)
    assert made.state.report.reason == "step_cap"
    assert "NOT complete, it ended with step_cap: Step limit reached (2/2)" in made.state.output
    assert story.result.reason == "answered"


@pytest.mark.parametrize(
    "reply, reason",
    [
        (Reply(error=ScriptedError("gone", 404)), "error"),
        ("", "empty"),
        (call("look", key="same"), "doom_loop"),
    ],
)
def test_a_child_that_failed_is_reported_as_that(reply, reason):
    story = family(root=[spawn("try"), "told"], child=lambda request: reply)
    (made,) = story.calls()
    assert (type(made.state), made.state.report.reason) == (Failed, reason)
    assert story.result.reason == "answered"


def test_of_361_children_32_run_never_more_than_4_at_once_and_329_are_refused():
    story = family(
        root=[[spawn(f"piece {n}") for n in range(361)], "enough"],
        child=lambda request: Reply(text="ok", delay=1.0),
        limits=Limits(tool_calls=400),
    )
    states = [part.state for part in story.calls()]
    assert sum(isinstance(state, Done) for state in states) == 32
    refused = [state for state in states if isinstance(state, Refused)]
    assert len(refused) == 329
    assert {(state.refusal.name, state.refusal.limit) for state in refused} == {("limit", "total")}
    assert story.most_at_once == 4
    # Places are given in call order: the first 32 ran.
    assert all(isinstance(state, Done) for state in states[:32])
    # Eight rounds of a second each, and the parent's time is what it waited.
    assert 8.0 <= story.result.seconds < 9.0


def test_a_recursive_spawner_ends_at_the_depth():
    def child(request):
        return spawn("more") if len(request.messages) == 1 else "ended"

    story = family(root=[spawn("more"), "ended"], child=child, tree=TreeLimits(steps=1_000, depth=3), starts_all=True)
    assert story.depths() == [0, 1, 2, 3]
    deepest = [part.state.refusal for part in story.calls(depth=3)]
    assert [(refusal.name, refusal.limit) for refusal in deepest] == [("limit", "depth")]
    assert story.result.reason == "answered"


def test_a_spawner_that_never_stops_ends_at_the_total():
    story = family(
        root=[[spawn(f"{n}") for n in range(4)], "ended"],
        child=lambda request: [spawn(f"{request.id} {n}") for n in range(4)] if len(request.messages) == 1 else "ok",
        tree=TreeLimits(steps=1_000, depth=3, total=20),
        starts_all=True,
    )
    assert len(story.sessions) == 21
    assert story.result.reason == "answered"
    assert story.most_at_once <= 4


def test_a_tree_of_three_levels_with_one_place_does_not_stand_still():
    story = family(
        root=[[spawn("a"), spawn("b")], "ended"],
        child=lambda request: (
            [spawn("x", agent="grandchild"), spawn("y", agent="grandchild")] if len(request.messages) == 1 else "ok"
        ),
        grandchild=lambda request: "leaf",
        tree=TreeLimits(steps=1_000, depth=2, live=1),
    )
    assert story.result.reason == "answered"
    assert len(story.sessions) == 7
    assert story.most_at_once == 1


def test_a_child_is_gone_on_with_by_its_id_and_still_knows_what_it_did():
    def root(request):
        results = [m for m in request.messages if type(m).__name__ == "ResultMessage"]
        if not results:
            return spawn("first")
        if len(results) == 1:
            return spawn("second", task_id="ses_root.1.1.1.0.0")
        return "both"

    story = family(root=root, child=lambda request: f"heard {sum(m.id.startswith('ses') for m in request.messages)}")
    assert [part.state.output.split("\n\n")[1] for part in story.calls()] == ["heard 1", "heard 2"]
    assert len(story.sessions) == 2


@pytest.mark.parametrize("task_id", ["ses_root", "ses_other", "ses_root.9.9.9.0.0"])
def test_only_a_child_of_this_session_can_be_gone_on_with(task_id):
    story = family(root=[spawn("x", task_id=task_id), "told"], child=lambda request: "never")
    (made,) = story.calls()
    assert made.state.refusal.name == "invalid"
    assert len(story.sessions) == 1


def test_a_child_that_is_at_work_cannot_be_gone_on_with_by_another_call():
    known = "ses_root.1.1.1.0.0"
    both = [spawn("second", task_id=known), spawn("third", task_id=known)]
    story = family(root=[spawn("first"), both, "told"], child=lambda request: "heard")
    assert [part.state.output for part in story.calls()] == [
        f"[subagent {known}: answered]\n\nheard",
        f"[subagent {known}: answered]\n\nheard",
        f'"{known}" is still at work',
    ]


def test_an_unknown_agent_is_refused_with_the_known_ones():
    story = family(root=[call("task", description="d", prompt="p", subagent_type="nobody"), "told"], child=None)
    (made,) = story.calls()
    assert made.state.output == 'There is no subagent "nobody". There are: child.'


def test_a_child_never_has_more_rights_than_its_parent():
    """The child's own rules allow what its parent's deny: it is denied all the same, also one level further down."""
    story = family(
        root=[spawn("go"), "done"],
        child=lambda request: spawn("deeper", agent="grandchild") if len(request.messages) == 1 else "back",
        grandchild=lambda request: call("look", key="x") if len(request.messages) == 1 else "seen",
        tree=TreeLimits(steps=1_000, depth=2),
        root_permission=(Rule("python", "look", "deny"),),
        child_permission=(Rule("python", "*", "allow"),),
    )
    assert story.ran == []
    assert [part.state.refusal.name for part in story.calls(depth=2)] == ["denied"]


def test_a_childs_time_is_at_most_what_its_parent_has_left_and_the_parent_waits_for_the_longest():
    story = family(
        root=[call("slow"), [spawn("quick"), spawn("long")], "done"],
        child=lambda request: Reply(text="ok", delay=20.0 if "long" in request.messages[0].text else 5.0),
        limits=Limits(seconds=100.0),
    )
    assert [round(start.limits.seconds) for start in story.parts_below(TurnStart)] == [80, 80]
    assert story.result.reason == "answered"
    assert 30.0 <= story.result.seconds < 31.0


def test_a_child_out_of_time_ends_its_parent_in_time():
    story = family(
        root=[spawn("for ever"), "never"],
        child=lambda request: Reply(hang=True),
        limits=Limits(seconds=60.0),
    )
    (made,) = story.calls()
    assert made.state.report.reason == "time_budget"
    assert story.result.reason == "time_budget"
    assert story.result.seconds <= 60.0


def test_a_child_has_no_more_time_than_its_parent_has_left_however_little_that_is():
    story = family(
        root=[Reply(calls=(spawn("quick"),), delay=8.7), "late"],
        child=lambda request: Reply(text="slowly", chunk=1, pace=1.0),
        limits=Limits(seconds=10.0),
    )
    assert [round(start.limits.seconds, 2) for start in story.parts_below(TurnStart)] == [0.3]
    assert story.result.seconds <= 10.0


def test_an_abort_reaches_every_level_within_two_seconds():
    async def people(runtime, session, prompt):
        await asyncio.sleep(5)
        begun = asyncio.get_running_loop().time()
        await runtime.abort(session)
        await runtime.wait(session, prompt)
        assert asyncio.get_running_loop().time() - begun <= 2.0

    story = family(
        root=[[spawn("a"), spawn("b"), call("look", key="x")], "never"],
        child=lambda request: spawn("deep", agent="grandchild"),
        grandchild=lambda request: Reply(hang=True),
        tree=TreeLimits(steps=1_000, depth=2),
        people=people,
    )
    assert [finish.reason for finish in story.finishes()] == ["aborted"] * 5
    assert all(account.reserved == NOTHING and account.live == 0 for account in story.accounts)
    assert not any(isinstance(part.state, Waiting) for part in story.calls() + story.calls(depth=1))


def test_prompts_are_steered_in_as_they_came_also_with_a_report_between_them():
    async def people(runtime, session, prompt):
        submit = runtime.journal.submit

        async def with_another_behind(where, item, **more):
            await submit(where, item, **more)
            if isinstance(item, ChildEndedItem):
                await submit(session, PromptItem("second", "and this"))

        runtime.journal.submit = with_another_behind
        await asyncio.sleep(1)
        await runtime.prompt(session, "also this", id="first")

    child = Reply(text="gold", delay=2.0)
    story = family(root=[spawn("dig"), "one", "two", "three"], child=lambda request: child, people=people)
    prompts = [part.id for part in story.sessions[ROOT].parts.values() if isinstance(part, Prompt)]
    assert prompts[1:] == ["first", "second"]
