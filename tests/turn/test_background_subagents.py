"""Subagents in the background: started at once, told when they have reported, and never left behind by their turn."""

import asyncio

import pytest
from msgspec import structs
from support.output_schema import GIVEN, GOOD, SCHEMA
from support.stories import look, tell
from support.synthesis import gather
from support.trees import ROOT, family, spawn

from bridle import Agent, Limits, Reply, Rule, ScriptedModel, call
from bridle.core.events import CallMoved
from bridle.core.fold import fold
from bridle.core.inbox import AnswerItem, TurnOptions
from bridle.core.ledger import TreeLimits
from bridle.core.limits import NOTHING
from bridle.core.messages import ResultMessage, UserMessage
from bridle.core.parts import Compaction, TurnFinish
from bridle.core.session import Session
from bridle.core.states import Done, Failed, Refused
from bridle.engine.tree import is_interrupted
from bridle.errors import NoSuchSession
from bridle.runtime.retention import delete_session
from bridle.runtime.undo import undo
from bridle.testing.scripted import ScriptedError

FIRST = f"{ROOT}.1.1.1.0.0"


def beside(prompt, **more):
    return spawn(prompt, background=True, **more)


def told(request):
    """The reports that the model was told of, besides the results of its calls."""
    users = [message for message in request.messages if isinstance(message, UserMessage)]
    return [message.text for message in users if message.text.startswith("[background subagent ")]


def results(request):
    return [message.text for message in request.messages if isinstance(message, ResultMessage)]


def reasons(story):
    return [finish.reason for finish in story.finishes()]


def test_the_call_returns_at_once_with_the_id_and_the_report_is_told_at_the_next_step():
    story = family(
        root=[beside("dig"), call("look", key="x"), call("slow"), "all told"],
        child=lambda request: Reply(text="gold", delay=5.0),
    )
    assert (story.result.reason, story.result.text) == ("answered", "all told")
    first, second, third, fourth = story.requests("root")
    assert FIRST in results(second)[0] and "gold" not in results(second)[0]
    assert told(first) == told(second) == told(third) == []
    assert told(fourth) == [f"[background subagent {FIRST}: answered]\n\ngold"]
    started = story.calls()[0].state
    assert isinstance(started, Done) and started.report.reason == "answered"
    assert (story.result.steps, story.result.tool_calls) == (4, 3)
    # The seconds of the subagent ran beside those of the slow call.
    assert 10.0 <= story.result.seconds < 11.0


def test_an_answer_waits_for_the_report_and_the_last_answer_is_the_text():
    story = family(
        root=[beside("dig"), "meanwhile", "with the report"],
        child=lambda request: Reply(text="gold", delay=20.0),
        limits=Limits(seconds=100.0),
    )
    assert (story.result.reason, story.result.text) == ("answered", "with the report")
    assert told(story.requests("root")[-1]) == [f"[background subagent {FIRST}: answered]\n\ngold"]
    assert 20.0 <= story.result.seconds < 21.0


def test_an_answer_is_kept_when_the_steps_after_it_give_none():
    story = family(
        root=[beside("dig"), "meanwhile", Reply(error=ScriptedError("gone", 404))],
        child=lambda request: Reply(text="gold", delay=20.0),
    )
    assert (story.result.reason, story.result.text) == ("error", "meanwhile")


def test_the_closing_step_tells_what_came_after_the_answer():
    story = family(
        root=[beside("dig"), "meanwhile", "in the end"],
        child=lambda request: Reply(text="gold", delay=20.0),
        steps=3,
    )
    assert (story.result.reason, story.result.text) == ("step_cap", "in the end")
    assert told(story.requests("root")[-1]) == [f"[background subagent {FIRST}: answered]\n\ngold"]
    assert reasons(story) == ["step_cap", "answered"]


@pytest.mark.parametrize(
    "root, more, reason",
    [
        ([beside("dig"), call("look", key="x"), "closed"], {"steps": 3}, "step_cap"),
        ([beside("dig"), call("look", key="x"), "closed"], {"limits": Limits(tool_calls=2)}, "tool_budget"),
        ([beside("dig"), "", ""], {}, "empty"),
        ([beside("dig"), Reply(error=ScriptedError("gone", 404))], {}, "error"),
        ([beside("dig"), *[call("look", key="same")] * 3, "closed"], {}, "doom_loop"),
        ([beside("dig"), call("slow"), "closed"], {"limits": Limits(seconds=9.0)}, "time_budget"),
    ],
)
def test_a_turn_that_closes_aborts_them_and_tells_the_model(root, more, reason):
    story = family(root=root, child=lambda request: Reply(hang=True), **more)
    assert story.result.reason == reason
    assert reasons(story)[1] in ("aborted", "time_budget")
    started, *_ = story.calls()
    assert isinstance(started.state, Failed)
    if story.result.text == "closed":
        assert "NOT complete" in told(story.requests("root")[-1])[0]


def test_an_abort_ends_a_turn_that_only_awaits_them():
    async def people(runtime, session, prompt):
        await asyncio.sleep(5)
        begun = asyncio.get_running_loop().time()
        await runtime.abort(session)
        await runtime.wait(session, prompt)
        assert asyncio.get_running_loop().time() - begun <= 2.0

    story = family(root=[beside("dig"), "meanwhile"], child=lambda request: Reply(hang=True), people=people)
    assert reasons(story) == ["aborted", "aborted"]
    assert story.result.text == "meanwhile"


def test_one_in_the_background_has_a_place_until_it_has_reported():
    story = family(
        root=[beside("first"), spawn("second"), [beside("third"), beside("fourth")], "now", "then", "all"],
        child=lambda request: Reply(text=request.messages[0].text, delay=5.0),
        tree=TreeLimits(steps=1_000, live=1),
    )
    assert story.result.reason == "answered"
    assert story.most_at_once == 1
    assert all(isinstance(part.state, Done) for part in story.calls())
    assert 20.0 <= story.result.seconds < 21.0


@pytest.mark.parametrize("live", [1, 2, 3])
def test_places_hold_where_subagents_have_their_own_in_the_background(live):
    """Each of three subagents starts two in the background and works on meanwhile."""

    def child(request):
        step = int(request.id.split(".")[1])
        if step == 1:
            return [beside(f"{n}", agent="grandchild") for n in range(2)]
        return Reply(text="mine", delay=3.0) if step < 4 else "mine"

    story = family(
        root=[[beside("a"), beside("b"), spawn("c")], "root", "root", "root"],
        child=child,
        grandchild=lambda request: Reply(text="leaf", delay=7.0),
        tree=TreeLimits(steps=1_000, depth=2, live=live),
    )
    assert story.result.reason == "answered"
    assert len(story.sessions) == 10
    assert story.most_at_once <= live


def test_one_that_is_at_work_cannot_be_gone_on_with_and_one_that_has_reported_can():
    def root(request):
        if not results(request):
            return beside("first")
        if len(results(request)) == 1:
            return spawn("too early", task_id=FIRST)
        if not told(request):
            return call("slow")
        return spawn("second", task_id=FIRST) if len(results(request)) == 3 else "done"

    story = family(root=root, child=lambda request: Reply(text="heard", delay=5.0))
    assert story.result.reason == "answered"
    assert results(story.requests("root")[-1])[1] == f'"{FIRST}" is still at work'
    assert isinstance(story.calls()[1].state, Refused)
    assert results(story.requests("root")[-1])[3] == f"[subagent {FIRST}: answered]\n\nheard"


def test_an_ask_in_the_background_pauses_the_turn_only_when_nothing_else_can_go_on():
    def child(request):
        if "asks" in request.messages[0].text:
            return call("look", key="y") if len(request.messages) == 1 else "was allowed"
        return Reply(text="quiet work", delay=30.0)

    async def people(runtime, session, prompt):
        paused = await runtime.wait(session, prompt)
        assert paused.reason == "paused"
        (ask,) = paused.asks
        # The slow call, the answer meanwhile, the other report and the answer to it came first.
        assert (paused.steps, paused.tool_calls) == (4, 3)
        await runtime.journal.submit(ask.session, AnswerItem("ans", ask.id.rpartition(":")[2], "once"))
        await runtime.resume(session)

    story = family(
        root=[[beside("asks"), beside("works")], call("slow"), "meanwhile", "one is in", "both are in"],
        child=child,
        child_permission=(Rule("python", "look", "ask"),),
        on_ask="pause",
        people=people,
    )
    assert (story.result.reason, story.result.text) == ("answered", "both are in")
    assert story.ran == ["look y"]


def test_a_prompt_is_taken_while_the_turn_only_awaits_them():
    async def people(runtime, session, prompt):
        await asyncio.sleep(5)
        await runtime.prompt(session, "and this")

    story = family(
        root=[beside("dig"), "meanwhile", "that too", "with the report"],
        child=lambda request: Reply(text="gold", delay=20.0),
        people=people,
    )
    assert story.result.reason == "answered"
    third = story.requests("root")[2]
    assert (third.messages[-1].text, told(third)) == ("and this", [])
    assert next(part.answer for part in story.finishes()) == ("1.4.1.0.0",)


def test_a_prompt_to_a_turn_that_is_paused_by_them_rejects_what_they_ask():
    async def people(runtime, session, prompt):
        assert (await runtime.wait(session, prompt)).reason == "paused"
        await runtime.prompt(session, "do without")

    story = family(
        root=[beside("asks"), "meanwhile", "as you wish", "then so"],
        child=lambda request: call("look", key="y") if len(request.messages) == 1 else "went without",
        child_permission=(Rule("python", "look", "ask"),),
        on_ask="pause",
        people=people,
    )
    assert (story.result.reason, story.ran) == ("answered", [])
    (made,) = story.calls(depth=1)
    assert "do without" in made.state.output


def test_one_and_the_same_task_in_the_background_again_and_again_is_a_loop():
    story = family(root=[*[beside("dig")] * 3, "closed"], child=lambda request: Reply(text="gold", delay=0.1))
    assert story.result.reason == "doom_loop"
    assert len(story.sessions) == 3


def test_undo_aborts_what_works_in_the_background():
    seen = []

    async def people(runtime, session, prompt):
        await asyncio.sleep(5)
        await undo(runtime, session, keep_files=True)
        child = await runtime.load(FIRST)
        seen.append([part.reason for part in child.parts.values() if isinstance(part, TurnFinish)])
        seen.append(list((await runtime.load(session)).messages))
        await runtime.prompt(session, "go", id=prompt)

    story = family(root=[beside("dig"), "meanwhile", "again"], child=lambda request: Reply(hang=True), people=people)
    assert seen == [["aborted"], []]
    assert all(account.live == 0 for account in story.accounts)


def test_delete_aborts_what_works_in_the_background():
    seen = []

    async def people(runtime, session, prompt):
        await asyncio.sleep(5)
        seen.extend(sorted(await delete_session(runtime, session)))
        assert await runtime.sessions() == []

    with pytest.raises(NoSuchSession):
        family(root=[beside("dig"), "meanwhile"], child=lambda request: Reply(hang=True), people=people)
    assert seen == [ROOT, FIRST]


def with_digger(play, **more):
    """A story whose model may have a subagent dig for a minute."""
    digger = Agent("child", model=ScriptedModel([Reply(text="gold", delay=60.0)], ref="child"), description="digs")
    return tell(ScriptedModel(play), subagents=[digger], **more)


@pytest.mark.parametrize("last", ["That is all.", call("structured_output", name="Rocinante", age=13)])
def test_an_answer_that_fits_its_schema_is_kept_unless_another_comes_after_the_report(last):
    story = with_digger([beside("dig"), GIVEN, last], options=TurnOptions(output=SCHEMA))
    assert (story.result.reason, story.result.steps) == ("answered", 3)
    assert story.result.output == (GOOD if isinstance(last, str) else {**GOOD, "age": 13})
    assert told(story.model.requests[-1])


def test_a_written_up_answer_waits_for_the_report_too():
    def play(request):
        if request.purpose == "synthesis":
            return "Both say yes."
        if told(request):
            return "Yes, and there is gold."
        return beside("dig") if len(request.messages) == 1 else [call("gather", source=name) for name in ("one", "two")]

    story = with_digger(play, tools=[gather])
    assert (story.result.reason, story.result.text) == ("answered", "Yes, and there is gold.")


def test_a_compaction_forgets_no_subagent_in_the_background():
    def play(request):
        if request.purpose == "compaction":
            return "In short."
        if told(request):
            return "done"
        number = int(request.id.split(".")[1])
        return {1: beside("dig"), 2: Reply(calls=(call("look", key="x" * 20_000),), delay=10.0)}.get(
            number, "meanwhile"
        )

    async def people(runtime, session, prompt):
        await asyncio.sleep(5)
        await runtime.compact(session)

    story = with_digger(play, tools=[look], people=people)
    assert (story.result.reason, story.result.text) == ("answered", "done")
    assert [part.outcome for part in story.parts(Compaction) if part.outcome != "open"] == ["smaller"]
    assert [request.purpose for request in story.model.requests] == ["step", "step", "compaction", "step", "step"]


def test_one_that_could_not_be_started_is_told_of_too():
    """As recorded where the process died between the call and the prompt of its subagent, and the turn then stopped."""
    story = family(root=[beside("dig"), ""], child=lambda request: Reply(hang=True))
    session = Session()
    for entry in story.journal._sessions[ROOT].entries[:-1]:
        failed = [
            CallMoved(event.id, Failed("[it could not be started]", "")) if _reports(event) else event
            for event in entry.events
        ]
        fold(session, structs.replace(entry, events=tuple(failed)))
    assert (session.turn.background, session.turn.below) == ({}, NOTHING)
    assert session.messages[-1].text == "[it could not be started]"


def _reports(event):
    return isinstance(event, CallMoved) and isinstance(event.state, Failed)


def test_a_turn_that_lost_its_process_is_gone_on_with_though_a_subagent_works_in_its_background():
    """What was recorded up to the middle of a step says that nobody is awaited, whoever works beside it."""
    story = family(root=[beside("dig"), "meanwhile", "all"], child=lambda request: Reply(text="gold", delay=20.0))
    session, seen = Session(), []
    for entry in story.journal._sessions[ROOT].entries:
        fold(session, entry)
        if session.running is not None and session.turn.background:
            seen.append((session.turn.step.number, session.turn.step.state, is_interrupted(session)))
    # While it asks for its second step it must be driven; with the answer given, it awaits the report.
    assert seen == [(1, "finished", True), (2, "open", True), (2, "finished", False)]
