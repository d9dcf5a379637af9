"""Questions from below: they reach the root's surface, the answer goes to whoever asked, the rest goes on."""

import asyncio

import pytest
from support.trees import ROOT, family, spawn

from bridle import Reply, Rule, TreeLimits, call
from bridle.core.states import Done, Failed

ASKS = (Rule("python", "look", "ask"),)
DEEP = TreeLimits(steps=1_000, depth=2)


def asking_below(**more):
    """A root, a child, and a grandchild that must ask before it looks."""
    return family(
        root=[spawn("go"), "all done"],
        child=lambda request: spawn("look", agent="grandchild") if len(request.messages) == 1 else "child done",
        grandchild=lambda request: call("look", key="x") if len(request.messages) == 1 else "seen",
        tree=DEEP,
        child_permission=ASKS,
        on_ask="pause",
        **more,
    )


def test_an_ask_of_a_grandchild_reaches_the_root_and_its_answer_goes_back():
    seen = []

    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        seen.append((result.reason, [(ask.text, ask.session) for ask in result.asks]))
        assert (await runtime.status(session)).state == "paused"
        await runtime.answer(session, result.asks[0].id, "once")

    story = asking_below(people=people)
    grandchild = "ses_root.1.1.1.0.0.1.1.1.0.0"
    assert seen == [("paused", [("Allow python: look?", grandchild)])]
    assert story.ran == ["look x"]
    assert (story.result.reason, story.result.text) == ("answered", "all done")
    assert [finish.reason for finish in story.finishes()] == ["answered"] * 3


def test_days_between_ask_and_answer_are_no_active_time():
    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        await asyncio.sleep(3 * 86_400)
        await runtime.answer(session, result.asks[0].id, "once")

    story = asking_below(people=people)
    assert story.result.reason == "answered"
    assert story.result.seconds < 10


def test_a_rejection_with_a_reason_goes_on_below_and_one_without_is_reported_as_denied():
    async def told(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        await runtime.answer(session, result.asks[0].id, "reject", "use the other one")

    async def silent(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        await runtime.answer(session, result.asks[0].id, "reject")

    assert [finish.reason for finish in asking_below(people=told).finishes()] == ["answered"] * 3
    story = asking_below(people=silent)
    assert [finish.reason for finish in story.finishes()] == ["answered", "answered", "denied"]
    (made,) = story.calls(depth=1)
    assert (type(made.state), made.state.report.reason) == (Failed, "denied")


def test_a_prompt_to_the_root_rejects_what_is_asked_below_with_the_prompt_as_feedback():
    async def people(runtime, session, prompt):
        await runtime.wait(session, prompt)
        await runtime.prompt(session, "leave it, we know already", id="prm_two")

    story = asking_below(people=people)
    (made,) = story.calls(depth=2)
    assert made.state.refusal.name == "rejected"
    assert "leave it, we know already" in made.state.output
    assert story.ran == []
    # The prompt itself reaches the root's model once the open calls have ended.
    assert story.requests("root")[-1].messages[-1].text == "leave it, we know already"
    assert story.result.reason == "answered"


def test_siblings_of_a_paused_child_and_other_calls_of_the_batch_go_on():
    seen = []

    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        state = await runtime.load(session)
        seen.append([type(call_state).__name__ for call_state in state.turn.batch.values()])
        for ask in result.asks:
            await runtime.answer(session, ask.id, "once")

    story = family(
        root=[[spawn("asks"), spawn("plain"), call("slow")], "done"],
        child=lambda request: (
            call("look", key="x")
            if "asks" in request.messages[0].text and len(request.messages) == 1
            else Reply(text="ok", delay=30)
        ),
        child_permission=ASKS,
        on_ask="pause",
        people=people,
    )
    assert seen == [["Waiting", "Done", "Done"]]
    assert [type(made.state) for made in story.calls()] == [Done, Done, Done]


def test_an_answer_at_the_root_and_one_below_may_come_in_any_order():
    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        assert len(result.asks) == 2
        for ask in reversed(result.asks):
            await runtime.answer(session, ask.id, "always")
            await asyncio.sleep(5)

    story = family(
        root=[[call("look", key="root"), spawn("go")], "done"],
        child=lambda request: call("look", key="child") if len(request.messages) == 1 else "ok",
        root_permission=ASKS,
        child_permission=ASKS,
        on_ask="pause",
        people=people,
    )
    assert sorted(story.ran) == ["look child", "look root"]
    assert story.result.reason == "answered"


def test_an_always_of_the_parent_holds_for_the_children_it_starts_afterwards():
    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        await runtime.answer(session, result.asks[0].id, "always")

    story = family(
        root=[call("look", key="root"), spawn("go"), "done"],
        child=lambda request: call("look", key="child") if len(request.messages) == 1 else "ok",
        root_permission=ASKS,
        child_permission=ASKS,
        on_ask="pause",
        people=people,
    )
    assert story.ran == ["look root", "look child"]


def test_where_nobody_can_be_asked_a_child_is_denied_and_the_exit_status_says_so():
    story = family(
        root=[spawn("go"), "done"],
        child=lambda request: call("look", key="child") if len(request.messages) == 1 else "could not",
        child_permission=ASKS,
        on_ask="deny",
    )
    (made,) = story.calls(depth=1)
    assert made.state.refusal.name == "unasked"
    assert (story.result.reason, story.result.denied, story.result.exit_status) == ("answered", True, 4)


@pytest.mark.parametrize("seed", range(12))
def test_an_abort_at_a_pause_below_ends_the_whole_tree(seed):
    async def people(runtime, session, prompt):
        await runtime.wait(session, prompt)
        await runtime.abort(session)

    story = asking_below(people=people, seed=seed)
    assert [finish.reason for finish in story.finishes()] == ["aborted"] * 3
    assert story.ran == []


def test_a_person_may_answer_in_the_session_that_asks():
    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        ask = result.asks[0]
        await runtime.answer(ask.session, ask.id.removeprefix(f"{ask.session}:"), "once")

    assert asking_below(people=people).result.reason == "answered"


def test_the_root_of_a_session_is_found_while_its_tree_is_open():
    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        assert await runtime.root(result.asks[0].session) == ROOT
        await runtime.answer(session, result.asks[0].id, "once")

    asking_below(people=people)
